"""A document in the form in which Task Scheduling holds a schedule: the same schedule, with all said that it must be told.

What follows from the works (pipeline types, arrival counts, transaction bytes) is written out, names that Task Scheduling
gives are given, and each task has its loop. What it has no words for is refused, or left out and named (`Stated.left_out`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from warpdraft.core.document import (
    Document,
    Guard,
    Loop,
    Node,
    Op,
    OpKind,
    Part,
    Resource,
    Space,
    Storage,
    Token,
    Work,
)
from warpdraft.core.expressions import Operation, Symbol, symbols_of
from warpdraft.core.op_integers import symbols_used
from warpdraft.core.python_resources import ready_made
from warpdraft.core.schedulers import RESPONSE_BYTES, has_slots
from warpdraft.core.tree import find_resource, find_work, ops_of, walk

from ..annotations import Annotations
from .accesses import one_buffer
from .bodies import split
from .bounds import bounds, stated_bounds
from .errors import NotExpressible
from .grids import waited_for, without_waits
from .groups import stated_groups
from .pipelines import stated_pipelines
from .places import Plan, is_apart, is_ranged, plans, with_turns
from .tasks import stated_tasks, with_idle_warps


@dataclass
class Stated:
    """``document`` in Task Scheduling's form; what the bodies of its works do; what of the original neither says."""

    document: Document
    annotations: Annotations = field(default_factory=Annotations)
    bodies: dict[tuple[str, str], str] = field(default_factory=dict)  # of works: what the original calls them
    left_out: list[str] = field(default_factory=list)
    grid_waited: bool = False  # the preceding grid, before the tasks start
    plans: dict[Space, Plan] = field(
        default_factory=dict
    )  # of memories whose places follow from an order and groups
    ranged: frozenset[str] = frozenset()  # resources that say where they lie


def stated(document: Document) -> Stated:
    """``document`` in the form of Task Scheduling. Raises NotExpressible."""
    made = Stated(without_waits(document), grid_waited=waited_for(document))
    for step in (_plain, stated_pipelines):  # which follow from the engines of the works
        made.document = step(made.document, made.left_out)
    made.document, made.annotations = split(one_buffer(made.document))
    for step in (with_idle_warps, stated_tasks, _works, _storages):
        made.document = step(made.document, made.left_out)
    made.ranged = _ranged(made.document)
    for step in (stated_groups, _names, _order):
        made.document = step(made.document, made.left_out)
    made.plans = plans(made.document)
    loose = {r.name for r in made.document.resources if is_loose(made.document, r)}
    made.document = with_turns(made.document, made.plans, made.ranged | loose)
    made.bodies = {(r.name, w.name): _stock(w) for r in document.resources for w in r.works if w.body}
    made.document = _with_own_bodies(made.document, made.annotations)
    return made


def _stock(work: Work) -> str:
    """What a body is called, with the parameters of a stock one."""
    given = ", ".join(f"{k}={v!r}" for k, v in work.params)
    return f"{work.body}({given})" if given else work.body


def _with_own_bodies(document: Document, annotations: Annotations) -> Document:
    """``document`` with a method of its class as the body of each work that has something to do."""

    def owned(resource: Resource, work: Work) -> Work:
        said = annotations.works.get(f"{resource.name}.{work.name}")
        does = work.body or (said is not None and said.sync)
        return replace(work, body=f"{resource.cls}.{work.name}" if does else "", params=(), code="")

    resources = tuple(
        r if ready_made(r) is not None else replace(r, works=tuple(owned(r, w) for w in r.works))
        for r in document.resources
    )
    return replace(document, resources=resources)


# -- steps ----------------------------------------------------------------------------------------------------------------
def _plain(document: Document, left_out: list[str]) -> Document:
    """Without what only the whole document has."""
    if document.mbarriers:
        name = document.mbarriers[0].name
        raise NotExpressible(f"{name}: Task Scheduling has no raw mbarriers; make it a pipeline")
    if document.kernel is not None:
        left_out.append("what the kernel computes (its tensors, parameters, sizes, reference and grid)")
    if document.ctas_per_sm != 1:
        left_out.append(f"that {document.ctas_per_sm} CTAs share a multiprocessor")
    left_out += [f"what its import could not represent: {gap}" for gap in document.gaps]
    resources = tuple(_unparametrised(r, left_out) for r in document.resources)
    return replace(document, kernel=None, ctas_per_sm=1, gaps=(), resources=resources)


def _unparametrised(resource: Resource, left_out: list[str]) -> Resource:
    """``resource`` with the parameters that Task Scheduling tells of: who schedules tiles, what a warp's copies bring."""
    known = ("scheduler", "ClcDynamicPersistent"), ("num_bytes_per_warp_per_cta", None)
    kept = tuple((k, v) for k, v in resource.params if (k, v) in known or (k, None) in known)
    left_out += [f"{k} = {v!r} of {resource.name}" for k, v in resource.params if (k, v) not in kept]
    return replace(resource, params=kept)


def _works(document: Document, left_out: list[str]) -> Document:
    """Works that declare what they return, and ops whose results are called so."""
    undeclared: dict[tuple[str, str], tuple[str, ...]] = {}
    for op in (o for t in document.tasks for o in ops_of(t)):
        work = find_work(find_resource(document, op.target), op.work)
        if op.kind is OpKind.WORK and work is None:
            raise NotExpressible(f"{op.id}: {op.target} has no work {op.work!r}")
        if op.results and op.kind is not OpKind.WORK:
            raise NotExpressible(
                f"{op.id}: the answer of {op.kind.value} is used, which Task Scheduling does not give to schedules"
            )
        if op.results and work is not None and not work.returns:
            known = undeclared.setdefault((op.target, op.work), op.results)
            if len(known) != len(op.results):
                raise NotExpressible(
                    f"{op.id}: {op.work} returns {len(op.results)} values here, and {len(known)} elsewhere"
                )
        _check_arguments(op)

    def declared(resource: Resource) -> Resource:
        works = tuple(
            replace(w, returns=undeclared[resource.name, w.name])
            if (resource.name, w.name) in undeclared
            else w
            for w in resource.works
        )
        return replace(resource, works=works)

    return replace(document, resources=tuple(declared(r) for r in document.resources))


def _check_arguments(op: Op) -> None:
    for name, value in op.args:
        if not name.isidentifier():
            raise NotExpressible(f"{op.id}: {name!r} is no name of an argument")
        if isinstance(value, str | int | float | bool | tuple | Token) or value is None:
            continue
        raise NotExpressible(f"{op.id}: {name}={value!r} is neither a value of a work nor a constant")


def _storages(document: Document, left_out: list[str]) -> Document:
    planned = plans(document)
    return replace(
        document, resources=tuple(_stored(document, r, planned, left_out) for r in document.resources)
    )


def _ranged(document: Document) -> frozenset[str]:
    """The resources that say where they lie: those whose place is fixed, and that take turns with none by name."""
    return frozenset(
        r.name
        for r in document.resources
        if r.storage and r.storage.offset is not None and is_ranged(r) and not is_loose(document, r)
    )


def _stored(
    document: Document, resource: Resource, planned: dict[Space, Plan], left_out: list[str]
) -> Resource:
    """``resource`` with the storage that allocations of Task Scheduling give it: sizes are totals over all stages."""
    storage = resource.storage
    if resource.pipeline is None and storage is None and resource.space not in (Space.QUEUE, Space.PDL):
        resource = replace(resource, space=Space.NONE)  # what has no allocation is anything
    if storage is None:
        return resource
    if (
        has_slots(resource) and resource.space is Space.QUEUE
    ):  # an allocation that no resource of a script owns
        offset = storage.offset if Space.SMEM in planned else None
        slots = Storage(RESPONSE_BYTES, resource.pipeline.stages, RESPONSE_BYTES, offset=offset)
        return replace(resource, storage=slots)
    if resource.space not in (Space.SMEM, Space.TMEM):
        left_out.append(f"the storage of {resource.name}, which is neither shared nor tensor memory")
        return replace(resource, storage=None)
    loose = is_loose(document, resource)
    if resource.space is Space.TMEM and not storage.parts and not loose:  # as allocations of columns are
        storage = replace(storage, parts=(Part(resource.name, 0, storage.bytes),))
    if resource.space in planned:
        return replace(resource, storage=storage)
    if is_apart(storage):
        raise NotExpressible(
            f"{resource.name}: its allocations lie apart from each other, and no order and no groups of allocations lead "
            "there; give each a resource of its own"
        )
    if storage.offset is not None and loose:
        left_out.append(f"where {resource.name} lies: the allocator places it")
        return replace(resource, storage=replace(storage, offset=None))
    placed = {"alias": "", "phase": 0} if storage.offset is not None else {}
    if placed and storage.alias:
        left_out.append(
            f"that {resource.name} takes turns with others in {storage.alias}: its place is fixed"
        )
    return replace(resource, storage=replace(storage, **placed))


def _names(document: Document, left_out: list[str]) -> Document:
    """Alias groups and tile counts with the names that an import gives them."""
    aliases: dict[str, str] = {}
    phases: dict[str, set[int]] = defaultdict(set)
    for of in (r.storage for r in document.resources if r.storage):
        phases[of.alias].add(of.phase)
    alone = {"", *(alias for alias, found in phases.items() if len(found) == 1)}  # nothing to take turns with
    for resource in document.resources:
        if resource.storage and resource.storage.alias not in alone:
            memory = "smem" if resource.space is Space.SMEM else "tmem"
            number = sum(name.startswith(memory) for name in aliases.values())
            aliases.setdefault(resource.storage.alias, f"{memory}_alias_{number}")

    def storage(of: Storage | None) -> Storage | None:
        if of and of.alias in alone:
            return replace(of, alias="", phase=0)
        return replace(of, alias=aliases[of.alias]) if of else of

    resources = tuple(replace(r, storage=storage(r.storage)) for r in document.resources)
    tasks = tuple(
        replace(t, body=tuple(_counted(n, document, left_out) for n in t.body)) for t in document.tasks
    )
    tasks = stated_bounds(replace(document, tasks=tasks), left_out).tasks
    values = bounds(replace(document, tasks=tasks))
    taken = {s.name for _, bound in values for s in symbols_of(bound)}
    tasks = tuple(replace(t, body=_called(t.body, taken)) for t in tasks)
    left_out[:] = dict.fromkeys(left_out)
    found = replace(document, resources=resources, tasks=tasks)
    return replace(found, symbols=tuple(dict.fromkeys(s for t in tasks for s in symbols_used(t.body))))


def _called(nodes: Sequence[Node], taken: set[str]) -> tuple[Node, ...]:
    """``nodes`` with loops that are not called like a run-time value: in a function both are variables."""
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop) and node.var in taken:
            node = replace(node, var=f"{node.var}_loop")
        elif isinstance(node, Guard) and node.loop in taken:
            node = replace(node, loop=f"{node.loop}_loop")
        if not isinstance(node, Op):
            node = replace(node, body=_called(node.body, taken))
        found.append(node)
    return tuple(found)


def _counted(node: Node, document: Document, left_out: list[str]) -> Node:
    """Tile loops that run ``tiles`` times, as an import calls it."""
    if not isinstance(node, Loop) or node.kind != "tile":
        return node
    queues = [n.queue for t in document.tasks for n in t.body if isinstance(n, Loop) and n.kind == "tile"]
    place = list(dict.fromkeys(queues)).index(node.queue)
    count = Symbol("tiles" if not place else f"tiles_{place + 1}")
    if isinstance(node.stop, Operation | int) or node.stop != count:
        words = f"that {node.queue} has {node.stop} tiles"
        least = f", at least {node.stop.min}" if isinstance(node.stop, Symbol) and node.stop.min else ""
        left_out += [words + least] if words + least not in left_out else []
    return replace(node, stop=count)


def _order(document: Document, left_out: list[str]) -> Document:
    """Resources in the order in which an import meets them."""
    seen: dict[str, None] = {}
    for task in document.tasks:
        seen |= dict.fromkeys((*task.src, *task.dst))
    for downstream in dict.fromkeys(e.downstream for e in document.graph):
        seen.setdefault(downstream)
        seen |= dict.fromkeys(e.upstream for e in document.graph if e.downstream == downstream)
    seen |= dict.fromkeys(document.roots)
    seen |= dict.fromkeys(o.target for t in document.tasks for o in ops_of(t))
    place = {name: i for i, name in enumerate(seen)}
    unused = [r for r in document.resources if r.name not in place and not is_loose(document, r)]
    left_out += [f"{r.name}, which no task uses" for r in unused]
    kept = [r for r in document.resources if r not in unused]
    return replace(document, resources=tuple(sorted(kept, key=lambda r: place.get(r.name, len(place)))))


def is_loose(document: Document, resource: Resource) -> bool:
    """Whether it is memory that nobody uses: an allocation that an allocator is given beside those of resources."""
    used = any(resource.name in (*t.src, *t.dst) for t in document.tasks)
    bare = not resource.works and resource.pipeline is None and resource.space in (Space.SMEM, Space.TMEM)
    return resource.storage is not None and bare and not used


def constants_of(document: Document, resource: Resource, work: Work) -> dict[str, bool]:
    """The parameters that calls give: whether each is a constant. Raises NotExpressible where calls differ."""
    found: dict[str, bool] = {}
    for op in (o for t in document.tasks for o in ops_of(t)):
        if op.kind is not OpKind.WORK or (op.target, op.work) != (resource.name, work.name):
            continue
        loops = {n.var for t in document.tasks for n in walk(t.body) if isinstance(n, Loop)}
        for name, value in op.args:
            if isinstance(value, Token) and value.name in loops:
                raise NotExpressible(
                    f"{op.id}: {name} is the loop's value; a work of Task Scheduling has it anyway (stage_info.loop_offset)"
                )
            constant = not isinstance(value, Token)
            if found.setdefault(name, constant) is not constant:
                raise NotExpressible(
                    f"{op.id}: {name} is a constant in some calls of {work.name} and a work's value in others; "
                    "in Task Scheduling it is one of them"
                )
        missing = [p for p in found if p not in dict(op.args)]
        if missing:
            raise NotExpressible(
                f"{op.id}: {work.name} is called without {missing[0]}, which other calls give"
            )
    return found
