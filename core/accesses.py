"""The event of a work op: which bytes of which memory its warp or engine touches, and what completes with it."""

from __future__ import annotations

from collections.abc import Iterator

from .clusters import cluster_layout, ctas_of, leader_of, targets
from .descriptors import READERS, described, describes
from .document import Engine, Op, Resource, Space, Task, Token, Work
from .footprints import by_each_warp, byte_range, cut, footprint_of, stage_bytes, tracked, tx_bytes
from .layout import pieces
from .machine import LEADER_ENGINES, Machine
from .program import Access, Event, EventKind, Stream, in_cta
from .routes import copied_to
from .tensor_core import COMMITTED
from .tensor_maps import descriptor
from .tensor_memory import QUARTERS, by_threads, has_lanes, issued_as, merged, part_of, quarter, slices

Ranges = tuple[tuple[int, int], ...]  # bytes within the stage, [low, high) each
IN_HAND = " in hand"  # no token can be called so
View = tuple[str, int, Ranges]  # resource, stage, and the bytes of it
Places = dict[int, Ranges]  # by quarter of tensor memory's lanes; -1: memory without lanes


class WorkEvents:
    """Makes the work events of one stream; equal situations share one event, apart from its iteration."""

    def __init__(self, machine: Machine, task: Task, stream: Stream) -> None:
        self.machine, self.task, self.stream = machine, task, stream
        self.views: dict[str, View] = {}  # token, or pipeline " in hand" -> what it stands for now
        self.implied = machine.implied(task)
        self.kept = frozenset(name for names in self.implied.values() for name in names)
        # the same in every program of the machine
        who = task.name, stream.warps, stream.cta
        self._made: dict[tuple, tuple[Event, ...]] = machine.work_events.setdefault(who, {})
        self._seen: dict[tuple, Ranges] = machine.view_ranges.setdefault(who, {})
        self._inputs: dict[str, tuple] = machine.inputs.setdefault(task.name, {})

    def on(self, stream: Stream) -> WorkEvents:
        """A copy that goes on in ``stream``, a copy of this one's."""
        made = object.__new__(WorkEvents)
        made.__dict__.update(self.__dict__)
        made.stream, made.views = stream, dict(self.views)
        return made

    def events(
        self,
        op: Op,
        resource: Resource,
        work: Work,
        stage: int,
        alone: bool,
        leads: bool,
        ranked: bool = False,
        lane: bool = False,
    ) -> tuple[Event, ...]:
        """The events of ``op`` on ``stage``: none where this warp does not issue it, one for each CTA that a copy goes to.
        ``ranked``: only this CTA of the cluster issues it. Keeps track of view tokens."""
        if work.view:
            ranges = self._seen.get((op.id, alone))
            if ranges is None:
                ranges = self._seen[op.id, alone] = self._ranges(resource, work, op, alone)
            for token in op.results:
                self.views[token] = (resource.name, stage, ranges)
            return () if self.machine.terse else (Event(EventKind.WORK, op.id, stage=stage),)
        views, inputs = self.views, self._inputs.get(op.id)
        if inputs is None:
            inputs = self._inputs[op.id] = self._named(op, resource, work)
        used = tuple([(p, views[name]) for p, name in inputs if name in views]) if inputs and views else ()
        if op.results:
            self._values(op, resource, work, stage, alone)
        key = (op.id, stage, alone, leads, ranked, used)
        found = self._made.get(key)
        if found is None:
            made = self._make(op, resource, work, stage, alone, leads, ranked, used)
            found = self._made[key] = tuple(e._replace(lane=True) if lane else e for e in made)
        return found

    def _values(self, op: Op, resource: Resource, work: Work, stage: int, alone: bool) -> None:
        """What ``op`` returns are values from now on, or descriptors of the stage."""
        views, descriptors = self.views, describes(resource, work)
        if not views and not descriptors:
            return
        for token in op.results:
            views.pop(token, None)
            views.pop(described(token), None)
            if descriptors:
                views[described(token)] = resource.name, stage, self._ranges(resource, work, op, alone)

    def _named(self, op: Op, resource: Resource, work: Work) -> tuple[tuple[str, str], ...]:
        """By parameter, the views that ``op`` may be given; those behind descriptors, and in hand, that it reads without."""
        tokens = [(p, v.name) for p, v in op.args if isinstance(v, Token)]
        reads = issued_as(resource, work, self.task) in READERS
        hidden = [described(name) for _, name in tokens] if reads else []
        hidden += [in_hand(u) for u in self.implied.get(op.id, ())]
        return (*tokens, *(("", name) for name in hidden))

    def _make(
        self, op, resource, work, stage, alone, leads, ranked, used: tuple[tuple[str, View], ...]
    ) -> Iterator[Event]:
        engine = issued_as(resource, work, self.task)
        readers = self._pair(op, work, resource, used) if engine in COMMITTED else (self.stream.cta,)
        each = not alone and by_each_warp(resource, work, self.task)
        if (engine in LEADER_ENGINES and not (leads or each)) or readers[0] != self.stream.cta:
            return
        read = [
            a
            for _, (r, s, b) in used
            for c in readers
            for a in self._accesses(
                self.machine.resources[r], s, self._seen_by(engine, r, b, alone), False, c
            )
        ]
        if self.machine.descriptors:
            read += self._maps(op, used)
        own = self._own(resource, work, op, engine, alone) if tracked(resource) else {}
        writes = work.role == "producer"
        loads = engine is Engine.TMA and writes
        if (
            engine is Engine.WARP
            and not (own or read)
            and self.machine.terse
            and op.id not in self.machine.noted
        ):
            return
        event = Event(
            EventKind.WORK if engine is Engine.WARP else EventKind.ASYNC,
            op.id,
            engine=engine,
            stage=stage,
            views=tuple((parameter, view[0], view[1]) for parameter, view in used if parameter),
        )
        if not loads:
            named = targets(self.machine.document, ctas_of(op, work), self.stream.cta, resource.pipeline)
            reached = readers if engine in COMMITTED else named
            touched = [a for c in reached for a in self._accesses(resource, stage, own, writes, c)]
            yield event._replace(accesses=tuple(read if work.auxiliary else read + touched))
            return
        found = self.machine.routes.get(resource.name)
        for cta, share in copied_to(
            self.machine.document, resource, found, op, work, self.stream.cta, ranked
        ):
            piece = {place: tuple(cut(part, share) for part in parts) for place, parts in own.items()}
            touched = self._accesses(resource, stage, piece, writes, cta)
            barrier = self._completes(op, resource, stage, cta)
            brought = tx_bytes(resource, work, op, self.task, share) if barrier >= 0 else 0
            if each:
                slices = (cut((0, brought), (w, self.task.num_warps)) for w in self.stream.warps)
                brought = sum(high - low for low, high in slices)
            yield event._replace(
                accesses=tuple(read if work.auxiliary else read + touched), barrier=barrier, bytes=brought
            )

    def hold(self, resource: Resource, stage: int) -> None:
        """The task now holds ``stage`` of a pipeline that works read without a view."""
        self.views[in_hand(resource.name)] = resource.name, stage, ((0, stage_bytes(resource)),)

    def let_go(self, resource: Resource) -> None:
        """It holds no stage of it any more."""
        self.views.pop(in_hand(resource.name), None)

    def _maps(self, op: Op, used: tuple[tuple[str, View], ...]) -> list[Access]:
        """The tensor maps that the op is given and some task rewrites."""
        named = [value for _, value in op.args if isinstance(value, str)] + [view[0] for _, view in used]
        found = dict.fromkeys(name for name in named if name in self.machine.descriptors)
        return [a for name in found for a in descriptor(name, self.stream.cta, False)]

    def _pair(
        self, op: Op, work: Work, resource: Resource, used: tuple[tuple[str, View], ...]
    ) -> tuple[int, ...]:
        """The CTAs that an MMA of this CTA works for, the one that issues it first."""
        document, cta = self.machine.document, self.stream.cta
        if named := ctas_of(op, work):
            return targets(document, named, cta, resource.pipeline)
        for name in (resource.name, *(view[0] for _, view in used)):
            found = self.machine.routes.get(name)
            if found is not None and found.pair > 1:
                layout = cluster_layout(document, self.machine.resources[name].pipeline)
                return tuple(range(leader_of(layout, cta), leader_of(layout, cta) + found.pair))
        return (cta,)

    def _completes(self, op: Op, resource: Resource, stage: int, cta: int) -> int:
        """The mbarrier that a copy to CTA ``cta`` completes its bytes on: one passed as an argument, else the stage's full
        barrier."""
        for _, value in op.args:
            if isinstance(value, str) and (value, "raw") in self.machine.first:
                return self.machine.raw_barrier(value, stage, cta)
        if not resource.pipeline:
            return -1
        return self.machine.barrier(
            resource.name, "full", stage, self.machine.routes[resource.name].landing[cta]
        )

    def _ranges(self, resource: Resource, work: Work, op: Op, alone: bool) -> Ranges:
        """What the stream's warps touch together, as disjoint ranges."""
        footprint, size = footprint_of(resource, work, op, self.task, alone), stage_bytes(resource)
        return merged(byte_range(footprint, size, w, self.task.num_warps) for w in self.stream.warps)

    def _own(self, resource: Resource, work: Work, op: Op, engine: Engine, alone: bool) -> Places:
        """What the work itself touches, by quarter of the lanes (-1: of memory that has none)."""
        if not self._divided(resource):
            return {-1: self._ranges(resource, work, op, alone)}
        if not has_lanes(engine, self.task, alone):
            return dict.fromkeys(range(QUARTERS), self._ranges(resource, work, op, alone))
        stated, size = op.footprint or work.footprint, stage_bytes(resource)
        return slices(stated, size, self.task, self.stream.warps, alone)

    def _seen_by(self, engine: Engine, name: str, ranges: Ranges, alone: bool) -> Places:
        """What an op of ``engine`` reads of a view, by quarter of the lanes."""
        if not self._divided(self.machine.resources[name]):
            return {-1: ranges}
        reached = range(QUARTERS)
        if by_threads(engine) and has_lanes(engine, self.task, alone):
            reached = sorted({quarter(self.task, w) for w in self.stream.warps})
        return dict.fromkeys(reached, ranges)

    def _divided(self, resource: Resource) -> bool:
        return resource.space is Space.TMEM and self.machine.lanes

    def _accesses(
        self, resource: Resource, stage: int, places: Places, write: bool, cta: int
    ) -> list[Access]:
        if not tracked(resource):
            return []
        base, space = stage * stage_bytes(resource), resource.name
        if resource.space is Space.RMEM:
            space = f"{resource.name}@{self.stream.name}"
        elif resource.name in self.machine.offsets:
            base += self.machine.offsets[resource.name]
            space = resource.space.value
        apart = resource.storage is not None and any(p.place is not None for p in resource.storage.parts)
        return [
            Access(
                write,
                space if resource.space is Space.RMEM else in_cta(part_of(space, number), cta),
                start,
                end,
                resource.name,
                stage,
                cta,
            )
            for number, ranges in places.items()
            for low, high in ranges
            for start, end in (pieces(resource, stage, low, high) if apart else ((base + low, base + high),))
        ]


def in_hand(name: str) -> str:
    """What the stage of a pipeline that a task holds is called among its views."""
    return name + IN_HAND
