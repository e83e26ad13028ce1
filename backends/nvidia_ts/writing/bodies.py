"""What a document says of the bodies of its works, as annotations; and the document without it.

Task Scheduling's schedules have no fences, group waits, named barriers or elected warps: they stand in bodies. A
synchronisation goes to the work beside it where it stands beside every call of that work; else to a work that is nothing but
this synchronisation (`WorkAnnotation.only_sync`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from warpdraft.core.document import (
    Document,
    Guard,
    GuardKind,
    Node,
    Op,
    OpKind,
    Resource,
    Task,
    Work,
)
from warpdraft.core.python_resources import ready_made
from warpdraft.core.tree import find_resource, find_work, ops_of

from ..annotations import (
    BARRIER_OPS,
    GROUP_OPS,
    LONE_OPS,
    Annotations,
    Barrier,
    Bound,
    Sync,
    WorkAnnotation,
)
from .accesses import in_short, multicast_of, touched_by, tx_of
from .errors import NotExpressible
from .others import Others, called, without_others

SYNC_OPS = (*GROUP_OPS, *BARRIER_OPS, *LONE_OPS)
ELECTIONS = (GuardKind.ELECT_WARP, GuardKind.ELECT_LANE)
Key = tuple[str, str]  # resource, work


def split(document: Document) -> tuple[Document, Annotations]:
    """``document`` without what only bodies do, and the annotations that say it. Raises NotExpressible."""
    return _Split(document).result()


@dataclass
class _Item:
    """A node of a block (with its own block ``inner``), or a synchronisation, with the elections around it."""

    node: Node
    sync: Sync | None = None
    warp: int | None = None
    lane: bool = False
    name: str = ""  # what a work that is nothing but the synchronisation is called
    inner: list[_Item] | None = None
    claimed: bool = False

    @property
    def key(self) -> Key | None:
        """Resource and work, where it is a call of one."""
        op = self.node
        return (op.target, op.work) if isinstance(op, Op) and op.kind is OpKind.WORK else None


class _Split:
    def __init__(self, document: Document) -> None:
        self.document, self.others = without_others(document)
        self.calls = called(self.document)
        self.blocks: list[list[_Item]] = []
        self.barriers = {b.name: Barrier(b.id, b.threads) for b in document.barriers}
        self.groups = {g.name: g for g in document.groups}
        self.ready = {r.name for r in document.resources if ready_made(r) is not None}
        # resource -> work that only synchronises -> its role, and what it does
        self.added: dict[str, dict[str, tuple[str, Sync]]] = defaultdict(dict)

    def result(self) -> tuple[Document, Annotations]:
        """See `split`."""
        document = self.document
        bodies = {t.name: self.block(t.body, t) for t in document.tasks}
        after = self.claim(following=True)
        before = self.claim(following=False)
        elected = self.elected()
        tasks = tuple(replace(t, body=self.rebuilt(bodies[t.name], t)) for t in document.tasks)
        works: dict[str, WorkAnnotation] = {}
        for resource in document.resources:
            for work in () if ready_made(resource) is not None else resource.works:
                key = resource.name, work.name
                found = self.annotation(resource, work)
                warp, lane = elected.get(key, (None, False))
                sync = (*(replace(s, at="before") for s in before.get(key, ())), *after.get(key, ()))
                works[".".join(key)] = replace(found, warp=warp, lane=lane, sync=sync)
        for resource, added in self.added.items():
            works |= {
                f"{resource}.{w}": WorkAnnotation(only_sync=True, sync=(s,)) for w, (_, s) in added.items()
            }
        resources = tuple(self.stripped(r) for r in document.resources)
        symbols = {s.name: Bound(min=s.min) for s in document.symbols if s.min}
        used = {s.barrier for w in works.values() for s in w.sync}
        barriers = {name: b for name, b in self.barriers.items() if name in used}
        bare = replace(document, tasks=tasks, resources=resources, barriers=(), groups=())
        return bare, Annotations(works, barriers, symbols)

    # -- blocks ---------------------------------------------------------------------------------------------------------
    def block(
        self, nodes: Sequence[Node], task: Task, warp: int | None = None, lane: bool = False
    ) -> list[_Item]:
        """The items of a block and, inside them, of the blocks in it; elections are dissolved."""
        items: list[_Item] = []
        self.blocks.append(items)
        self._fill(items, nodes, task, warp, lane)
        return items

    def _fill(
        self, items: list[_Item], nodes: Sequence[Node], task: Task, warp: int | None, lane: bool
    ) -> None:
        for node in nodes:
            if isinstance(node, Guard) and node.kind in ELECTIONS:
                inner = (node.warp, lane) if node.kind is GuardKind.ELECT_WARP else (warp, True)
                self._fill(items, node.body, task, *inner)
            elif (sync := self.sync_of(node, warp, lane)) is not None:
                items += sync
            elif isinstance(node, Op):
                elected = warp is not None or lane
                if elected and node.kind is not OpKind.WORK:
                    raise NotExpressible(
                        f"{node.id}: Task Scheduling's {node.kind.value} is of all warps of a task, not of an elected one"
                    )
                items.append(_Item(node, warp=warp, lane=lane))
            else:
                if warp is not None or lane:
                    raise NotExpressible(
                        f"{node.id}: a block for an elected warp alone, which Task Scheduling does not have"
                    )
                items.append(_Item(replace(node, body=()), inner=self.block(node.body, task)))

    def sync_of(self, node: Node, warp: int | None, lane: bool) -> list[_Item] | None:
        """The synchronisations that ``node`` is; None where it is anything else."""
        if isinstance(node, Op):
            if node.kind not in SYNC_OPS:
                return None
            return [_Item(node, self.sync(node, warp, lane), warp, lane, self.called(node))]
        if isinstance(node, Guard) and node.kind in ELECTIONS and node.body:
            inner = (node.warp, lane) if node.kind is GuardKind.ELECT_WARP else (warp, True)
            found = [self.sync_of(n, *inner) for n in node.body]
            return None if None in found else [item for items in found for item in items]
        return None

    def sync(self, op: Op, warp: int | None, lane: bool) -> Sync:
        """``op`` as an annotation says it."""
        group = self.groups[op.target].kind if op.kind in GROUP_OPS else None
        count = op.count or None
        if count is not None and not isinstance(count, int):
            raise NotExpressible(f"{op.id}: {count} groups, which is no number")
        barrier = op.target if op.kind in BARRIER_OPS else ""
        return Sync(op.kind, "after", group, count, barrier, warp, lane)

    def called(self, op: Op) -> str:
        """What a work that is nothing but ``op`` is called."""
        verb = op.kind.value.removeprefix("group_").removeprefix("barrier_")
        of = self.groups[op.target].kind.value if op.target in self.groups else op.target
        parts = [of, verb] if of else [op.kind.value]
        return "_".join([*parts, *([str(op.count)] if op.count else [])])

    # -- who gets what --------------------------------------------------------------------------------------------------
    def claim(self, following: bool) -> dict[Key, tuple[Sync, ...]]:
        """The synchronisations beside each work that stand beside all of its calls; they are marked as claimed."""
        calls: dict[Key, list[list[_Item]]] = defaultdict(list)
        for items in self.blocks:
            for place, item in enumerate(items):
                if item.key is not None and item.key[0] not in self.ready:
                    beside = items[place + 1 :] if following else items[:place][::-1]
                    run = []
                    for other in beside:
                        if other.sync is None or other.claimed:
                            break
                        run.append(other)
                    calls[item.key].append(run if following else run[::-1])
        found: dict[Key, tuple[Sync, ...]] = {}
        for key, runs in calls.items():
            same = 0
            near = runs if following else [run[::-1] for run in runs]
            while all(len(run) > same and run[same].sync == near[0][same].sync for run in near):
                same += 1
            for run in near:
                for item in run[:same]:
                    item.claimed = True
            if same:
                said = near[0][:same] if following else near[0][:same][::-1]
                found[key] = tuple(i.sync for i in said if i.sync is not None)
        return found

    def elected(self) -> dict[Key, tuple[int | None, bool]]:
        """The warp and lane that alone execute a work."""
        found: dict[Key, tuple[int | None, bool]] = {}
        for item in (i for items in self.blocks for i in items if i.key is not None):
            said = item.warp, item.lane
            if found.setdefault(item.key, said) != said:
                raise NotExpressible(
                    f"{item.node.id}: {item.key[1]} is executed by an elected warp in some calls and by all in others; "
                    "in Task Scheduling the body of a work says so: make it two works"
                )
        return found

    def rebuilt(self, items: list[_Item], task: Task) -> tuple[Node, ...]:
        """The nodes of a block without what was claimed; what was not is a call of a work of its own."""
        found: list[Node] = []
        for place, item in enumerate(items):
            if item.claimed:
                continue
            if item.sync is not None:
                found.append(self.only_sync(items, place, task))
            elif item.inner is not None:
                found.append(replace(item.node, body=self.rebuilt(item.inner, task)))
            else:
                bare = {"footprint": None, "tx": None, "ctas": ""} if item.key is not None else {}
                found.append(replace(item.node, **bare))
        return tuple(found)

    def only_sync(self, items: list[_Item], place: int, task: Task) -> Op:
        """A call of a work that is nothing but one synchronisation, of a resource that the task uses anyway."""
        item = items[place]
        near = [*reversed(items[:place]), *items[place + 1 :]]
        own = {*task.src, *task.dst}
        targets = [i.node.target for i in near if isinstance(i.node, Op) and i.sync is None]
        targets += [o.target for o in ops_of(task)]
        known = [t for t in targets if t in own and t not in self.ready and find_resource(self.document, t)]
        if not known:
            raise NotExpressible(f"{item.node.id}: {task.name} uses no resource whose work could do this")
        resource = find_resource(self.document, known[0])
        added, name = self.added[resource.name], item.name
        name += f"_by_warp_{item.warp}" if item.warp is not None else ""
        name += "_by_lane" if item.lane else ""
        made = ("consumer" if resource.name in task.src else "producer", item.sync)
        while find_work(resource, name) or added.get(name, made) != made:
            name += "_"
        added[name] = made
        return Op(item.node.id, OpKind.WORK, resource.name, name, source=item.node.source)

    def stripped(self, resource: Resource) -> Resource:
        """``resource`` without what its annotations say, and with the works that only synchronise."""
        if ready_made(resource) is not None and resource.name not in self.added:
            return resource
        works = tuple(
            replace(w, engine=None, view=False, footprint=None, tx=None, ctas="", assumed=True)
            for w in resource.works
        )
        added = self.added.get(resource.name, {})
        more = tuple(Work(name, role, auxiliary=True) for name, (role, _) in added.items())
        return replace(resource, works=(*works, *more))

    # -- accesses -------------------------------------------------------------------------------------------------------
    def annotation(self, resource: Resource, work: Work) -> WorkAnnotation:
        """What the document says of the accesses of ``work``."""
        calls = self.calls[resource.name, work.name]
        touched = touched_by(work, calls)
        own = () if touched is None else (in_short(touched, resource),)
        others = self.others.get((resource.name, work.name), Others())
        writes, reads = (own, ()) if work.role == "producer" else ((), own)
        assumed = ("nobody has said what it touches",) if work.assumed else ()
        return WorkAnnotation(
            engine=work.engine,
            view=work.view,
            tx=tx_of(work, calls),
            multicast=multicast_of(work, calls),
            reads=(*reads, *others.reads),
            writes=(*writes, *others.writes),
            undecided=assumed,
        )
