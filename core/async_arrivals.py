"""Arrivals that an engine makes, once what a warp has started is done: tcgen05.commit and cp.async.mbarrier.arrive.

An arrival of either kind speaks for the works of its own kind alone: MMAs, copies and shifts of the tensor core, or cp.async
copies, and of these for those of the executing threads (PTX ISA, tcgen05.commit, cp.async.mbarrier.arrive).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .document import Engine
from .program import Event
from .tensor_core import COMMITTED

if TYPE_CHECKING:
    from .clocks import Execution
    from .incidents import Clock, Note
    from .races import Record

COPIES = Engine.CP_ASYNC


def commit_arrive(run: Execution, w: int, j: int, e: Event) -> bool:
    """tcgen05.commit, or cp.async.mbarrier.arrive.noinc (`e.engine`): arrivals like any other, but behind the works."""
    _note(run, w, j, e)
    return run.arrive(w, j, e)


def held_arrive(run: Execution, w: int, j: int, e: Event) -> bool:
    """cp.async.mbarrier.arrive: what it adds to the pending count, its arrivals take away again."""
    _note(run, w, j, e)
    for b in e.barriers:
        run.contribute(w, j, b, e.kind, 0)
    return True


def _note(run: Execution, w: int, j: int, e: Event) -> None:
    of = run.commits.setdefault((w, e.engine, e.lane), {})
    for b in e.barriers:
        of.setdefault(b, []).append((j, run.state[b].completed))


def committed(run: Execution, w: int, j: int, base: Clock) -> bool:
    """Whether commit ``j`` of stream ``w`` is known to have arrived, as it has on all its barriers at once."""
    return any(
        base[run.n + b] > g
        for key in ((w, None, False), (w, COPIES, False), (w, COPIES, True))
        for b, commits in run.commits.get(key, {}).items()
        for k, g in reversed(commits)
        if k == j
    )


def covering(run: Execution, x: Record | Note) -> Iterator[tuple[int, int]]:
    """The first arrival behind ``x`` that speaks for it, on each barrier: barrier, generations then complete."""
    event = getattr(x, "event", None) or run.program.streams[x.stream].events[x.index - 1]
    copies = event.engine is COPIES
    if not copies and event.engine not in COMMITTED:
        return
    for lane in (False, True) if copies and event.lane else (False,):
        for b, commits in run.commits.get((x.stream, COPIES if copies else None, lane), {}).items():
            place = bisect_right(commits, (x.index, 1 << 60))
            if place < len(commits):
                yield b, commits[place][1] + 1


def ended(run: Execution, x: Record | Note, base: Clock) -> bool:
    """Whether ``x`` is known to be over through such an arrival, under clock ``base``."""
    return any(base[run.n + b] >= done for b, done in covering(run, x))
