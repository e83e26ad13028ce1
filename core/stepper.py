"""One interleaving of a schedule, step by step: what a debugger shows.

States are plain values, so going back is picking an earlier one. A move is one event of one warp, or the end of one
asynchronous operation; every move that `Stepper.moves` lists is legal on hardware. Waits test true parity bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from . import phases
from .document import Engine
from .phases import Meeting, Phase, Pool
from .program import Event, EventKind, Program
from .tensor_core import COMMITTED, in_order

GROUP_WAITS = (EventKind.GROUP_WAIT, EventKind.GROUP_WAIT_READ, EventKind.DRAIN)
ARRIVALS = (EventKind.ARRIVE, EventKind.ARRIVE_EXPECT, EventKind.COMMIT_ARRIVE)
BEHIND = (EventKind.COMMIT_ARRIVE, EventKind.HELD_ARRIVE)  # arrivals once works of the warp are done
MEETS = (EventKind.SYNC, EventKind.BAR_ARRIVE, EventKind.CLUSTER_ARRIVE)
CONTRIBUTIONS = (*ARRIVALS, EventKind.ASYNC, EventKind.EXPECT, *MEETS)


class Flight(NamedTuple):
    """An asynchronous operation on its way: event number ``event`` of ``stream``; ``read``: its source is free."""

    stream: int
    event: int
    read: bool = False


class State(NamedTuple):
    """``at``: events that each stream has done; ``inside``: the named barrier's generation that it waits in, -1 for none;
    ``wrong``: what undefined behaviour was reached, after which there are no moves."""

    at: tuple[int, ...]
    inside: tuple[int, ...]
    flights: tuple[Flight, ...]
    barriers: tuple[Phase | Meeting | Pool, ...]
    wrong: str = ""


class Move(NamedTuple):
    """The next event of ``stream``, or the next end of ``flight``."""

    stream: int
    flight: Flight | None = None


class Owed(NamedTuple):
    """``stream`` would still make ``arrivals`` on a barrier (0: bytes only), or give a pool as many registers."""

    stream: int
    arrivals: int


class Stepper:
    """The moves of one ``program``. Streams that stand for several warps move them together."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._events = [stream.events for stream in program.streams]
        self._weights = [stream.weight for stream in program.streams]
        self._groups = [_group_numbers(events) for events in self._events]
        self._joined = [joined(events) for events in self._events]

    @property
    def start(self) -> State:
        """Before anything has happened."""
        number = len(self._events)
        barriers = tuple(b.start for b in self.program.barriers)
        return State((0,) * number, (-1,) * number, (), barriers)

    def next_event(self, state: State, stream: int) -> Event | None:
        """What ``stream`` does next, None at its end."""
        events = self._events[stream]
        return events[state.at[stream]] if state.at[stream] < len(events) else None

    def event_of(self, flight: Flight) -> Event:
        """The event that started ``flight``."""
        return self._events[flight.stream][flight.event]

    def ended(self, state: State) -> bool:
        """Whether every stream has come to its end."""
        return all(i == len(events) for i, events in zip(state.at, self._events, strict=True))

    def moves(self, state: State) -> tuple[Move, ...]:
        """Every legal move, warps first."""
        if state.wrong:
            return ()
        warps = (Move(w) for w in range(len(self._events)) if self._can_go_on(state, w))
        ends = (Move(f.stream, f) for f in state.flights if self._can_end(state, f))
        return (*warps, *ends)

    def step(self, state: State, move: Move) -> State:
        """The state after ``move``. Raises ValueError for one that is not legal in ``state``."""
        if move not in self.moves(state):
            raise ValueError(f"{move} is not possible here")
        try:
            return self._end(state, move.flight) if move.flight else self._go_on(state, move.stream)
        except phases.OverArrival:
            return state._replace(wrong="an arrival on a barrier that has none pending")
        except phases.CountMismatch:
            return state._replace(wrong="warps that give one named barrier different thread counts")

    def blocked(self, state: State, stream: int) -> bool:
        """Whether ``stream`` has not ended and cannot move now."""
        return self.next_event(state, stream) is not None and not self._can_go_on(state, stream)

    def owed(self, state: State, barrier: int) -> Iterator[Owed]:
        """The streams that would still contribute to ``barrier``, each with its arrivals ahead."""
        for w, events in enumerate(self._events):
            start = state.at[w] + (1 if state.inside[w] >= 0 else 0)
            of = [e for e in events[start:] if barrier in e.barriers]
            ahead = [e for e in of if e.kind in CONTRIBUTIONS]
            if ahead:
                yield Owed(w, sum(self._arrivals(w, e) for e in ahead))
            elif given := -sum(min(0, self._taken(w, e)) for e in of if e.kind is EventKind.REGISTERS):
                yield Owed(w, given)

    def _arrivals(self, w: int, event: Event) -> int:
        if event.kind in MEETS:
            return self._weights[w]
        return (
            (1 if event.number is None else event.number) * self._weights[w]
            if event.kind in (*ARRIVALS, *BEHIND)
            else 0
        )

    # Warps

    def _can_go_on(self, state: State, w: int) -> bool:
        event = self.next_event(state, w)
        if event is None:
            return False
        if event.kind is EventKind.WAIT:
            parity = event.parity if event.number is None else phases.parity_of(event.number)
            return phases.passes(state.barriers[event.barrier], parity)
        if event.kind in GROUP_WAITS:
            return self._covered(state, w, event)
        if event.kind is EventKind.REGISTERS:
            return event.bytes <= 0 or self._taken(w, event) <= state.barriers[event.barrier].spare
        if event.kind is EventKind.SYNC and state.inside[w] >= 0:
            return phases.released(state.barriers[event.barrier], state.inside[w])
        if event.kind is EventKind.CLUSTER_WAIT:
            return all(
                at == len(events) or joined[at] > (event.number or 0)
                for at, events, joined in zip(state.at, self._events, self._joined, strict=True)
            )
        return True

    def _go_on(self, state: State, w: int) -> State:
        event = self._events[w][state.at[w]]
        after = state._replace(at=_put(state.at, w, state.at[w] + 1))
        match event.kind:
            case EventKind.HELD_ARRIVE:
                return self._hold(after, w, event)._replace(flights=(*state.flights, Flight(w, state.at[w])))
            case EventKind.ASYNC | EventKind.COMMIT_ARRIVE:
                return after._replace(flights=(*state.flights, Flight(w, state.at[w])))
            case EventKind.ARRIVE | EventKind.ARRIVE_EXPECT:
                return self._arrive(after, w, event)
            case EventKind.EXPECT:
                return self._bytes(after, w, event, phases.expect_tx)
            case EventKind.SYNC if state.inside[w] >= 0:
                return after._replace(inside=_put(state.inside, w, -1))
            case EventKind.SYNC:
                generation = state.barriers[event.barrier].completed
                return self._join(state, w, event)._replace(inside=_put(state.inside, w, generation))
            case EventKind.BAR_ARRIVE:
                return self._join(after, w, event)
            case EventKind.LIFETIME if event.barrier >= 0 and event.number:
                fresh = phases.restarted(state.barriers[event.barrier])
                return after._replace(barriers=_put(state.barriers, event.barrier, fresh))
            case EventKind.REGISTERS:
                pool = phases.exchange(state.barriers[event.barrier], self._taken(w, event))
                return after._replace(barriers=_put(state.barriers, event.barrier, pool))
        return after

    def _taken(self, w: int, event: Event) -> int:
        """Registers that the warps of stream ``w`` take from the pool."""
        return event.bytes * self._weights[w]

    def _join(self, state: State, w: int, event: Event) -> State:
        wanted = event.number or self.program.barriers[event.barrier].count
        meeting = phases.join(state.barriers[event.barrier], self._weights[w], wanted)
        return state._replace(barriers=_put(state.barriers, event.barrier, meeting))

    def _arrive(self, state: State, w: int, event: Event) -> State:
        """As lanes and warps make them: what the open phase does not take lands in the next."""
        for b in event.barriers:
            left, nbytes = self._arrivals(w, event), event.bytes * self._weights[w]
            phase = state.barriers[b]
            while left:
                now = max(1, min(left, phase.pending))
                phase, left, nbytes = phases.arrive(phase, now, nbytes), left - now, 0
            state = state._replace(barriers=_put(state.barriers, b, phase))
        return state

    def _hold(self, state: State, w: int, event: Event) -> State:
        phase = phases.hold(state.barriers[event.barrier], self._arrivals(w, event))
        return state._replace(barriers=_put(state.barriers, event.barrier, phase))

    def _bytes(self, state: State, w: int, event: Event, change) -> State:
        phase = change(state.barriers[event.barrier], event.bytes * self._weights[w])
        return state._replace(barriers=_put(state.barriers, event.barrier, phase))

    def _covered(self, state: State, w: int, event: Event) -> bool:
        """Whether the groups that a group wait is for have ended."""
        if event.kind is EventKind.DRAIN:
            return not any(
                self._drained(w, state.at[w], f.event, event) for f in state.flights if f.stream == w
            )
        done = self._events[w][: state.at[w]]
        committed = sum(e.kind is EventKind.GROUP_COMMIT and e.engine is event.engine for e in done)
        oldest_open = phases.complete_after_wait(phases.Groups(committed), event.number or 0)
        reads_only = event.kind is EventKind.GROUP_WAIT_READ and event.engine is Engine.BULK_STORE
        mine = (f for f in state.flights if f.stream == w and self.event_of(f).engine is event.engine)
        return not any(
            f.event in self._groups[w]
            and self._groups[w][f.event] < oldest_open
            and not (reads_only and f.read)
            for f in mine
        )

    def _drained(self, w: int, now: int, i: int, event: Event) -> bool:
        """Whether the tcgen05.wait ``event`` is for operation ``i``: its own kind, or a load with a store behind it."""
        engine = self._events[w][i].engine
        if engine is event.engine:
            return True
        behind = self._events[w][i + 1 : now] if engine is Engine.TCGEN05_LD else ()
        return any(e.engine is Engine.TCGEN05_ST and e.kind is EventKind.ASYNC for e in behind)

    # Engines

    def _can_end(self, state: State, flight: Flight) -> bool:
        event = self.event_of(flight)
        before = [
            self.event_of(f)
            for f in state.flights
            if f.stream == flight.stream
            and f.event < flight.event
            and self.event_of(f).kind is EventKind.ASYNC
        ]
        if event.kind in BEHIND:
            awaited = COMMITTED if event.engine is None else (event.engine,)
            return not any(e.engine in awaited for e in before)
        if event.engine is Engine.WGMMA:
            return not any(e.engine is Engine.WGMMA for e in before)
        return event.engine not in COMMITTED or not any(_first(e, event) for e in before)

    def _end(self, state: State, flight: Flight) -> State:
        event = self.event_of(flight)
        place = state.flights.index(flight)
        rest = (*state.flights[:place], *state.flights[place + 1 :])
        if event.engine is Engine.BULK_STORE and not flight.read:
            return state._replace(flights=(*rest, flight._replace(read=True)))
        landed = state._replace(flights=rest)
        if event.kind in BEHIND:
            return self._arrive(landed, flight.stream, event)
        return self._bytes(landed, flight.stream, event, phases.complete_tx) if event.barrier >= 0 else landed


def joined(events: list[Event]) -> list[int]:
    """How often a stream has arrived at the barrier of the cluster, by how many of its ``events`` it has done."""
    return list(accumulate((e.kind is EventKind.CLUSTER_ARRIVE for e in events), initial=0))


def _first(earlier: Event, later: Event) -> bool:
    """Whether the tensor core ends ``earlier`` before it touches what ``later`` does."""
    return any(
        x[1] == y[1] and x[2] < y[3] and y[2] < x[3] and in_order(earlier.engine, x, later.engine, y)
        for x in earlier.accesses
        for y in later.accesses
    )


def _group_numbers(events: list[Event]) -> dict[int, int]:
    """Event -> the number of its group, for asynchronous operations whose group is committed."""
    found: dict[int, int] = {}
    for engine in (Engine.WGMMA, Engine.CP_ASYNC, Engine.BULK_STORE):
        number, open_ops = 0, []
        for i, event in enumerate(events):
            if event.engine is engine and event.kind is EventKind.ASYNC:
                open_ops.append(i)
            elif event.engine is engine and event.kind is EventKind.GROUP_COMMIT:
                found.update(dict.fromkeys(open_ops, number))
                number, open_ops = number + 1, []
    return found


def _put(items: tuple, place: int, value) -> tuple:
    return (*items[:place], value, *items[place + 1 :])
