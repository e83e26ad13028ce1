"""Check R3: no phase of an mbarrier may be closed by its bytes before the schedule means it to.

A phase closes as soon as its arrivals are in and its expected and delivered bytes balance. An expect_tx that nothing orders
before an arrival of its phase may come too late; then some part of the copies can balance what was expected so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from .program import BarrierKind, EventKind

if TYPE_CHECKING:
    from .clocks import Execution
    from .incidents import Entry

MAX_FREE = 10  # stand-alone expects of one phase that are tried in all combinations
ARRIVALS = (EventKind.ARRIVE, EventKind.ARRIVE_EXPECT, EventKind.COMMIT_ARRIVE)


def check_completed(execution: Execution, b: int) -> None:
    """Reports early_close and zero_tx for the generation of ``b`` that is being completed."""
    if b not in execution.irregular:
        return
    log = execution.log[b]
    generation = execution.state[b].completed
    for entry in log:
        if entry.kind is EventKind.ASYNC and entry.bytes == 0:
            execution.report("zero_tx", b, generation, entry.stream, entry.index)
    if _can_close_early(log, closed=True):
        entry = next(e for e in log if e.kind is EventKind.EXPECT)
        execution.report("early_close", b, generation, entry.stream, entry.index)


def check_open(execution: Execution) -> None:
    """Reports early_close for generations that are open at the end although all their arrivals are in."""
    for b, barrier in enumerate(execution.program.barriers):
        state, log = execution.state[b], execution.log[b]
        if barrier.kind is not BarrierKind.MBARRIER or state.pending or not log:
            continue
        if _can_close_early(log, closed=False, negative=state.tx < 0):
            entry = next((e for e in log if e.bytes), log[-1])
            execution.report("early_close", b, state.completed, entry.stream, entry.index)


def _can_close_early(log: Sequence[Entry], *, closed: bool, negative: bool = False) -> bool:
    arrivals = [e for e in log if e.kind in ARRIVALS]
    free = [
        e for e in log if e.kind is EventKind.EXPECT and not any(_before(e, arrival) for arrival in arrivals)
    ]
    if not free and (closed or not negative):
        return False
    bound = sum(e.bytes for e in log if e.kind is not EventKind.ASYNC) - sum(e.bytes for e in free)
    copies = [e for e in log if e.kind is EventKind.ASYNC]
    for chosen in _closed_subsets(free[:MAX_FREE], proper=closed):
        left_out = [e for e in free if e not in chosen]
        able = [c.bytes for c in copies if not any(_before(e, c) for e in left_out)]
        if _reachable(bound + sum(e.bytes for e in chosen), able):
            return True
    return False


def _before(x: Entry, y: Entry) -> bool:
    return y.base[x.stream] >= x.index or (x.stream == y.stream and x.index < y.index)


def _closed_subsets(free: Sequence[Entry], *, proper: bool) -> Iterator[tuple[Entry, ...]]:
    """Subsets that hold, with each expect, all those that happen before it."""
    for size in range(len(free) + (0 if proper else 1)):
        for chosen in combinations(free, size):
            if all(x in chosen for y in chosen for x in free if _before(x, y)):
                yield chosen


def _reachable(target: int, amounts: Sequence[int]) -> bool:
    """Whether some of ``amounts`` add up to ``target``."""
    sums = {0}
    for amount in amounts:
        sums |= {s + amount for s in sums if s + amount <= target}
    return target in sums
