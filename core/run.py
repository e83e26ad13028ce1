"""One execution of a document at one choice of trip counts, as rules look at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

from . import describe
from .clocks import Execution
from .document import Document
from .fewer_switches import fewer_switches
from .findings import Step
from .incidents import Incident
from .machine import Machine
from .program import Barrier, Event, EventKind, Program
from .unroll import unroll

Conditions = Mapping[str, Sequence[bool]]
MAX_STEPS = 48  # of a witness; the earliest are left out
MAX_SWITCHES = 20  # between agents in a witness; as well


@dataclass(frozen=True, slots=True)
class Run:
    """``case`` are the trip counts, ``conditions`` the patterns of run-time conditions."""

    document: Document
    machine: Machine
    program: Program
    execution: Execution
    case: tuple[tuple[str, int], ...]
    conditions: tuple[tuple[str, tuple[bool, ...]], ...] = ()

    @property
    def wrong(self) -> bool:
        """Whether warps may hang, race, or meet in other phases than they mean."""
        e = self.execution
        return bool(e.incidents or e.races.found or e.blocked or e.stopped)

    @property
    def clean(self) -> bool:
        """Whether nothing at all went wrong."""
        fencing = self.execution.fencing
        found = self.execution.races.unfenced, self.execution.allocations.found, self.execution.maps.missing
        return not (self.wrong or fencing.missing or fencing.wgmma or any(found))

    def event(self, w: int, j: int) -> Event:
        """Event ``j`` (1-based) of stream ``w``."""
        return self.program.streams[w].events[j - 1]

    def barrier(self, b: int) -> Barrier:
        """Barrier number ``b``."""
        return self.program.barriers[b]

    def step(self, w: int, j: int, text: str = "") -> Step:
        """Event ``j`` of stream ``w`` as a step of a witness."""
        event, stream = self.event(w, j), self.program.streams[w]
        words = text or describe.words(event, stream, self.program.barriers)
        return Step(agent_name(self, w), event.op, words, describe.iteration(event))

    def blocked(self) -> list[tuple[int, Event]]:
        """Streams that are stuck, with the event that blocks each."""
        return [(w, self.event(w, self.execution.at[w] + 1)) for w in self.execution.blocked]

    def incidents(self, *kinds: str) -> Iterator[Incident]:
        """Failed checks of these kinds."""
        return (i for i in self.execution.incidents if i.kind in kinds)

    def task(self, w: int) -> str:
        """The task of stream ``w``."""
        return self.program.streams[w].task


def agent_name(run: Run, w: int) -> str:
    """ "math.w1", or "math.w2-7" for a stream that stands for several warps."""
    return run.program.streams[w].all_names


def execute(
    machine: Machine,
    values: Mapping[str, int],
    conditions: Conditions | None = None,
    deadline: float | None = None,
) -> Run:
    """Unrolls and runs ``machine``'s document at ``values``. Raises TimeUp where unrolling takes past ``deadline``."""
    program = unroll(machine, values, representatives=True, conditions=conditions, deadline=deadline)
    return execute_program(machine, program, conditions, deadline)


def execute_program(
    machine: Machine,
    program: Program,
    conditions: Conditions | None = None,
    deadline: float | None = None,
    hurried: Sequence[int] = (),
) -> Run:
    """Runs a ``program`` of ``machine``'s document; ``hurried`` as for `Execution.run`."""
    execution = Execution(program, machine.judged, deadline).run(hurried)
    patterns = tuple((k, tuple(v)) for k, v in (conditions or {}).items())
    return Run(machine.document, machine, program, execution, program.values, patterns)


def execute_in_order(run: Run, increases: Sequence[tuple[int, int]]) -> Run:
    """``run`` again, with no other requests for registers met than ``increases`` (stream, 1-based place), one by one."""
    execution = Execution(run.program, run.machine.judged)
    execution.increases = list(increases)
    return replace(run, execution=execution.run())


def prefix_steps(
    run: Run,
    clock: Sequence[int],
    last: Sequence[tuple[int, int, str]],
    marked: Sequence[tuple[int, int]] = (),
) -> Callable[[], tuple[Step, ...]]:
    """Writes what must have happened under ``clock`` (one place a stream), in an order of execution that seldom changes
    agents, then the events ``last``; to be called before the execution goes on.

    The events ``marked`` and ``last`` are marked. What is left out of a long witness are its earliest steps, none of these.
    """
    return partial(_prefix_steps, run, clock, last, marked)


def _with_gifts(run: Run, clock: Sequence[int]) -> Sequence[int]:
    """``clock`` with the registers that warps give back before all else, where others have taken more: the pool is no order
    between the two, but somebody has to fill it."""
    events = [stream.events for stream in run.program.streams]
    if not any(
        e.kind is EventKind.REGISTERS and e.bytes > 0
        for of, n in zip(events, clock, strict=False)
        for e in of[:n]
    ):
        return clock
    gifts = (takewhile(lambda e: e.kind is EventKind.REGISTERS and e.bytes < 0, of) for of in events)
    return [max(n, sum(1 for _ in of)) for n, of in zip(clock, gifts, strict=False)]


def _prefix_steps(
    run: Run,
    clock: Sequence[int],
    last: Sequence[tuple[int, int, str]],
    marked: Sequence[tuple[int, int]],
) -> tuple[Step, ...]:
    ends, clock = {(w, j) for w, j, _ in last}, _with_gifts(run, clock)
    places = [
        (w, j)
        for w, start, end in run.execution.order
        for j in range(start + 1, min(end, clock[w]) + 1)
        if (w, j) not in ends and (_counts(run.event(w, j)) or (w, j) in marked)
    ]
    streams, steady = run.program.streams, not run.execution.incidents
    places = fewer_switches(streams, places, last[0][0] if last else -1, MAX_STEPS, steady)
    left = _left_out([w for w, _ in places], [w for w, _, _ in last], len(marked))
    early = [place for place in places[:left] if place in marked]
    steps = [replace(run.step(w, j), marked=(w, j) in marked) for w, j in (*early, *places[left:])]
    return (*steps, *(replace(run.step(w, j, text), marked=True) for w, j, text in last))


def _left_out(before: Sequence[int], last: Sequence[int], marked: int) -> int:
    """How many of the steps ``before`` the ``last`` ones, given by their streams, make a witness too long; each of those
    ``marked`` may stand in front of the rest all the same."""
    least, switches = max(0, len(before) - MAX_STEPS), marked
    streams = [*before, *last]
    for place in range(len(streams) - 1, least, -1):
        switches += streams[place] != streams[place - 1]
        if switches > MAX_SWITCHES:
            return min(place, len(before))
    return least


def _counts(event: Event) -> bool:
    if event.kind is EventKind.REGISTERS:
        return bool(event.op)  # else the task's own, before its schedule
    return bool(event.accesses) or event.kind not in (EventKind.WORK, EventKind.SYNC_WARP)


def join_clocks(run: Run, *places: tuple[int, int, Sequence[int]]) -> list[int]:
    """The places of all streams before the events (stream, 1-based place, clock)."""
    n = len(run.program.streams)
    joined = [max(clock[w] for _, _, clock in places) for w in range(n)]
    for w, j, _ in places:
        joined[w] = max(joined[w], j - 1)
    return joined


def places_before(run: Run, w: int, j: int) -> list[int]:
    """How far each stream had come when stream ``w`` reached event ``j``."""
    places = [0] * len(run.program.streams)
    for u, start, end in run.execution.order:
        if u == w and start < j <= end:
            places[u] = j - 1
            break
        places[u] = end
    return places
