"""Arrivals that an engine makes, once what a warp has started is done: tcgen05.commit and cp.async.mbarrier.arrive.

An arrival of either kind speaks for the works of its own kind alone: MMAs, copies and shifts of the tensor core, or cp.async
copies, and of these for those of the executing threads (PTX ISA, tcgen05.commit, cp.async.mbarrier.arrive).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .document import Engine
from .program import Event, EventKind
from .tensor_core import COMMITTED

if TYPE_CHECKING:
    from .clocks import Execution
    from .incidents import Clock, Note
    from .races import Record

COPIES = Engine.CP_ASYNC
BY_SYSTEM = (EventKind.COMMIT_ARRIVE, COPIES)
TELLING = frozenset(
    (
        EventKind.ARRIVE,
        EventKind.ARRIVE_EXPECT,
        EventKind.COMMIT_ARRIVE,
        EventKind.SYNC,
        EventKind.BAR_ARRIVE,
        EventKind.CLUSTER_ARRIVE,
    )
)
LAST = 1 << 60  # behind all barriers
Commit = tuple[int, int, int]  # place in its stream, barrier, and generations complete once it has arrived


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
    if e.engine is COPIES:
        run.races.copying.add(w)
    of = run.commits.setdefault((w, e.engine, e.lane), [])
    of += [(j, b, run.state[b].completed + 1) for b in e.barriers]


def committed(run: Execution, w: int, j: int, base: Clock) -> bool:
    """Whether commit ``j`` of stream ``w`` is known to have arrived, as it has on all its barriers at once."""
    return any(base[run.n + b] >= done for b, done in arrivals_of(run, w, j))


def arrivals_of(run: Execution, w: int, j: int) -> Iterator[tuple[int, int]]:
    """Where commit ``j`` of stream ``w`` arrives: barrier, and generations complete once it has."""
    for key in ((w, None, False), (w, COPIES, False), (w, COPIES, True)):
        commits = run.commits.get(key, ())
        for place in range(_first_behind(commits, j - 1), _first_behind(commits, j)):
            yield commits[place][1:]


def covering(run: Execution, x: Record | Note) -> list[tuple[int, int]]:
    """The first arrival behind ``x`` that speaks for it, on each barrier: barrier, generations then complete."""
    found: list[tuple[int, int]] = []
    for commits in _speaking(run, x):
        behind = commits[_first_behind(commits, x.index) :]
        found += {b: done for _, b, done in reversed(behind)}.items()
    return found


def ended(run: Execution, x: Record | Note, base: Clock) -> bool:
    """Whether ``x`` is known to be over through such an arrival, under clock ``base``."""
    n = run.n
    for commits in _speaking(run, x):
        for place in range(_first_behind(commits, x.index), len(commits)):
            _, b, done = commits[place]
            if base[n + b] >= done:
                return True
    return False


def told(run: Execution, x: Record | Note, base: Clock) -> bool:
    """Whether clock ``base``, which knows the access ``x`` by threads to be past, knows it done. What they have written
    they tell themselves: the system arrives for their cp.async copies, and releases nothing else (PTX ISA,
    cp.async.mbarrier.arrive)."""
    access = getattr(x, "access", None)
    return access is None or not access.write or telling(run, x, base[x.stream]) > 0


def telling(run: Execution, x: Record | Note, until: int) -> int:
    """The place of the first event, up to ``until``, by which the warp of ``x`` tells of what its threads have done; 0 if it
    has not."""
    events = run.program.streams[x.stream].events
    for place in range(x.index, until):
        event = events[place]
        if event.kind in TELLING and (event.kind, event.engine) != BY_SYSTEM:
            return place + 1
    return 0


def _first_behind(commits: Sequence[Commit], j: int) -> int:
    """The place of the first one after event ``j``."""
    return bisect_right(commits, (j, LAST))


def _speaking(run: Execution, x: Record | Note) -> list[list[Commit]]:
    """The arrivals of the stream of ``x`` that speak for works like it."""
    event = getattr(x, "event", None) or run.program.streams[x.stream].events[x.index - 1]
    if event.engine in COMMITTED:
        return [run.commits.get((x.stream, None, False), [])]
    if event.engine is not COPIES:
        return []
    lanes = (False, True) if event.lane else (False,)
    return [run.commits.get((x.stream, COPIES, lane), []) for lane in lanes]
