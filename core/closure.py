"""Proof for all outcomes of conditions at run time: the states between iterations form a finite graph.

All tasks go through some loops together (`core.joints`). Between two iterations every warp goes as far as it can; what may
follow depends on the state there, and a state that is the same as another but for a shift (`core.shift`), and for warps that
know more (`core.subsumption`), has no future that is wrong where the other has none. So start
at the state before the first iteration, go on from each state in every way (one more iteration, or past the loop, with every
outcome of the conditions that are asked for), and stop where a state is known. If that ends, every number of iterations of
each of these loops, with every pattern of outcomes, walks through the graph, each of whose edges has been executed, and was
part of a run to the end: no execution does anything that none of these has done.

A loop inside another may run another number of times in each iteration around it, though its symbol has one value: such runs
are no schedule's, and if one is wrong, nothing is concluded.

Other symbols have fixed values here. Their loops inside an iteration are cut as `core.periodic` cuts those of a whole run;
where the later cut is covered by the earlier one on all edges, the graph for the value one period on has the same edges,
between states that are covered by these.

Tiles of several kinds (work, empty, skipped) are outcomes like any other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import NamedTuple

from . import meetings
from .audience import Askers, askers_of
from .cuts import Cut, Uses, chain, cuts_in_order
from .forks import Unforeseen, dissolve, extended, foresee, fork, heir, prepared
from .frontier import Frontier, amounts
from .growth import Growth
from .joints import Joint, Joints, value_for
from .machine import Machine
from .pieces import PieceWalk, samples
from .run import Run
from .shift import same
from .subsumption import covers
from .sweep import Paused

EVENTS = 150_000  # executed in one closure
STATES = 400
WHOLE = ("", (), 0, 1)  # the key of a cut between iterations


class Unclosed(Exception):
    """Why no finite graph was found."""


class Turn(NamedTuple):
    """Iterations begun of a joint loop, and whether the last of them was meant to be the last."""

    iterations: int
    last: bool = False


@dataclass(slots=True)
class State:
    """An execution between two iterations: what each unroller knows, the ``turns`` of the joint loops that it is in (by
    number), and the ``choice`` of outcomes in force. ``outcomes`` and ``lengths`` (of loops, by symbol) are how it came
    here."""

    execution: Paused
    walks: list[PieceWalk]
    turns: dict[int, Turn] = field(default_factory=dict)
    choice: dict[str, bool] = field(default_factory=dict)
    outcomes: dict[str, tuple[bool, ...]] = field(default_factory=dict)
    lengths: dict[str, tuple[int, ...]] = field(default_factory=dict)
    cut: Cut | None = None
    at: tuple[int, ...] = ()  # how far each stream has come
    frontier: Frontier | None = None  # once another state might be the same

    @property
    def joint(self) -> Joint | None:
        """The loop between whose iterations it is: of those where streams pause, the one that ends first. None at the
        end."""
        return min(filter(None, (w.pauses_at for w in self.walks)), key=lambda j: j.number, default=None)

    @property
    def wrong(self) -> bool:
        """Whether something has gone wrong on the way."""
        e = self.execution
        return bool(e.stopped or e.incidents or e.races.found)


class Foreseen(NamedTuple):
    """An execution before its first event, what its streams may do, and who asks for what."""

    execution: Paused
    uses: Uses
    askers: Askers


def foreseen(
    machine: Machine, joints: Joints, growth: Growth, values: dict[str, int], deadline: float
) -> Foreseen:
    """What executions are prepared for that do nothing but what those at ``values`` do."""
    programs = list(samples(machine, joints, growth, values))
    execution = prepared(machine, programs, machine.judged, deadline)
    return Foreseen(execution, Uses(machine, programs[0]), askers_of(machine, programs))


@dataclass(slots=True)
class Closure:
    """Explores the states of ``machine``'s schedule at ``values`` of all symbols but those of the ``joints``. ``judge`` gets
    every complete run, with whether its numbers of iterations are meant, and says whether to go on. After `explore`:
    ``different``, the symbols whose loops have not matched, and how many ``states``."""

    machine: Machine
    growth: Growth
    joints: Joints
    values: dict[str, int]
    judge: Callable[[Run, bool], bool]
    deadline: float
    different: set[str] = field(default_factory=set)
    foreseen: Foreseen | None = None  # at other values
    idle: bool = False  # whether the run without iterations is known, from other values
    events: int = 0
    longest: dict[str, tuple[Joint, int]] = field(
        default_factory=dict
    )  # by symbol: iterations that lead to a state for the first time
    known: dict[tuple, list[State]] = field(default_factory=dict)
    made: list[Paused] = field(default_factory=list)  # executions of pieces

    @property
    def states(self) -> int:
        """How many states are not the same but for a shift."""
        return sum(map(len, self.known.values()))

    @property
    def reached(self) -> dict[str, int]:
        """The values of the joint loops' symbols up to which there were new states."""
        return {name: value_for(joint, self.growth, i) for name, (joint, i) in self.longest.items()}

    def explore(self) -> bool:
        """Whether all runs were fine; raises Unclosed where the graph did not end within the budget."""
        given = self.foreseen
        try:
            return self._explore()
        except Unforeseen:
            if given is not None:  # other values have not shown all that these may do
                self.foreseen = None
                self.known.clear()
                return self.explore()
            raise Unclosed("iterations do what the first of them did not foresee") from None

    def dissolve(self) -> None:
        """Frees all executions, once nobody asks the runs any more."""
        for execution in self.made:
            dissolve(execution)
        self.made.clear()

    def _explore(self) -> bool:
        left = deque(self._branches(self._start(), {}, PieceWalk.start))
        while left:
            state = left.popleft()
            known = state.joint is None or self._seen(state)
            if (known or state.wrong) and not self._finished(state, last=known):
                return False
            if not known:
                left.extend(self._next(state))
        races = self.foreseen.execution.races
        if races.apart & races.crossed:
            raise Unclosed("what was written as one resource is read as another with other numbers of uses")
        return True

    def _seen(self, state: State) -> bool:
        """Whether a state like this one is known; else it is from now on."""
        joint = state.joint
        turns, of = [], joint
        while of is not None:
            turn = state.turns[of.number]
            turns.append((of.number, of.phase(turn.iterations), turn.last))
            of = of.parent
        places = tuple(w.pauses_at.number if w.pauses_at else -1 for w in state.walks)
        left = tuple(mark.position - state.at[w] for w, mark in state.cut.marks.items())
        choice = tuple(sorted(item for item in state.choice.items() if item[0] not in joint.keys))
        key = tuple(turns), choice, places, left, amounts(state.execution)
        alike = self.known.setdefault(key, [])
        if any(self._covers(other, state) for other in alike):
            return True
        alike.append(state)
        i = state.turns[joint.number].iterations
        if joint.symbol and i >= self.longest.get(joint.symbol, (joint, 0))[1]:
            self.longest[joint.symbol] = joint, i
        if self.states > STATES:
            raise Unclosed(f"more than {STATES} states between iterations")
        return False

    def _covers(self, one: State, two: State) -> bool:
        """Whether nothing may follow ``two`` that may not follow ``one``."""
        for of in (one, two):
            of.frontier = of.frontier or self._frontier(of.execution, of.cut)
        return self._as_much(one.execution, one.frontier, two.frontier, two.execution)

    def _as_much(self, execution: Paused, one: Frontier, two: Frontier, other: Paused) -> bool:
        """Whether state ``two``, of ``other``, is state ``one``, of ``execution``, but for a shift and more knowledge."""
        parts, states = (self.machine, self.growth, self.foreseen.uses), (execution, one, two, other)
        if self.machine.lifetimes:  # rules about these compare other things, too
            return same(*parts, *states)
        return covers(*parts, self.foreseen.askers, *states)

    def _frontier(self, execution: Paused, at: Cut) -> Frontier:
        return Frontier(execution, at, self.foreseen.uses.waiters, self.foreseen.askers)

    # -- ways on --------------------------------------------------------------------------------------------------------
    def _next(self, state: State) -> Iterator[State]:
        """What may follow: past the loop, or one more iteration, the last one or not."""
        joint = state.joint
        i, last = state.turns[joint.number]
        if self._may_leave(joint, i, last) and not (self.idle and i == 0 and joint.parent is None):
            yield from self._past(state, joint)
        if last or (not joint.symbol and i == joint.least):
            return
        ways = (False, True) if joint.symbol and joint.tail else (False,)
        for final in ways:
            # nobody looks at an execution whose frontier is there; outcomes of conditions would be further ways
            only = state.frontier is not None and final == ways[-1] and not self.machine.usual
            yield from self._on(state, joint, final, only)

    def _may_leave(self, joint: Joint, i: int, last: bool) -> bool:
        return i >= joint.floor and (last or not (joint.symbol and joint.tail and i))

    def _past(self, state: State, joint: Joint, only: bool = False) -> Iterator[State]:
        """On behind the loop. ``only``: nothing else will go on from ``state``."""
        before = self._closed(state, joint)
        i = before.turns.pop(joint.number).iterations
        if joint.symbol:
            before.lengths[joint.symbol] = (*before.lengths.get(joint.symbol, ()), i)
        yield from self._branches(
            before, before.choice, lambda w: w.leave() if w.pauses_at is joint else None, only
        )

    def _on(self, state: State, joint: Joint, last: bool, only: bool = False) -> Iterator[State]:
        """One more iteration. ``only``: nothing else will go on from ``state``."""
        before, go = self._begun(state, joint, last)
        yield from self._branches(before, before.choice, go, only)

    def _begun(self, state: State, joint: Joint, last: bool) -> tuple[State, Callable[[PieceWalk], None]]:
        """``state`` with one more iteration begun, and what walks it."""
        before, i = self._closed(state, joint), state.turns[joint.number].iterations
        before.turns[joint.number] = Turn(i + 1, last)
        trips = i + 2 - last if joint.symbol else joint.least
        return before, lambda w: w.iterate(i, trips) if w.pauses_at is joint else None

    def _closed(self, state: State, joint: Joint) -> State:
        """``state`` with what was decided in the iteration that ended noted, and no longer in force."""
        outcomes = dict(state.outcomes)
        if state.turns[joint.number].iterations:
            for key in joint.keys:
                chosen = state.choice.get(key, self.machine.usual.get(key, True))
                outcomes[key] = (*outcomes.get(key, ()), chosen)
        choice = {k: v for k, v in state.choice.items() if k not in joint.keys}
        turns, lengths = dict(state.turns), dict(state.lengths)
        return State(state.execution, state.walks, turns, choice, outcomes, lengths)

    def _branches(
        self, before: State, fixed: dict[str, bool], go: Callable[[PieceWalk], None], only: bool = False
    ) -> Iterator[State]:
        """The states after one more piece, one for each outcome of the conditions that it asks for; ``only`` the first."""
        left = [fixed]
        while left:
            given = left.pop()
            after = self._piece(before, dict(given), go, only)
            asked = [*after.choice.items()][len(given) :]
            left += [given | dict(asked[:n]) | {key: not outcome} for n, (key, outcome) in enumerate(asked)]
            yield after
            if only:
                return

    def _finished(self, state: State, last: bool) -> bool:
        """Whether a run is fine that comes through ``state``, and ends as soon as it may. ``last``: nothing else goes on
        from ``state``."""
        while (joint := state.joint) is not None:
            i, final = state.turns[joint.number]
            if self._may_leave(joint, i, final):
                state = next(self._past(state, joint, last))
            else:
                state = next(self._on(state, joint, bool(joint.tail) and i + 1 >= joint.floor, last))
            last = True
        if state.execution.stopped == "time":
            raise Unclosed("the time budget ran out")
        state.execution.finish()
        return self.judge(*self._run(state))

    # -- pieces -------------------------------------------------------------------------------------------------------
    def _start(self) -> State:
        """Before the first event."""
        if self.foreseen is None:
            self.foreseen = foreseen(self.machine, self.joints, self.growth, self.values, self.deadline)
        execution, program = self.foreseen.execution, self.foreseen.execution.program
        tasks = {t.name: t for t in self.machine.document.tasks}
        walks = [
            PieceWalk(self.joints, self.growth, self.machine, tasks[s.task], s, self.values)
            for s in program.streams
        ]
        return State(execution, walks)

    def _piece(
        self, before: State, choice: dict[str, bool], go: Callable[[PieceWalk], None], last: bool = False
    ) -> State:
        """The state after one more piece, on which ``choice`` gets the outcomes that were asked for. ``last``: nothing else
        will go on from ``before``, whose execution need not be copied then."""
        program = before.execution.program if last else extended(before.execution.program)
        execution = heir(before.execution) if last else fork(before.execution, program)
        self.made.append(execution)
        walks = [w.on(s, choice) for w, s in zip(before.walks, program.streams, strict=True)]
        for w, (of, stream) in enumerate(zip(walks, program.streams, strict=True)):
            size = len(stream.events)
            go(of)
            if len(stream.events) > size:
                foresee(execution, stream.events[size:], w, self.foreseen.askers.ops[w])
                self.events += len(stream.events) - size
            self.different |= of.short
        if self.events > EVENTS:
            raise Unclosed(f"more than {EVENTS:,} events")
        if perf_counter() > self.deadline:
            raise Unclosed("the time budget ran out")
        execution.unfinished = frozenset(w for w, of in enumerate(walks) if not of.ended)
        if execution.cluster >= 0:
            meetings.exited(execution)
        after = State(execution, walks, dict(before.turns), choice, before.outcomes, before.lengths)
        self._run_cuts(after)
        limits = tuple(len(s.events) for s in program.streams)
        execution.run_to(limits)
        if execution.stopped == "time":
            raise Unclosed("the time budget ran out")
        joint = after.joint
        if joint is not None:
            after.turns.setdefault(joint.number, Turn(0))
            marks = {w: of.mark() for w, of in enumerate(walks) if not of.ended}
            after.cut, after.at, after.frontier = Cut(WHOLE, marks, limits), tuple(execution.at), None
        return after

    def _run_cuts(self, state: State) -> None:
        """Executes the piece up to the cuts of the loops inside, and holds these against each other."""
        marks = [
            {key: mark for key, mark in of.marks.items() if key[0] not in self.different}
            for of in state.walks
        ]
        names = {key[0] for of in marks for key in of}
        if not names:
            return
        order = chain(marks)
        if order is None:
            self.different |= names
            return
        execution, opened = state.execution, {}
        for c in cuts_in_order(order, marks, execution.program.streams):
            if c.key[0] in self.different:
                continue
            execution.run_to(c.limits)
            if execution.stopped:
                return
            before = opened.pop(c.key[:3], None)
            if before is not None and before.amounts != amounts(execution):
                self.different.add(c.key[0])
                continue
            now = self._frontier(execution, c)
            if c.key[3] == 0:
                opened[c.key[:3]] = now
            elif before is None or not self._as_much(execution, before, now, execution):
                self.different.add(c.key[0])

    # -- ends ---------------------------------------------------------------------------------------------------------
    def _run(self, state: State) -> tuple[Run, bool]:
        """A run that has ended, and whether its loops have run as often as they are meant to."""
        longest = {j.symbol: j for j in self.joints.loops if j.symbol}
        lengths = {name: state.lengths.get(name, (j.least,)) for name, j in longest.items()}
        meant = all(
            len(set(lengths[j.symbol])) == 1 and lengths[j.symbol][0] >= j.least for j in longest.values()
        )
        values = self.values | {
            name: value_for(longest[name], self.growth, max(of)) for name, of in lengths.items()
        }
        usual = self.machine.usual
        outcomes = {k: (state.choice.get(k, usual.get(k, True)),) for k in self.joints.constants}
        outcomes |= {k: state.outcomes.get(k, (True,)) for j in self.joints.loops for k in j.keys}
        execution = state.execution
        program = execution.program = replace(execution.program, values=tuple(sorted(values.items())))
        run = Run(
            self.machine.document, self.machine, program, execution, program.values, tuple(outcomes.items())
        )
        return run, meant
