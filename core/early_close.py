"""Check R3: no phase of an mbarrier may be closed by its bytes, or without copies, before the schedule means it to.

A phase closes as soon as its arrivals are in and its expected and delivered bytes balance. An expect_tx that nothing orders
before an arrival of its phase may come too late; then some part of the copies can balance what was expected so far.
In the same way cp.async.mbarrier.arrive keeps a phase open only if something orders it before an arrival of that phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from .phases import MAX_TX
from .program import BarrierKind, EventKind

if TYPE_CHECKING:
    from .clocks import Execution
    from .incidents import Entry
    from .program import Program

MAX_FREE = 10  # stand-alone expects of one phase that are tried in all combinations
ARRIVALS = (EventKind.ARRIVE, EventKind.ARRIVE_EXPECT, EventKind.COMMIT_ARRIVE)


def is_irregular(kind: EventKind, b: int, nbytes: int, program: Program) -> bool:
    """Whether an event of ``kind`` makes it necessary to look at the phases of ``b``: a stand-alone expect_tx, a copy of no
    bytes or one too large, copies that hold a phase, arrivals that may together expect more than a phase can."""
    if kind is EventKind.ARRIVE_EXPECT:
        return nbytes * program.barriers[b].count > MAX_TX
    if kind is EventKind.ASYNC:
        return b >= 0 and not 0 < nbytes <= MAX_TX
    return kind in (EventKind.EXPECT, EventKind.HELD_ARRIVE)


def check_completed(execution: Execution, b: int) -> None:
    """Reports early_close and zero_tx for the generation of ``b`` that is being completed."""
    if b not in execution.irregular:
        return
    log = execution.log[b]
    generation = execution.state[b].completed
    for entry in log:
        if entry.kind is EventKind.ASYNC and entry.bytes == 0:
            execution.report("zero_tx", b, generation, entry.stream, entry.index)
    arrivals = [e for e in log if e.kind in ARRIVALS]
    for entry in log:
        if entry.kind is EventKind.HELD_ARRIVE and not any(_before(entry, a) for a in arrivals):
            execution.report("loose_copies", b, generation, entry.stream, entry.index)
    check_range(execution, b)
    if _can_close_early(log, closed=True):
        entry = next(e for e in log if e.kind is EventKind.EXPECT)
        execution.report("early_close", b, generation, entry.stream, entry.index)


def check_open(execution: Execution) -> None:
    """Reports early_close for generations that are open at the end although all their arrivals are in."""
    for b, barrier in enumerate(execution.program.barriers):
        state, log = execution.state[b], execution.log[b]
        if barrier.kind is not BarrierKind.MBARRIER or not log:
            continue
        if b in execution.irregular:
            check_range(execution, b)
        if state.pending:
            continue
        if _can_close_early(log, closed=False, negative=state.tx < 0):
            entry = next((e for e in log if e.bytes), log[-1])
            execution.report("early_close", b, state.completed, entry.stream, entry.index)


def check_range(execution: Execution, b: int) -> None:
    """Reports tx_range where some order takes the open phase's byte count out of its range: all that is expected before
    anything is delivered, or all that is delivered before what nothing orders in front of it is expected."""
    log = execution.log[b]
    expects = [e for e in log if e.bytes and e.kind is not EventKind.ASYNC]
    copies = [e for e in log if e.bytes and e.kind is EventKind.ASYNC]
    early = [e for e in expects if any(_before(e, c) for c in copies)]
    most = sum(e.bytes for e in expects)
    least = sum(e.bytes for e in early) - sum(c.bytes for c in copies)
    for tx, entries in ((most, expects), (least, copies)):
        if abs(tx) > MAX_TX:
            generation, last = execution.state[b].completed, entries[-1]
            execution.report("tx_range", b, generation, last.stream, last.index, passed=tx)
            return


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
