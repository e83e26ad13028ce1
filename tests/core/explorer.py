"""Every interleaving of a small program, by brute force: true parity bits, asynchronous completions as steps of their own.

Independent of the vector clocks on purpose: it shares only the program and the barrier table with the verifier. It knows no
happens-before; what it calls wrong it has reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from persistent import Alone

from warpdraft.core import phases
from warpdraft.core.document import Engine
from warpdraft.core.program import Access, Event, EventKind, Program

GROUPED = (Engine.WGMMA, Engine.CP_ASYNC, Engine.BULK_STORE)
MMA, CP, SHIFT = Engine.TCGEN05, Engine.TCGEN05_CP, Engine.TCGEN05_SHIFT
TENSOR = (MMA, CP, SHIFT)  # what a tcgen05.commit waits for
PIPELINED = ((CP, MMA), (SHIFT, MMA), (MMA, SHIFT), (SHIFT, CP))  # PTX ISA, "Pipelined tcgen05 instructions"
FIRST = itemgetter(0)
SELDOM = 50  # states between two looks at the outcome
READ_DONE = 1  # of a bulk store: its source is free
BEHIND = (EventKind.COMMIT_ARRIVE, EventKind.HELD_ARRIVE)
ARRIVALS = (EventKind.ARRIVE, EventKind.ARRIVE_EXPECT)
JOINS = (EventKind.SYNC, EventKind.BAR_ARRIVE, EventKind.CLUSTER_ARRIVE)
TELLING = (*ARRIVALS, *JOINS, EventKind.COMMIT_ARRIVE)
GROUP_WAITS = (EventKind.GROUP_WAIT, EventKind.GROUP_WAIT_READ, EventKind.DRAIN)


class State(NamedTuple):
    """Where every warp is, which ops are in flight, and every barrier."""

    at: tuple[int, ...]
    inside: tuple[int, ...]  # generation of the named barrier that a warp waits in, -1: none
    flying: tuple[tuple[int, int, int], ...]  # stream, event, READ_DONE or 0; sorted
    barriers: tuple


@dataclass
class Outcome:
    """What some interleaving does. ``landed`` and ``passed`` hold all generations seen for one event; more than one means
    that the schedule decides."""

    deadlock: bool = False
    races: set = field(default_factory=set)
    over_arrival: bool = False
    alias: bool = False  # a wait passed at another generation than it means
    split: bool = False  # lanes of one arrive landed in two generations: which ones, nobody says
    landed: dict = field(default_factory=dict)
    passed: dict = field(default_factory=dict)
    attempted: dict = field(default_factory=dict)
    final: set = field(default_factory=set)
    states: int = 0
    capped: bool = False

    @property
    def undetermined(self) -> bool:
        """Whether interleavings differ in more than their order."""
        several = any(len(v) > 1 for v in (*self.landed.values(), *self.passed.values()))
        late = any(max(c) > min(self.passed.get(key, {max(c)})) for key, c in self.attempted.items())
        return several or late or self.alias or self.split or self.over_arrival or len(self.final) > 1

    @property
    def wrong(self) -> bool:
        """Whether some interleaving hangs, races, or does something else than another one."""
        return self.deadlock or bool(self.races) or self.undetermined


class Explorer:
    """Depth-first over all states. A step that nothing else depends on is taken before all others (`persistent`)."""

    def __init__(self, program: Program, cap: int = 60_000, every: bool = False, first: bool = False) -> None:
        """``every``: also the orders of steps that nothing else depends on. ``first``: until something is wrong."""
        self.program, self.cap, self.every, self.first = program, cap, every, first
        self.events = [s.events for s in program.streams]
        self.groups = [_groups(events) for events in self.events]
        self.arrived = [
            [0, *accumulate(e.kind is EventKind.CLUSTER_ARRIVE for e in events)] for events in self.events
        ]
        self.outcome, self.raced = Outcome(), {}
        self.copying = [any(e.kind in BEHIND and e.engine is Engine.CP_ASYNC for e in s) for s in self.events]
        self.alone = Alone(self)

    def run(self) -> Outcome:
        """Visits every reachable state, up to the cap."""
        start = State(
            (0,) * len(self.events),
            (-1,) * len(self.events),
            (),
            tuple(b.start for b in self.program.barriers),
        )
        seen, stack = {start}, [start]
        while stack:
            state = stack.pop()
            self.outcome.states += 1
            if self.outcome.states > self.cap:
                self.outcome.capped = True
                return self.outcome
            if self.first and self.outcome.states % SELDOM == 0 and self.outcome.wrong:
                return self.outcome
            self._look(state)
            successors = [s for s in self._steps(state)]
            if not successors:
                self._end(state)
            for after in successors:
                if after is not None and after not in seen:
                    seen.add(after)
                    stack.append(after)
        return self.outcome

    def _end(self, state: State) -> None:
        if any(i < len(e) for i, e in zip(state.at, self.events, strict=True)):
            self.outcome.deadlock = True
        self.outcome.final.add(tuple(b.completed for b in state.barriers))

    # -- what a state shows ---------------------------------------------------------------------------------------------
    def _look(self, state: State) -> None:
        active = [*state.flying]
        for w, i in enumerate(state.at):
            if i < len(self.events[w]):
                event = self.events[w][i]
                if event.kind is EventKind.WAIT:
                    self._attempt(state, w, i, event)
                if event.accesses:
                    active.append((w, i, 0))
        for n, x in enumerate(active):
            for y in active[n + 1 :]:
                if self._race(x, y):
                    self.outcome.races.add(frozenset((x[:2], y[:2])))

    def _race(self, x: tuple[int, int, int], y: tuple[int, int, int]) -> bool:
        """Whether two events that are under way at once, or about to be, race."""
        found = self.raced.get((x, y))
        if found is None:
            found = self.raced[x, y] = any(
                self._conflict((*x[:2], a), (*y[:2], b)) for a in self._active(*x) for b in self._active(*y)
            )
        return found

    def _active(self, w: int, i: int, stage: int) -> list[Access]:
        found, events = (
            [a for a in self.events[w][i].accesses if a.write or stage != READ_DONE],
            self.events[w],
        )
        if events[i].kind is not EventKind.WORK or stage != READ_DONE:
            return found
        behind = [a for e in events[i + 1 :] for a in e.accesses if a.write]  # it stands for what it covers
        return [a for a in found if not any(_covers(b, a) for b in behind)]

    def _conflict(self, x, y) -> bool:
        (w, i, a), (u, j, b) = x, y
        if (w, i) == (u, j) or not (a.write or b.write) or a.space != b.space:
            return False
        if a.low >= b.high or b.low >= a.high:
            return False
        if w != u:
            return True
        if EventKind.WORK in (self.events[w][i].kind, self.events[w][j].kind) and self.copying[w]:
            first = self.events[w][min(i, j)]
            return first.kind is not EventKind.WORK and not self._ordered(
                w, *sorted(((i, a), (j, b)), key=FIRST)
            )
        return not self._ordered(w, *sorted(((i, a), (j, b)), key=FIRST))

    def _ordered(self, w: int, x, y) -> bool:
        """Whether an engine keeps two accesses of one warp in order, perhaps through others of the same bytes in a row."""
        (i, a), (j, b) = x, y
        events, low, high = self.events[w], max(a.low, b.low), min(a.high, b.high)
        after = [(events[i], a)]  # accesses that start once ``a`` has ended
        for e in events[i + 1 : j]:
            found = [c for c in e.accesses if c.space == a.space and c.low <= low and high <= c.high]
            after += [(e, c) for c in found if any(_in_order(f, d, e, c) for f, d in after)]
        return any(_in_order(f, d, events[j], b) for f, d in after)

    def _attempt(self, state: State, w: int, i: int, event: Event) -> None:
        self.outcome.attempted.setdefault((w, i), set()).add(state.barriers[event.barrier].completed)

    # -- steps ----------------------------------------------------------------------------------------------------------
    def _steps(self, state: State):
        if not self.every:
            yield from self.alone.successors(state)
            return
        for w, i in enumerate(state.at):
            if i < len(self.events[w]):
                yield from self._warp(state, w, i, self.events[w][i])
        for place, (w, i, stage) in enumerate(state.flying):
            yield from self._complete(state, place, w, i, stage)

    def tells(self, w: int, event: Event) -> bool:
        """Whether the threads of a warp that also copies tell what they have stored: the system's arrivals do not."""
        return self.copying[w] and event.kind in TELLING and event.engine is not Engine.CP_ASYNC

    def _warp(self, state: State, w: int, i: int, event: Event):
        kind = event.kind
        if self.tells(w, event):
            untold = (f for f in state.flying if f[0] != w or self.events[w][f[1]].kind is not EventKind.WORK)
            state = state._replace(flying=tuple(untold))
        if kind is EventKind.WAIT:
            barrier = state.barriers[event.barrier]
            parity = event.parity if event.number is None else phases.parity_of(event.number)
            if phases.passes(barrier, parity):
                self.outcome.passed.setdefault((w, i), set()).add(barrier.completed)
                if event.number is not None and barrier.completed != event.number + 1:
                    self.outcome.alias = True
                yield _advance(state, w)
        elif kind is EventKind.TRY:
            barrier = state.barriers[event.barrier]
            if barrier.completed <= event.number and phases.passes(barrier, phases.parity_of(event.number)):
                # it says yes for an older phase, and the wait behind it relies on that
                self.outcome.alias = True
            yield _advance(state, w)
        elif kind in GROUP_WAITS:
            if self._covered(state, w, i, event):
                yield _advance(state, w)
        elif kind is EventKind.HELD_ARRIVE:
            self.outcome.landed.setdefault((w, i), set()).add(state.barriers[event.barrier].completed)
            held = phases.hold(state.barriers[event.barrier], event.number)
            after = _advance(state, w)._replace(barriers=_put(state.barriers, event.barrier, held))
            yield after._replace(flying=tuple(sorted((*state.flying, (w, i, 0)))))
        elif kind is EventKind.ASYNC or kind is EventKind.COMMIT_ARRIVE:
            yield _advance(state, w)._replace(flying=tuple(sorted((*state.flying, (w, i, 0)))))
        elif kind in ARRIVALS:
            yield from self._arrive(_advance(state, w), w, i, event, event.number, event.bytes)
        elif kind is EventKind.EXPECT:
            yield from self._change(_advance(state, w), w, i, event, phases.expect_tx)
        elif kind is EventKind.SYNC and state.inside[w] >= 0:
            if phases.released(state.barriers[event.barrier], state.inside[w]):
                left = _put(state.inside, w, -1)
                yield _advance(state, w)._replace(inside=left)
        elif kind in (EventKind.SYNC, EventKind.BAR_ARRIVE):
            yield from self._join(state, w, i, event)
        elif kind is EventKind.LIFETIME and event.barrier >= 0 and event.number:
            count = self.program.barriers[event.barrier].count  # parity as after init: that of phase -1
            seen = state.barriers[event.barrier].completed
            fresh = phases.Phase(count, seen + seen % 2, count, 0)
            yield _advance(state, w)._replace(barriers=_put(state.barriers, event.barrier, fresh))
        elif kind is EventKind.REGISTERS:
            pool = state.barriers[event.barrier]
            if event.bytes <= 0 or event.bytes <= pool.spare:
                left = phases.Pool(pool.spare - event.bytes)
                yield _advance(state, w)._replace(barriers=_put(state.barriers, event.barrier, left))
        elif kind is EventKind.CLUSTER_WAIT:
            if self._cluster_is_in(state.at, event):
                yield _advance(state, w)
        elif kind is EventKind.WORK and self.copying[w] and any(a.write for a in event.accesses):
            yield _advance(state, w)._replace(flying=tuple(sorted((*state.flying, (w, i, READ_DONE)))))
        else:
            yield _advance(state, w)

    def _cluster_is_in(self, at: Sequence[int], event: Event) -> bool:
        """Whether every warp has arrived at the cluster's barrier often enough, or has exited."""
        for i, events, arrived in zip(at, self.events, self.arrived, strict=True):
            if i < len(events) and arrived[i] <= event.number:
                return False
        return True

    def _join(self, state: State, w: int, i: int, event: Event):
        b = event.barrier
        generation = state.barriers[b].completed
        self.outcome.landed.setdefault((w, i), set()).add(generation)
        after = phases.join(state.barriers[b], 1, event.number or self.program.barriers[b].count)
        state = state._replace(barriers=_put(state.barriers, b, after))
        if event.kind is EventKind.SYNC:
            yield state._replace(inside=_put(state.inside, w, generation))
        else:
            yield _advance(state, w)

    def _arrive(self, state: State, w: int, i: int, event: Event, arrivals: int, nbytes: int):
        """Arrivals one after the other, as lanes make them; on the barriers of all CTAs that it is for."""
        for b in event.barriers:
            barrier = state.barriers[b]
            first = barrier.completed
            for n in range(arrivals):
                self.outcome.split = self.outcome.split or barrier.completed != first
                self.outcome.landed.setdefault((w, i, n, b), set()).add(barrier.completed)
                try:
                    barrier = phases.arrive(barrier, 1, nbytes if n == 0 else 0)
                except phases.OverArrival:
                    self.outcome.over_arrival = True
                    yield None
                    return
            state = state._replace(barriers=_put(state.barriers, b, barrier))
        yield state

    def _change(self, state: State, w: int, i: int, event: Event, change):
        b = event.barrier
        self.outcome.landed.setdefault((w, i), set()).add(state.barriers[b].completed)
        yield state._replace(barriers=_put(state.barriers, b, change(state.barriers[b], event.bytes)))

    def _complete(self, state: State, place: int, w: int, i: int, stage: int):
        event = self.events[w][i]
        if not self._may_complete(state, w, i, event):
            return
        rest = state.flying[:place] + state.flying[place + 1 :]
        if event.engine is Engine.BULK_STORE and stage == 0:
            yield state._replace(flying=tuple(sorted((*rest, (w, i, READ_DONE)))))
            return
        landed = state._replace(flying=rest)
        if event.kind in BEHIND:
            yield from self._arrive(landed, w, i, event, event.number, 0)
        elif event.barrier >= 0:
            yield from self._change(landed, w, i, event, phases.complete_tx)
        else:
            yield landed

    def _may_complete(self, state: State, w: int, i: int, event: Event) -> bool:
        if event.kind is EventKind.WORK:
            return False  # until its warp tells of it
        flying = (self.events[u][j] for u, j, _ in state.flying if u == w and j < i)
        before = [e for e in flying if e.kind is EventKind.ASYNC]
        if event.kind in BEHIND:  # after the MMAs, or the copies, before it
            return not any(e.engine in (TENSOR if event.engine is None else (event.engine,)) for e in before)
        if event.engine is Engine.WGMMA:
            return not any(e.engine is Engine.WGMMA for e in before)
        return not any(
            _meet(a, b) and _in_order(e, a, event, b)
            for e in before
            for a in e.accesses
            for b in event.accesses
        )

    def _covered(self, state: State, w: int, i: int, event: Event) -> bool:
        if event.kind is EventKind.DRAIN:
            return not any(u == w and self._drained(w, j, i, event) for u, j, _ in state.flying)
        committed = sum(
            e.kind is EventKind.GROUP_COMMIT and e.engine is event.engine for e in self.events[w][:i]
        )
        oldest_open = max(0, committed - (event.number or 0))
        reads_only = event.kind is EventKind.GROUP_WAIT_READ and event.engine is Engine.BULK_STORE
        for u, j, stage in state.flying:
            e = self.events[u][j]
            if u != w or e.engine is not event.engine or e.kind is not EventKind.ASYNC:
                continue
            if self.groups[w].get(j, 1 << 30) < oldest_open and not (reads_only and stage == READ_DONE):
                return False
        return True

    def _drained(self, w: int, j: int, i: int, event: Event) -> bool:
        """Whether the tcgen05.wait ``i`` waits for op ``j``: of its kind, or a load that some store between came after."""
        e = self.events[w][j]
        if e.engine is Engine.TCGEN05_LD and event.engine is Engine.TCGEN05_ST:
            between = self.events[w][j:i]
            return any(x.engine is Engine.TCGEN05_ST and x.kind is EventKind.ASYNC for x in between)
        return e.engine is event.engine


def _covers(a, b) -> bool:
    return a.space == b.space and a.low <= b.low and b.high <= a.high


def _meet(a, b) -> bool:
    return a.space == b.space and a.low < b.high and b.low < a.high


def _in_order(e: Event, a, f: Event, b) -> bool:
    """Whether access ``a`` of ``e`` ends before access ``b`` of the later ``f`` starts, by the engines themselves."""
    if e.engine is f.engine is Engine.WGMMA:
        return True
    if e.engine not in TENSOR or f.engine not in TENSOR:
        return False
    if (e.engine, f.engine) in PIPELINED:
        return True
    if not a.write:
        return b.write  # operands are read before anything later overwrites them
    return e.engine is f.engine is MMA and b.write and (a.low, a.high, a.space) == (b.low, b.high, b.space)


def _groups(events: list[Event]) -> dict[int, int]:
    """Event -> the number of its group, for ops whose group is committed."""
    found: dict[int, int] = {}
    for engine in GROUPED:
        number, pending = 0, []
        for i, event in enumerate(events):
            if event.engine is not engine:
                continue
            if event.kind is EventKind.ASYNC:
                pending.append(i)
            elif event.kind is EventKind.GROUP_COMMIT:
                found.update((j, number) for j in pending)
                number, pending = number + 1, []
    return found


def _advance(state: State, w: int) -> State:
    return state._replace(at=_put(state.at, w, state.at[w] + 1))


def _put(items: tuple, place: int, value) -> tuple:
    return (*items[:place], value, *items[place + 1 :])


def explore(program: Program, cap: int = 60_000, every: bool = False, first: bool = False) -> Outcome:
    """All interleavings of ``program``; ``every``: also those that nothing can tell from another one; ``first``: as many as
    it takes to see that something is wrong."""
    return Explorer(program, cap, every, first).run()
