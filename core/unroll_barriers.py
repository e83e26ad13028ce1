"""The events of ops on raw mbarriers and on the barrier of the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .arrivals import arrivals_by
from .clusters import targets
from .document import Engine, Op, OpKind, Signal
from .op_integers import chosen
from .program import EventKind

if TYPE_CHECKING:
    from .unroll import WarpWalk

COPIES_ARRIVE = {
    OpKind.CP_ASYNC_ARRIVE: EventKind.HELD_ARRIVE,
    OpKind.CP_ASYNC_ARRIVE_NOINC: EventKind.COMMIT_ARRIVE,
}


def cluster_barrier(walk: WarpWalk, op: Op) -> None:
    """Both halves, or one: a warp's i-th arrival joins generation i, and its wait is for the last that it joined."""
    barrier = walk.machine.cluster
    joined = walk.raw.get(barrier, 0)
    if op.kind is not OpKind.CLUSTER_WAIT:
        walk.emit(EventKind.CLUSTER_ARRIVE, op, barrier, joined)
        joined = walk.raw[barrier] = joined + 1
    if op.kind is not OpKind.CLUSTER_ARRIVE:
        walk.emit(EventKind.CLUSTER_WAIT, op, barrier, joined - 1)


def raw_mbarrier(walk: WarpWalk, op: Op) -> None:
    """The events of an op on raw mbarriers, its own CTA's or those of others."""
    stages = walk.machine.raw_stages(op.target)
    stage = walk.integer(op, "stage", chosen(op.stage), stages)
    if op.kind in (OpKind.MBARRIER_INIT, OpKind.MBARRIER_INVAL):
        live = int(op.kind is OpKind.MBARRIER_INIT)
        for each in range(stages) if op.stage is None else (stage,):
            barrier = walk.machine.raw_barrier(op.target, each, walk.stream.cta)
            walk.emit(EventKind.LIFETIME, op, barrier, live)
        return
    if op.kind in (OpKind.MBARRIER_WAIT, OpKind.MBARRIER_TRY_WAIT):
        barrier = walk.machine.raw_barrier(op.target, stage, walk.stream.cta)
        turn = walk.raw.get(barrier, 0)
        blocks = op.kind is OpKind.MBARRIER_WAIT
        kind = EventKind.WAIT if blocks else EventKind.TRY
        if op.count is None:
            walk.emit(kind, op, barrier, turn)
        else:
            walk.emit(kind, op, barrier, None, parity=walk.integer(op, "parity", op.count, 2) & 1)
        if blocks:
            walk.raw[barrier] = turn + 1
        return
    if op.kind in COPIES_ARRIVE:
        barrier = walk.machine.raw_barrier(op.target, stage, walk.stream.cta)
        arrivals = arrivals_by(Signal.CP_ASYNC, True, walk.lane)
        walk.emit(COPIES_ARRIVE[op.kind], op, barrier, arrivals, engine=Engine.CP_ASYNC, lane=walk.lane)
        return
    reached = targets(walk.machine.document, op.ctas, walk.stream.cta)
    barriers = [walk.machine.raw_barrier(op.target, stage, cta) for cta in reached]
    if not barriers:
        return  # a target that is not there: WD212 says so
    also = tuple(barriers[1:])
    if op.kind is OpKind.MBARRIER_ARRIVE:
        walk.emit(EventKind.ARRIVE, op, barriers[0], 1 if op.count is None else op.count, also=also)
    elif op.kind is OpKind.TCGEN05_COMMIT and walk.leads():
        walk.emit(EventKind.COMMIT_ARRIVE, op, barriers[0], 1, also=also)
    elif op.kind is OpKind.MBARRIER_ARRIVE_EXPECT:
        walk.emit(EventKind.ARRIVE_EXPECT, op, barriers[0], 1, op.count or 0, also=also)
    elif op.kind is OpKind.MBARRIER_EXPECT:
        for barrier in barriers:
            walk.emit(EventKind.EXPECT, op, barrier, 0, op.count or 0)
