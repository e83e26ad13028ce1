"""Where the lanes of one warp must meet: what one of them says or waits for, the others must have done or know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..document import Engine, Op, OpKind, Signal, Space, Token
from ..footprints import engine_of
from ..machine import LEADER_ENGINES
from ..raw_counts import ARRIVALS

if TYPE_CHECKING:
    from ..unroll import WarpWalk

MEETS = (OpKind.SYNC_WARP, OpKind.BARRIER_SYNC, OpKind.CLUSTER_SYNC)
WAITS = (OpKind.ACQUIRE, OpKind.WAIT, OpKind.MBARRIER_WAIT, OpKind.GROUP_WAIT, OpKind.GROUP_WAIT_READ)
SHARED = (Space.SMEM, Space.TMEM, Space.GMEM)


class Lanes:
    """Of one warp: the writes of all its lanes, and the waits of one, since they last met. Elections inside an op (one lane
    of each warp arrives) are looked at only if ``strict``; where the schedule elects a lane itself, it is held to that."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.written: dict[str, str] = {}  # resource -> op
        self.waited = ""

    @property
    def open(self) -> bool:
        """Whether there is something that the lanes have not met behind."""
        return bool(self.written or self.waited)

    def step(self, walk: WarpWalk, op: Op) -> Iterator[tuple[str, str]]:
        """(the other op, what is wrong) for each way in which ``op`` needs a meeting that has not been."""
        if op.kind in MEETS and not walk.lane:
            self.written, self.waited = {}, ""
        elif op.kind in WAITS and walk.lane:
            self.waited = op.id
        elif op.kind is OpKind.WORK:
            yield from self._started(walk, op)
            yield from () if walk.lane else self._work(walk, op)
        elif self.written and _alone(walk, op) and (self.strict or walk.lane):
            names = ", ".join(self.written)
            yield next(iter(self.written.values())), f"one lane arrives for all that wrote {names}"
            self.written = {}

    def _started(self, walk: WarpWalk, op: Op) -> Iterator[tuple[str, str]]:
        """An engine that one lane starts on what all lanes have written: it sees what that lane knows of."""
        resource, work = walk.machine.resources.get(op.target), walk.machine.works.get((op.target, op.work))
        if resource is None or work is None or work.view:
            return
        engine = engine_of(resource, work)
        if engine is not Engine.BULK_STORE and not (engine in LEADER_ENGINES and walk.leads()):
            return
        views = [
            walk.works.views[v.name][0]
            for _, v in op.args
            if isinstance(v, Token) and v.name in walk.works.views
        ]
        for name in dict.fromkeys(views):
            if name in self.written and (self.strict or walk.lane):
                yield (
                    self.written.pop(name),
                    f"one lane starts {op.target}.{op.work} on what all lanes wrote to {name}",
                )

    def _work(self, walk: WarpWalk, op: Op) -> Iterator[tuple[str, str]]:
        resource, work = walk.machine.resources.get(op.target), walk.machine.works.get((op.target, op.work))
        if resource is None or work is None or work.view or work.auxiliary or resource.space not in SHARED:
            return
        engine = engine_of(resource, work)
        if engine in LEADER_ENGINES or engine is Engine.BULK_STORE:
            return  # one thread issues it
        if self.waited:
            yield self.waited, f"all lanes execute {op.target}.{op.work} behind the wait of one"
        if engine is Engine.WARP and work.role == "producer":
            self.written[op.target] = op.id


def _alone(walk: WarpWalk, op: Op) -> bool:
    """Whether one lane of this warp arrives for the others."""
    if op.kind in ARRIVALS:
        return walk.lane or op.kind is not OpKind.MBARRIER_ARRIVE or not _each_lane(op)
    sides = {OpKind.COMMIT: walk.machine.producer, OpKind.RELEASE: walk.machine.consumer}
    signal = sides[op.kind].get(op.target) if op.kind in sides else None
    if signal is Signal.LEADER:
        return walk.leads()
    if signal is Signal.LEADER_THREADS:
        return walk.leads() and walk.lane
    return signal is Signal.WARP or (signal is Signal.THREAD and walk.lane)


def _each_lane(op: Op) -> bool:
    """Whether the arrivals of a warp are those of all its 32 lanes."""
    return isinstance(op.count, int) and op.count > 0 and op.count % 32 == 0
