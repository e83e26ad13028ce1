"""Puts annotations into a document.

What a body does beside its own access becomes ops around the call: views and reads of other resources before it, writes
behind it, synchronisation where it stands. Their ids are the call's with a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from itertools import chain, count

from warpdraft.core.descriptors import READERS
from warpdraft.core.document import (
    AsyncGroup,
    Document,
    Engine,
    Footprint,
    Guard,
    GuardKind,
    Loop,
    NamedBarrier,
    Node,
    Op,
    OpKind,
    Resource,
    Space,
    Task,
    Token,
    Work,
)
from warpdraft.core.expressions import LoopVariable, evaluate
from warpdraft.core.footprints import engine_of
from warpdraft.core.tree import find_resource, find_work, ops_of

from .annotations import Access, AnnotationError, Annotations, Sync, WorkAnnotation
from .bounds import names_of, with_bounds
from .formulas import FormulaError, value_of
from .ranges import footprint_of
from .tokens import mixed_views

BY_VIEW = (*READERS, Engine.TMA)  # engines whose reads last beyond the call


def apply_annotations(document: Document, annotations: Annotations) -> Document:
    """``document`` with what ``annotations`` say of its works, barriers and symbols; what it does not have is passed over.

    Raises AnnotationError for what does not fit it.
    """
    if not (annotations.works or annotations.barriers or annotations.symbols):
        return document
    document = with_bounds(document, annotations.symbols)
    made = _Application(document, annotations).document()
    return replace(made, gaps=(*dict.fromkeys((*made.gaps, *mixed_views(made))),))


def unknown_names(documents: Iterable[Document], annotations: Annotations) -> str:
    """The first work or symbol of ``annotations`` that none of ``documents`` has, in words; "" if all are there."""
    works = {f"{r.name}.{w.name}" for d in documents for r in d.resources for w in r.works}
    symbols = {s.name for d in documents for s in d.symbols}
    for name in annotations.works:
        if name not in works:
            return f'works."{name}": no such work; there are {", ".join(sorted(works))}'
    for name, bound in annotations.symbols.items():
        for used in (name, *names_of(bound)):
            if used not in symbols:
                return f"symbols.{name}: no symbol {used!r}; there are {', '.join(sorted(symbols)) or 'none'}"
    return ""


class _Application:
    def __init__(self, document: Document, annotations: Annotations) -> None:
        self.start, self.said = document, annotations
        self.extra: dict[
            str, dict[str, Work]
        ] = {}  # resource -> works that stand for accesses of others' bodies
        self.groups: dict[str, AsyncGroup] = {}
        self.barriers: dict[str, NamedBarrier] = {}
        self.inputs: dict[tuple[str, str], dict[str, None]] = {}  # (resource, work) -> parameters for views
        taken = (
            document.resources,
            document.barriers,
            document.mbarriers,
            document.groups,
            document.pipeline_groups,
        )
        self.names = {x.name for kind in taken for x in kind}

    def document(self) -> Document:
        """The whole document."""
        bodies = ((t, tuple(_joined(self._nodes(t, t.body, ())))) for t in self.start.tasks)
        tasks = tuple(self._declared(replace(t, body=body)) for t, body in bodies)
        return replace(
            self.start,
            tasks=tasks,
            resources=tuple(self._resource(r) for r in self.start.resources),
            groups=(*self.start.groups, *self.groups.values()),
            barriers=(*self.start.barriers, *self.barriers.values()),
        )

    def _declared(self, task: Task) -> Task:
        """``task`` with what its bodies reach beside their own resource among its sources and destinations."""
        reached = [
            (o.target, work) for o in ops_of(task) if (work := self.extra.get(o.target, {}).get(o.work))
        ]
        src = dict.fromkeys((*task.src, *(n for n, work in reached if work.role == "consumer")))
        dst = dict.fromkeys((*task.dst, *(n for n, work in reached if work.role == "producer")))
        return replace(task, src=tuple(src), dst=tuple(dst))

    def _resource(self, resource: Resource) -> Resource:
        works = [self._work(resource, w) for w in resource.works if not self._only_sync(resource, w)]
        made = replace(resource, works=(*works, *self.extra.get(resource.name, {}).values()))
        nowhere = resource.space is Space.NONE and resource.storage is None and resource.pipeline is None
        sums = nowhere and any(w.engine is Engine.WGMMA and w.role == "producer" for w in works)
        return replace(made, space=Space.RMEM) if sums else made

    def _only_sync(self, resource: Resource, work: Work) -> bool:
        said = self.said.works.get(f"{resource.name}.{work.name}")
        return said is not None and said.only_sync

    def _work(self, resource: Resource, work: Work) -> Work:
        said = self.said.works.get(f"{resource.name}.{work.name}")
        if said is None:
            return work
        more = tuple(self.inputs.get((resource.name, work.name), ()))
        return replace(
            work,
            engine=said.engine or work.engine,
            view=said.view,
            tx=said.tx if said.tx is not None else work.tx,
            ctas=_ctas(said.multicast) or work.ctas,
            footprint=_fixed(said.writes if work.role == "producer" else said.reads, resource)
            or work.footprint,
            auxiliary=work.auxiliary or self._elsewhere(resource, work, said),
            parameters=(*work.parameters, *(p for p in more if p not in work.parameters)),
            assumed=bool(said.undecided),
        )

    @staticmethod
    def _elsewhere(resource: Resource, work: Work, said: WorkAnnotation) -> bool:
        """Whether the work touches no bytes of its own resource in its role."""
        mine = said.writes if work.role == "producer" else said.reads
        return said.touches_nothing or (bool(mine) and not _own(mine, resource))

    # -- calls ----------------------------------------------------------------------------------------------------------
    def _nodes(self, task: Task, nodes: Iterable[Node], around: tuple[Node, ...]) -> Iterator[Node]:
        for node in nodes:
            if not isinstance(node, Op):
                yield replace(node, body=tuple(_joined(self._nodes(task, node.body, (*around, node)))))
                continue
            said = self.said.works.get(f"{node.target}.{node.work}") if node.kind is OpKind.WORK else None
            resource = find_resource(self.start, node.target)
            work = find_work(resource, node.work)
            if said is None or resource is None or work is None:
                yield node
            else:
                yield from self._call(_Call(self, task, node, resource, work, said, around))

    def _call(self, call: _Call) -> Iterator[Node]:
        said, before, after = call.said, [], []
        for sync in said.sync:
            if _holds(sync, call.op):
                (before if sync.at == "before" else after).append(call.sync(sync))
        inside: list[Node] = [] if said.only_sync else list(call.accesses())
        if said.lane and inside:
            inside = [call.guard(GuardKind.ELECT_LANE, inside)]
        if said.warp is not None and inside:
            inside = [call.guard(GuardKind.ELECT_WARP, inside, warp=said.warp)]
        yield from (*before, *inside, *after)

    def group(self, engine: Engine) -> str:
        """The async group of ``engine``'s channel."""
        if engine not in self.groups:
            self.groups[engine] = AsyncGroup(self._free(f"{engine.value}_group"), engine)
        return self.groups[engine].name

    def barrier(self, name: str) -> str:
        """The named barrier that the file calls ``name``."""
        if name not in self.barriers:
            said = self.said.barriers[name]
            self.barriers[name] = NamedBarrier(self._free(name), said.id, said.threads)
        return self.barriers[name].name

    def _free(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self.names:
            count += 1
            name = f"{wanted}_{count}"
        self.names.add(name)
        return name


class _Call:
    """One call of an annotated work."""

    def __init__(self, whole: _Application, task: Task, op: Op, resource, work, said, around) -> None:
        self.whole, self.task, self.op, self.resource, self.work = whole, task, op, resource, work
        self.said, self.around, self.count = said, around, 0
        self.engine = said.engine or engine_of(resource, work)

    def accesses(self) -> Iterator[Op]:
        """The call itself and what stands for its other accesses: reads before it, writes behind it."""
        producer = self.work.role == "producer"
        mine, others = (
            (self.said.writes, self.said.reads) if producer else (self.said.reads, self.said.writes)
        )
        own = _own(mine, self.resource) if self.work.name else []
        foreign = [(a, producer) for a in mine if a not in own] + [(a, not producer) for a in others]
        op, behind = self.op, []
        for access, writes in foreign:
            made, argument = self._other(access, writes, {key for key, _ in op.args})
            if argument:
                op = replace(op, args=(*op.args, argument))
            if writes:
                behind.append(made)
            else:
                yield made
        for number, access in enumerate(own):
            touched = replace(
                op, footprint=self._footprint(access, self.resource), stage=self._stage(access, op.stage)
            )
            yield touched if number == 0 else replace(touched, id=self._id(), results=())
        if not own:
            yield op
        yield from behind

    def _other(self, access: Access, writes: bool, taken: Set[str]) -> tuple[Op, tuple[str, Token] | None]:
        """An op for an access of another resource (or of its own in the other direction), and the view that it hands on as
        an argument of a name that is not ``taken``."""
        name = access.resource or self.resource.name
        target = find_resource(self.whole.start, name)
        if target is None:
            raise AnnotationError(f'works."{self.key}": there is no resource {name!r}')
        view = not writes and self.engine in BY_VIEW
        verb = "written" if writes else "seen" if view else "read"
        work = (
            f"{verb}_by_{self.work.name}"
            if name == self.resource.name
            else f"{verb}_by_{self.op.target}_{self.work.name}"
        )
        free = (f"{work}_{name}{number}" for number in chain(("",), count(2)))
        results = (next(n for n in free if n not in taken),) if view else ()
        self.whole.extra.setdefault(name, {}).setdefault(
            work,
            Work(
                work,
                "producer" if writes else "consumer",
                self.engine if not view else None,
                view,
                returns=results,
            ),
        )
        made = Op(
            self._id(),
            OpKind.WORK,
            name,
            work,
            results=results,
            stage=self._stage(access, None),
            footprint=self._footprint(access, target),
            source=self.op.source,
        )
        if not view:
            return made, None
        self.whole.inputs.setdefault((self.resource.name, self.work.name), {}).setdefault(results[0])
        return made, (results[0], Token(results[0]))

    def _footprint(self, access: Access, resource: Resource):
        try:
            return footprint_of(access, resource, self.task, dict(self.op.args), self.said.warp)
        except FormulaError as error:
            raise AnnotationError(f'works."{self.key}": {error} (at {self.op.id})') from None

    def _stage(self, access: Access, otherwise):
        if access.stage is None:
            return otherwise
        loops = {n.var: LoopVariable(n.var) for n in self.around if isinstance(n, Loop)}
        known = {k: v for k, v in self.op.args if isinstance(v, int)}
        try:
            found = value_of(access.stage, loops | known)
        except FormulaError as error:
            raise AnnotationError(f'works."{self.key}": {error} (at {self.op.id})') from None
        return evaluate(found, {}) if isinstance(found, int) else found

    def sync(self, said: Sync) -> Node:
        """An op for a synchronisation, in the blocks of its conditions."""
        target, count = "", None
        if said.group is not None:
            target, count = self.whole.group(said.group), said.count
            if said.op is not OpKind.GROUP_COMMIT:
                count = said.count or 0
        elif said.barrier:
            target = self.whole.barrier(said.barrier)
        node: Node = Op(self._id(), said.op, target, count=count, source=self.op.source)
        loop = next((n.var for n in reversed(self.around) if isinstance(n, Loop) and n.kind == "domain"), "")
        if said.lane:
            node = self.guard(GuardKind.ELECT_LANE, [node])
        if said.warp is not None:
            node = self.guard(GuardKind.ELECT_WARP, [node], warp=said.warp)
        if said.iteration:
            node = self.guard(GuardKind(said.iteration), [node], loop=loop)
        if said.every is not None:
            node = self.guard(GuardKind.EVERY, [node], loop=loop, period=said.every, start=said.start)
        if said.when or said.unless:
            kind = GuardKind.WHEN_TRUE if said.when else GuardKind.WHEN_FALSE
            node = self.guard(kind, [node], key=said.when or said.unless)
        return node

    def guard(self, kind: GuardKind, body: Iterable[Node], **fields) -> Guard:
        """A guarded block around ``body``."""
        return Guard(self._id(), kind, tuple(body), source=self.op.source, **fields)

    @property
    def key(self) -> str:
        """What the file calls the work."""
        return f"{self.resource.name}.{self.work.name}"

    def _id(self) -> str:
        self.count += 1
        return f"{self.op.id}.{self.count}"


def _own(accesses: Iterable[Access], resource: Resource) -> list[Access]:
    return [a for a in accesses if a.resource in ("", resource.name)]


def _holds(sync: Sync, op: Op) -> bool:
    """Whether the call has the compile-time arguments that ``sync`` asks for."""
    given = dict(op.args)
    return all(name in given and given[name] == value for name, value in sync.arguments)


def _joined(nodes: Iterable[Node]) -> list[Node]:
    """``nodes`` with elections of the same warp, or of a lane, that follow one another as one."""
    found: list[Node] = []
    for node in nodes:
        last = found[-1] if found else None
        elects = isinstance(node, Guard) and node.kind in (GuardKind.ELECT_WARP, GuardKind.ELECT_LANE)
        if elects and isinstance(last, Guard) and (last.kind, last.warp) == (node.kind, node.warp):
            found[-1] = replace(last, body=tuple(_joined((*last.body, *node.body))))
        else:
            found.append(node)
    return found


def _fixed(accesses: Iterable[Access], resource: Resource) -> Footprint | None:
    """The bytes of every call of a work, where no formula says them."""
    own = _own(accesses, resource)
    if (
        len(own) != 1
        or isinstance(own[0].offset, str)
        or isinstance(own[0].bytes, str)
        or own[0].stage is not None
    ):
        return None
    try:
        return footprint_of(own[0], resource, Task("", 0, 1), {})
    except FormulaError:
        return None  # a call says it, with its place


def _ctas(text: str) -> str | tuple[int, ...]:
    ranks = [part.strip() for part in text.split(",")]
    return tuple(map(int, ranks)) if text and all(r.isdigit() for r in ranks) else text
