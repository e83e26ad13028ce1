"""Named and cluster barriers in an execution: joining the open generation, and leaving it once all are in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import phases
from .incidents import Entry
from .phases import Meeting
from .program import Event

if TYPE_CHECKING:
    from .clocks import Execution


def sync(run: Execution, w: int, j: int, e: Event) -> bool:
    b = e.barrier
    if w not in run.inside:
        run.inside[w] = _enter(run, w, j, e)
    if run.state[b].completed <= run.inside[w]:
        run.parked[b].append(w)
        return False
    del run.inside[w]
    if run.base[w][run.n + b] < run.state[b].completed:
        run.base[w] = tuple(map(max, run.base[w], run.cumul[b]))
    return True


def bar_arrive(run: Execution, w: int, j: int, e: Event) -> bool:
    _enter(run, w, j, e)
    return True


def leave(run: Execution, w: int) -> None:
    """Stream ``w`` has come to its end: cluster barriers no longer wait for its warps."""
    run.exited += run.weight[w]
    for b, barrier in enumerate(run.program.barriers):
        if barrier.side == "cluster" and all(entry.stream != w for entry in run.log[b]):
            after = phases.leave(run.state[b], run.weight[w])
            if after.completed > run.state[b].completed:
                run.complete(b)
            run.state[b] = after


def _enter(run: Execution, w: int, j: int, e: Event) -> int:
    """Joins the open generation; returns it (the last one that its warps join)."""
    b, left = e.barrier, run.weight[w]
    barrier = run.program.barriers[b]
    expects = e.number or barrier.count - (run.exited if barrier.side == "cluster" else 0)
    run.contribute(w, j, b, e.kind, 0)
    while True:
        state: Meeting = run.state[b]  # type: ignore[assignment]
        if state.inside and state.expects != expects:
            run.report("count_mismatch", b, state.completed, w, j, run.log[b][0][:2])
            run.stopped = "undefined"
            return state.completed
        now = min(left, expects - state.inside)
        after = phases.join(state, now, expects)
        if after.completed > state.completed:
            run.complete(b)
        run.state[b] = after
        left -= now
        if not left or run.stopped:
            return state.completed
        run.report("misassigned", b, after.completed, w, j, (w, j))
        run.log[b].append(Entry(w, j, run.base[w], e.kind, 0))
