"""The event of a work op: which bytes of which memory its warp or engine touches, and what completes with it."""

from __future__ import annotations

from .document import Engine, Op, Resource, Space, Task, Token, Work
from .footprints import byte_range, engine_of, footprint_of, stage_bytes, tx_bytes
from .machine import LEADER_ENGINES, Machine
from .program import Access, Event, EventKind, Stream

UNTRACKED = (Space.NONE, Space.GMEM, Space.QUEUE, Space.PDL)  # no storage is modelled
Ranges = tuple[tuple[int, int], ...]  # bytes within the stage, [low, high) each
View = tuple[str, int, Ranges]  # resource, stage, and the bytes of it


class WorkEvents:
    """Makes the work events of one stream; equal situations share one event, apart from its iteration."""

    def __init__(self, machine: Machine, task: Task, stream: Stream) -> None:
        self.machine, self.task, self.stream = machine, task, stream
        self.views: dict[str, View] = {}  # token -> what it stands for now
        # the same in every program of the machine
        self._made: dict[tuple, Event | None] = machine.work_events.setdefault((task.name, stream.warps), {})
        self._seen: dict[tuple, Ranges] = machine.view_ranges.setdefault((task.name, stream.warps), {})

    def event(
        self, op: Op, resource: Resource, work: Work, stage: int, alone: bool, leads: bool, lane: bool = False
    ) -> Event | None:
        """The event of ``op`` on ``stage``, or None where this warp does not issue it. Keeps track of view tokens."""
        if work.view:
            ranges = self._seen.get((op.id, alone))
            if ranges is None:
                ranges = self._seen[op.id, alone] = self._ranges(resource, work, op, alone)
            for token in op.results:
                self.views[token] = (resource.name, stage, ranges)
            return Event(EventKind.WORK, op.id, stage=stage)
        used = tuple(
            (p, self.views[v.name]) for p, v in op.args if isinstance(v, Token) and v.name in self.views
        )
        for token in op.results:
            self.views.pop(token, None)  # the name now stands for a value
        key = (op.id, stage, alone, leads, used)
        if key not in self._made:
            self._made[key] = self._make(op, resource, work, stage, alone, leads, used)
            if lane and self._made[key] is not None:
                self._made[key] = self._made[key]._replace(lane=True)
        return self._made[key]

    def _make(
        self, op, resource, work, stage, alone, leads, used: tuple[tuple[str, View], ...]
    ) -> Event | None:
        engine = engine_of(resource, work)
        if engine in LEADER_ENGINES and not leads:
            return None
        accesses = [
            a for _, (r, s, b) in used for a in self._accesses(self.machine.resources[r], s, b, False)
        ]
        own = self._ranges(resource, work, op, alone)
        if not work.auxiliary:
            accesses += self._accesses(resource, stage, own, work.role == "producer")
        loads = engine is Engine.TMA and work.role == "producer"
        barrier = self._completes(op, resource, stage) if loads else -1
        return Event(
            EventKind.WORK if engine is Engine.WARP else EventKind.ASYNC,
            op.id,
            barrier=barrier,
            bytes=tx_bytes(resource, work, op, self.task) if barrier >= 0 else 0,
            engine=engine,
            accesses=tuple(accesses),
            stage=stage,
            views=tuple((parameter, view[0], view[1]) for parameter, view in used),
        )

    def _completes(self, op: Op, resource: Resource, stage: int) -> int:
        """The mbarrier that a copy completes its bytes on: one passed as an argument, else the stage's full barrier."""
        for _, value in op.args:
            if isinstance(value, str) and (value, "raw") in self.machine.first:
                return self.machine.raw_barrier(value, stage)
        return self.machine.first[resource.name, "full"] + stage if resource.pipeline else -1

    def _ranges(self, resource: Resource, work: Work, op: Op, alone: bool) -> Ranges:
        """What the stream's warps touch together, as disjoint ranges."""
        footprint, size = footprint_of(resource, work, op, self.task, alone), stage_bytes(resource)
        merged: list[tuple[int, int]] = []
        for low, high in sorted(
            byte_range(footprint, size, w, self.task.num_warps) for w in self.stream.warps
        ):
            if merged and low <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(high, merged[-1][1])
            elif low < high:
                merged.append((low, high))
        return tuple(merged)

    def _accesses(self, resource: Resource, stage: int, ranges: Ranges, write: bool) -> list[Access]:
        if resource.pipeline is None and resource.space in UNTRACKED:
            return []
        base, space = stage * stage_bytes(resource), resource.name
        if resource.space is Space.RMEM:
            space = f"{resource.name}@{self.stream.name}"
        elif resource.name in self.machine.offsets:
            base += self.machine.offsets[resource.name]
            space = resource.space.value
        return [Access(write, space, base + low, base + high, resource.name, stage) for low, high in ranges]
