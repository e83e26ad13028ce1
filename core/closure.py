"""Proof for all outcomes of conditions at run time: the states between iterations form a finite graph.

All tasks go through one loop together (`core.pieces`). Between two iterations every warp goes as far as it can; what may
follow depends on the state there, and states that are the same but for a shift (`core.shift`) have the same future. So start
at the state before the first iteration, give each iteration every outcome, and stop where a state is known. If that ends,
every number of iterations with every pattern of outcomes walks through the graph, each of whose edges has been executed, and
each of whose states has been tried as the last one: no execution does anything that none of these has done.

Other symbols have fixed values here. Their loops inside an iteration are cut as `core.periodic` cuts those of a whole run;
where all cuts of all edges match, the graph for the value one period on has the same edges between the same states.

Tiles of several kinds (work, empty, skipped) are alternatives of an iteration like any other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from time import perf_counter

from .cuts import Cut, Uses, chain, cuts_in_order
from .forks import Unforeseen, extended, foresee, fork, heir, prepared
from .frontier import Frontier
from .growth import Growth
from .machine import Machine
from .pieces import Alternative, Joint, PieceWalk, samples, value_for
from .run import Run
from .shift import same
from .sweep import Paused

EVENTS = 150_000  # executed in one closure
STATES = 400
ANY = 3  # iterations after which a loop with a large least number of them may end
WHOLE = ("", (), 0, 1)  # the key of a cut between iterations


class Unclosed(Exception):
    """Why no finite graph was found."""


@dataclass(slots=True)
class State:
    """An execution between two iterations: what each unroller knows, and the alternatives that led here."""

    execution: Paused
    walks: list[PieceWalk]
    path: tuple[Alternative, ...]  # what was decided before the loop, then the iterations
    frontier: Frontier | None = None

    @property
    def iterations(self) -> int:
        """Iterations done."""
        return len(self.path) - 1


@dataclass(slots=True)
class Closure:
    """Explores the states of ``machine``'s schedule at ``values`` of all symbols but that of the ``joint`` loop. ``judge``
    gets every complete run, with whether its number of iterations is meant, and says whether to go on. After `explore`:
    ``different``, the symbols whose loops have not matched, and how many ``states``."""

    machine: Machine
    growth: Growth
    joint: Joint
    values: dict[str, int]
    judge: Callable[[Run, bool], bool]
    deadline: float
    different: set[str] = field(default_factory=set)
    foreseen: Paused | None = None  # an execution before its first event, from a closure at other values,
    uses: Uses | None = None  # and what its streams may do
    events: int = 0
    longest: int = 0  # iterations that lead to a state for the first time
    known: dict[tuple, list[State]] = field(default_factory=dict)

    @property
    def states(self) -> int:
        """How many states are not the same but for a shift."""
        return sum(map(len, self.known.values()))

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

    def _explore(self) -> bool:
        joint, start = self.joint, self._start()
        left: deque[State] = deque()
        for beginning in joint.beginnings:
            state = self._piece(start, beginning, lambda walk, b=beginning: walk.before(b))
            if state is None:
                return False
            left.append(state)
        while left:
            state = left.popleft()
            i = state.iterations
            if not self._ends(state):
                return False
            if not joint.loops or (not joint.symbol and i == joint.least) or self._seen(state):
                continue
            for place, alternative in enumerate(joint.alternatives, 1):
                after = self._piece(
                    state,
                    alternative,
                    lambda walk, a=alternative, i=i: walk.iteration(i, a, self._is_last(i + 1)),
                    last=place == len(joint.alternatives),
                )
                if after is None:
                    return False
                left.append(after)
        return True

    def _is_last(self, iterations: int) -> bool:
        return not self.joint.symbol and iterations == self.joint.least

    def _seen(self, state: State) -> bool:
        """Whether a state like this one is known; else it is from now on."""
        first, shapes = state.path[0], state.frontier
        left = tuple(shapes.cut.marks[w].position - shapes.at[w] for w in shapes.cut.marks)
        key = tuple(first.outcomes.items()), self.joint.phase(state.iterations), left
        alike = self.known.setdefault(key, [])
        for other in alike if self._may_end(state.iterations) else ():  # else nobody has judged what led here
            if self._same(other, state):
                return True
        alike.append(state)
        self.longest = max(self.longest, state.iterations)
        if self.states > STATES:
            raise Unclosed(f"more than {STATES} states between iterations")
        return False

    def _same(self, one: State, two: State) -> bool:
        first, second = one.execution, two.execution
        return same(self.machine, self.growth, self.uses, first, one.frontier, two.frontier, second)

    # -- pieces -------------------------------------------------------------------------------------------------------
    def _start(self) -> State:
        """Before the first event."""
        execution = self.foreseen
        if execution is None:
            programs = samples(self.machine, self.joint, self.growth, self.values, self.joint.head + 2)
            execution = prepared(self.machine, programs, self.machine.judged, self.deadline)
            self.foreseen = execution
        program = execution.program
        self.uses = self.uses or Uses(self.machine, program)
        tasks = {t.name: t for t in self.machine.document.tasks}
        walks = [
            PieceWalk(self.joint, self.growth, self.machine, tasks[s.task], s, self.values)
            for s in program.streams
        ]
        return State(execution, walks, ())

    def _piece(
        self,
        state: State,
        chosen: Alternative,
        walk: Callable[[PieceWalk], None],
        end: bool = False,
        last: bool = False,
    ) -> State | None:
        """The state after one more piece; None after a run that went wrong in it. ``end``: no other piece follows.
        ``last``: nothing else will go on from ``state``, whose execution need not be copied then."""
        program = state.execution.program if last else extended(state.execution.program)
        execution = heir(state.execution) if last else fork(state.execution, program)
        walks = [w.on(s) for w, s in zip(state.walks, program.streams, strict=True)]
        for w, (of, stream) in enumerate(zip(walks, program.streams, strict=True)):
            size = len(stream.events)
            walk(of)
            foresee(execution, stream.events[size:], w)
            self.events += len(stream.events) - size
            self.different |= of.short
        if self.events > EVENTS:
            raise Unclosed(f"more than {EVENTS:,} events")
        if perf_counter() > self.deadline:
            raise Unclosed("the time budget ran out")
        after = State(execution, walks, (*state.path, chosen))
        self._run_cuts(after)
        if not end:
            limits = tuple(len(s.events) for s in program.streams)
            execution.run_to(limits)
            marks = {w: of.mark() for w, of in enumerate(walks) if of.own is not None}
            after.frontier = Frontier(execution, Cut(WHOLE, marks, limits), self.uses.waiters)
        if execution.stopped == "time":
            raise Unclosed("the time budget ran out")
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
            now = Frontier(execution, c, self.uses.waiters)
            if c.key[3] == 0:
                opened[c.key[:3]] = now
                continue
            before = opened.pop(c.key[:3], None)
            if before is None or not same(self.machine, self.growth, self.uses, execution, before, now):
                self.different.add(c.key[0])

    # -- ends ---------------------------------------------------------------------------------------------------------
    def _ends(self, state: State) -> bool:
        """Whether the runs are fine that end here; with last iterations of their own, those of one more."""
        for end, iterations in self._last(state):
            if not self._may_end(iterations):
                continue
            done = self._piece(end, Alternative({}), PieceWalk.after, end=True)
            done.execution.finish()
            if not self.judge(self._run(done, iterations), iterations >= self.joint.least):
                return False
        return True

    def _may_end(self, iterations: int) -> bool:
        """Whether the loop is tried with so many iterations: all that are meant, and fewer where these are many."""
        joint = self.joint
        return iterations >= (min(joint.least, ANY) if joint.symbol else joint.least)

    def _last(self, state: State) -> Iterator[tuple[State, int]]:
        """The states from which the rest behind the loop follows, and iterations up to there."""
        joint, i = self.joint, state.iterations
        if not joint.tail or not joint.symbol or i == 0:
            yield state, i
        if joint.tail and joint.symbol:
            for a in joint.alternatives:
                after = self._piece(state, a, lambda walk, a=a: walk.iteration(i, a, True))
                yield after, i + 1

    def _run(self, state: State, iterations: int) -> Run:
        values = self.values | value_for(self.joint, self.growth, iterations)
        path = state.path[1 : iterations + 1]
        patterns = {k: (v,) for k, v in state.path[0].outcomes.items()}
        patterns |= {key: tuple(a.outcomes[key] for a in path) or (True,) for key in self.joint.keys}
        execution = state.execution
        program = execution.program = replace(execution.program, values=tuple(sorted(values.items())))
        return Run(
            self.machine.document, self.machine, program, execution, program.values, tuple(patterns.items())
        )
