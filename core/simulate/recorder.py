"""Collects bars, arrows and stage occupancy while the simulation runs, and puts them in order at the end."""

from __future__ import annotations

import heapq

from ..program import Barrier, Event, Program
from .timeline import Arrow, At, Bar, Lane, Occupancy

ENGINE_LANES = ("tile requests", "TMA", "tensor core", "tensor memory", "store", "cp.async")
Cause = tuple[int, str, At, int]  # lane, op, iteration, time


class Recorder:
    """What has been drawn so far. Lanes of warps come first, in stream order; engines follow as they are used."""

    def __init__(self, program: Program) -> None:
        self.lanes = [Lane(s.name, "warp", s.task, s.warp) for s in program.streams]
        self.bars: list[Bar] = []
        self.arrows: list[Arrow] = []
        self.stages: list[Occupancy] = []
        self.busy: dict[str, int] = {}
        self._engines: dict[str, int] = {}
        self._merged: dict[tuple[int, str, At, object], int] = {}
        self._states: dict[tuple[str, int], tuple[str, int]] = {}
        self._names: dict[str, str] = {}

    def know(self, resource: str, stage: int) -> None:
        """A pipeline's stage, empty until it is first acquired."""
        self._states[resource, stage] = ("empty", 0)

    def engine(self, name: str) -> int:
        """The lane of engine ``name``."""
        if name not in self._engines:
            self._engines[name] = len(self.lanes)
            self.lanes.append(Lane(name, "engine"))
        return self._engines[name]

    def bar(
        self,
        lane: int,
        event: Event,
        start: int,
        end: int,
        kind: str,
        resource: str = "",
        stage: int = -1,
        open: bool = False,
    ) -> None:
        """One bar of ``event`` on ``lane``."""
        self.bars.append(Bar(lane, event.op, event.at, start, end, kind, resource, stage, 0, open))

    def merged(
        self, lane: int, event: Event, start: int, end: int, key: object, resource: str, stage: int
    ) -> None:
        """A bar that the warps of one warpgroup (``key``) share: from their first start to their last end."""
        place = (lane, event.op, event.at, key)
        index = self._merged.get(place)
        if index is None:
            self._merged[place] = len(self.bars)
            self.bar(lane, event, start, end, "in-flight", resource, stage)
        else:
            bar = self.bars[index]
            self.bars[index] = bar._replace(start=min(bar.start, start), end=max(bar.end, end))

    def arrow(self, cause: Cause, lane: int, event: Event, time: int) -> None:
        """``cause`` freed the wait ``event`` on ``lane``, which goes on at ``time``."""
        self.arrows.append(Arrow(*cause, lane, event.op, event.at, time))

    def stage(self, barrier: Barrier, state: str, time: int) -> None:
        """The stage of ``barrier`` changes to ``state``; repeating a state changes nothing."""
        key = (barrier.resource, barrier.stage)
        before, since = self._states[key]
        if before == state:
            return
        if time > since:
            self.stages.append(Occupancy(*key, before, since, time))
        self._states[key] = (state, time)

    def end(self) -> int:
        """Cycle of the last thing that was recorded."""
        changes = (since for _, since in self._states.values())
        return max((*changes, *(b.end for b in self.bars)), default=0)

    def close(self, total: int) -> None:
        """Ends the occupancy at ``total``, orders everything by lane and time, and gives overlapping bars rows."""
        for (resource, stage), (state, since) in self._states.items():
            if total > since:
                self.stages.append(Occupancy(resource, stage, state, since, total))
        self.stages.sort(key=lambda s: (s.resource, s.stage, s.start))
        self._order_engines()
        self.bars.sort(key=lambda b: (b.lane, b.start, b.end))
        engines = {i for i, lane in enumerate(self.lanes) if lane.kind == "engine"}
        ends: dict[int, list[tuple[int, int]]] = {i: [] for i in engines}
        for index, bar in enumerate(self.bars):
            if bar.lane in engines:
                row = _row(ends[bar.lane], bar)
                if row:
                    self.bars[index] = bar._replace(row=row)

    def _order_engines(self) -> None:
        """Engine lanes in the order of `ENGINE_LANES`, whichever worked first."""
        warps = len(self.lanes) - len(self._engines)
        order = sorted(self._engines, key=_place)
        place = {self._engines[name]: warps + i for i, name in enumerate(order)}
        self.lanes[warps:] = [Lane(name, "engine") for name in order]
        self.bars = [b._replace(lane=place[b.lane]) if b.lane in place else b for b in self.bars]
        self.arrows = [a._replace(lane=place[a.lane]) if a.lane in place else a for a in self.arrows]


def _row(ends: list[tuple[int, int]], bar: Bar) -> int:
    """The row that is free at ``bar.start``, a new one if there is none; ``ends`` is a heap of (end, row)."""
    row = heapq.heappop(ends)[1] if ends and ends[0][0] <= bar.start else len(ends)
    heapq.heappush(ends, (bar.end, row))
    return row


def _place(engine: str) -> tuple[str, int]:
    """The CTA of an engine's lane, then its place."""
    name, _, cta = engine.partition("@")
    return cta, ENGINE_LANES.index(name)
