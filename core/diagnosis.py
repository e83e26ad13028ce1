"""Why a run is stuck: the cycle of waits, the arrival that nobody can make, or the phase that came too often."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from .phases import Phase
from .program import BarrierKind, Event, EventKind
from .register_requests import together
from .run import Run

CONTRIBUTIONS = (
    EventKind.ASYNC,
    EventKind.ARRIVE,
    EventKind.EXPECT,
    EventKind.ARRIVE_EXPECT,
    EventKind.COMMIT_ARRIVE,
    EventKind.SYNC,
    EventKind.BAR_ARRIVE,
    EventKind.CLUSTER_ARRIVE,
)
ARRIVALS = frozenset(CONTRIBUTIONS) - {EventKind.ASYNC, EventKind.EXPECT}


@dataclass(frozen=True, slots=True)
class Stuck:
    """One blocked stream: its event, the barrier, and the streams that could still contribute (with how many arrivals)."""

    stream: int
    event: Event
    owing: tuple[tuple[int, int], ...]

    @property
    def barrier(self) -> int:
        """The barrier waited for."""
        return self.event.barrier


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All blocked streams, the cycles among them, and those that wait for what nobody can do (root causes both)."""

    stuck: dict[int, Stuck]
    cycles: tuple[tuple[int, ...], ...]
    starved: tuple[int, ...]


def diagnose(run: Run) -> Diagnosis:
    """Looks at the end state of a stuck run."""
    ahead = {w: _ahead(run, w) for w in run.execution.blocked}
    stuck: dict[int, Stuck] = {}
    for w, event in run.blocked():
        owing = tuple((u, found[event.barrier]) for u, found in ahead.items() if event.barrier in found)
        if event.kind is EventKind.CLUSTER_WAIT:  # each that lives and is not in: its exit would do as well
            lives = [u for u in ahead if run.execution.joined[u] <= (event.number or 0)]
            stuck[w] = Stuck(w, event, tuple((u, run.program.streams[u].weight) for u in lives))
            continue
        if event.kind is EventKind.SYNC:
            owing = tuple((u, n) for u, n in owing if not _inside(run, u, event.barrier))
        if event.kind is EventKind.REGISTERS:
            owing = tuple((u, n) for u, n in owing if not together(run, u, w))
        stuck[w] = Stuck(w, event, owing if _enough(run, event.barrier, owing) else ())
    starved = tuple(w for w, s in stuck.items() if not s.owing)
    return Diagnosis(stuck, _cycles(stuck), starved)


def _enough(run: Run, b: int, owing: tuple[tuple[int, int], ...]) -> bool:
    """Whether the arrivals ahead could complete the open phase, if everybody could go on."""
    state = run.execution.state[b]
    if not isinstance(state, Phase):
        return bool(owing)
    if not state.pending:  # only bytes are missing: of a copy ahead that comes before the next arrival
        return any(_next_on(run, u, b) in (EventKind.ASYNC, EventKind.EXPECT) for u, _ in owing)
    return sum(n for _, n in owing) >= state.pending


def _next_on(run: Run, w: int, b: int) -> EventKind | None:
    events = run.program.streams[w].events[run.execution.at[w] :]
    return next((e.kind for e in events if b in e.barriers and e.kind in CONTRIBUTIONS), None)


def _inside(run: Run, w: int, b: int) -> bool:
    """Whether stream ``w`` has joined the open generation of named barrier ``b`` and waits in it."""
    event = run.event(w, run.execution.at[w] + 1)
    return event.kind is EventKind.SYNC and event.barrier == b


def _ahead(run: Run, w: int) -> dict[int, int]:
    """Barrier -> arrivals that stream ``w`` would still make (0: bytes only)."""
    stream, found = run.program.streams[w], {}
    start = run.execution.at[w]
    for event in stream.events[start:]:
        if event.kind is EventKind.REGISTERS and event.bytes < 0:
            found[event.barrier] = found.get(event.barrier, 0) - event.bytes * stream.weight
        if event.kind in CONTRIBUTIONS and event.barrier >= 0:
            meets = run.barrier(event.barrier).kind is not BarrierKind.MBARRIER
            count = 1 if meets or event.number is None else event.number
            more = count * stream.weight if event.kind in ARRIVALS else 0
            for b in event.barriers:
                found[b] = found.get(b, 0) + more
    return found


def _cycles(stuck: dict[int, Stuck]) -> tuple[tuple[int, ...], ...]:
    """A shortest cycle through each stream that is on one, but no two that share a stream."""
    owed = {w: [u for u, _ in s.owing if u in stuck] for w, s in stuck.items()}
    cycles: list[tuple[int, ...]] = []
    done: set[int] = set()
    for start in stuck:
        cycle = () if start in done else _way_back(owed, start)
        if cycle and done.isdisjoint(cycle):
            cycles.append(cycle)
        done.update(cycle)
    return tuple(cycles)


def _way_back(owed: dict[int, list[int]], start: int) -> tuple[int, ...]:
    """The fewest streams, from ``start`` on, each of which waits for the next, and the last for ``start``."""
    came: dict[int, int] = {}
    queue = deque([start])
    while queue:
        w = queue.popleft()
        for u in owed[w]:
            if u == start:
                way = [w]
                while way[-1] != start:
                    way.append(came[way[-1]])
                return tuple(reversed(way))
            if u not in came:
                came[u] = w
                queue.append(u)
    return ()
