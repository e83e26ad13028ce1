"""Proof for all trip counts: a few are run, and every other one is shown to do what one of these does.

The argument. An execution of the verifier is a deterministic function of its state and of the events to come, and any order
in which the warps take turns is a legal one. So it may stop at *cuts*: places, one in each warp that runs a growing loop,
up to which every warp goes as far as it can (`core.cuts`). Let X be a symbol, and P the least step by which it must grow
for the guards, bounds and parities of its loops to look the same. Two cuts enclose the last P-step of each instance of a
loop over X: C1 before it, C2 after it, both behind the iterations that guards single out at the start, and before those at
the end.

1. If the states at C1 and C2 are the same but for a shift (`core.shift`), everything after C2 in the run with P more does
   what is done after C1 in this run: the unrollers are in the same state, every check commutes with the shift, and a
   finding names ops and not numbers. So at the next cut behind this instance, and at its end, the two runs are again the
   same but for a shift.
2. If this holds for every instance of a loop over X in a run, then by induction along its cuts the run with X + P ends in
   the same state but for a shift, with the same findings, and (as its own cuts then match too) so does the run with X + 2
   P, ...
3. Where it holds for P consecutive values of X, with whatever values of the other symbols, those and the smaller values of
   X decide all values of X.
4. With several symbols, 3 is applied to the last with the others held, and to each one before for all values of those
   behind it: a match at (x, y) is carried to (x, y + P) by the very shift that step 1 gives for y, since the composition of
   two shifts is one.

Where bounds grow so only from some value of X on (`min`, `max`: `core.growth`), smaller ones are run, and 3 asks for P
values from there on. Small values are simply run: each from its least, or from smaller ones where that is large
(`core.long_loops`); a run that fails at values that are not meant breaks the chain of 3, and says nothing else. Where
conditions at run time decide about events, `core.closure` takes the place of a run: it executes every outcome.

Nothing is concluded where a bound has no constant growth, where loops over one symbol are nested or one loop runs over two
symbols, where an old peek lets later waits pass, where tasks do not run their loops in one common order, or where no match
shows up within `TOP` periods. A run with an error ends the attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from itertools import count
from math import lcm
from time import perf_counter

from .clocks import Execution
from .closure import Closure, Foreseen, Unclosed, foreseen
from .clusters import plain_symbol, values_of_cta
from .conditions import condition_keys
from .cuts import Cutting, Uses, cut
from .forks import dissolve
from .frontier import Frontier, amounts
from .growth import Growth, NoGrowth, growth_of
from .joints import Joints, NoPieces, ample, joint_loops
from .long_loops import Meant, first_value
from .machine import Machine
from .program import Program
from .run import Run
from .shift import same
from .sweep import REACH, Paused, sweep
from .tree import walk
from .unroll import trip_count
from .valuations import MAX_PERIOD, Values, cost, loops_of

TOP = 4  # periods of the pipelines after which a symbol's fixed point is given up,
SPARE = 12  # and so many values more
EVENTS = 60_000  # of one proof, times the square of the CTAs that are looked at: more warps, and later fixed points,
CLOSURES = 300_000  # or of one with conditions
COMPUTED = 4  # times as many where stages or parities are computed: each symbol then has their period, several times six


class Unproved(Exception):
    """Why the listed trip counts have to do."""


class NotJoint(Unproved):
    """Why the states between iterations do not help."""


class Rejected(Exception):
    """A value that is not meant leads nowhere."""


@dataclass(slots=True)
class Prover:
    """Runs what a proof needs. ``take`` gets each run that stands for meant values of the symbols, with one choice of these,
    and says whether it shows no error; ``accept`` says so of a run that stands for none. ``exact``: symbols with one value
    (`core.long_loops.generalised`)."""

    machine: Machine
    take: Callable[[Run, Values], bool]
    accept: Callable[[Run], bool]
    deadline: float
    exact: dict[str, Meant] = field(default_factory=dict)
    growth: Growth = field(init=False)
    meant: dict[str, Meant] = field(init=False)
    uses: Uses | None = None
    hopeless: set[str] = field(default_factory=set)  # symbols whose present value is known not to match
    events: int = 0
    seen: dict[tuple, frozenset[str] | None] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    joints: Joints | None = None  # the loops whose iterations decide about conditions
    foreseen: Foreseen | None = None
    idle: bool = (
        False  # whether the run without iterations of the joint loops is known, the same at all values
    )
    states: int = 0

    def prove(self) -> str:
        """Where the fixed point was reached, in words. Raises Unproved where it was not, or after a run with an error."""
        keys = condition_keys(self.machine.document)
        try:
            self.growth = growth_of(self.machine)
            self.joints = joint_loops(self.machine, self.growth)
        except NoGrowth as reason:
            raise Unproved(str(reason)) from None
        except NoPieces as reason:
            if keys:
                raise Unproved(str(reason)) from None
        try:
            return self._prove(keys)
        except NotJoint:
            if keys:
                raise
        finally:
            if self.foreseen is not None:
                dissolve(self.foreseen.execution)
        self.joints, self.growth = None, growth_of(self.machine)
        self.hopeless, self.seen, self.reached, self.events = set(), {}, {}, 0
        return self._prove(keys)

    def _prove(self, keys: Collection[str]) -> str:
        self.meant = {n: self.exact.get(n, Meant(low)) for n, low in self.growth.least.items()}
        loops = [x for x in loops_of(self.machine.document) if x.id in self.growth.loops]
        joined = self.joints.symbols if self.joints is not None else set()
        for name, meant in self.meant.items():
            if name in joined:
                continue
            own = [x for x in loops if self.growth.loops[x.id].symbol == plain_symbol(name)]
            step = self.growth.steps[name]
            if not self.growth.settled[name]:
                self.growth.least[name] = first_value(own, plain_symbol(name), meant, step)
        self._cover({}, [n for n in self.growth.least if n not in joined])
        places = [
            f"{value:,} of {name}" if name in self.exact else f"{name} = {value}"
            for name, value in self.reached.items()
        ]
        steps = {self.growth.steps[name] for name in self.reached}
        period = f", period {max(steps)}" if steps else ""
        words = [f"fixed point at {', '.join(places)}{period}"] if places else []
        if keys:
            words.append(f"every outcome of {', '.join(keys)} in each of {self.states} states")
        return "; ".join(words)

    def _cover(self, values: Values, names: list[str]) -> frozenset[str]:
        """All values of ``names``; gives the symbols that every run matched."""
        if not names:
            return self._visit(values)
        name, *rest = names
        least, step, meant = self.growth.least[name], self.growth.steps[name], self.meant[name]
        stages = lcm(*(max(1, r.pipeline.stages) for r in self.machine.resources.values() if r.pipeline))
        settled = self.growth.settled[name]
        top = max(least, settled) + TOP * max(min(stages, MAX_PERIOD), min(step, 2 * MAX_PERIOD)) + SPARE
        stride = step if meant.exactly else 1
        found: list[tuple[int, frozenset[str]]] = []
        streak = 0
        alone = not values and not rest and self.joints is None
        few = alone and cost(self.machine.document, {name: least + REACH}) < EVENTS
        swept = self._sweep(name) if few and step == 1 and settled <= least else {}
        for value in count(least, stride):
            if value > top:
                self._give_up(values, f"no fixed point up to {name} = {top}")
            self.hopeless.discard(name)
            try:
                matched = swept[value] if value in swept else self._cover({**values, name: value}, rest)
            except Rejected:
                if value in meant:
                    raise
                streak = 0
                continue
            self.hopeless |= set(values) - matched  # these need a match in every run
            found.append((value, matched))
            streak = streak + stride if name in matched and value >= settled else 0
            last = meant.exactly and value >= meant.least
            if streak >= step or last:
                if streak:
                    self.reached[name] = max(value, self.reached.get(name, value))
                used = [m for v, m in found if v in meant or (v > value - step and not last)]
                return frozenset.intersection(*used)
        raise AssertionError

    def _give_up(self, values: Values, reason: str) -> None:
        raise Unproved(reason) if self._all_meant(values) else Rejected

    def _all_meant(self, values: Values) -> bool:
        return all(value in self.meant[name] for name, value in values.items())

    def _sweep(self, name: str) -> dict[int, frozenset[str]]:
        """What the values of the only symbol match, as far as one execution can tell that pauses at the end of each."""
        found: dict[int, frozenset[str]] = {}
        runs = sweep(self.machine, self.growth, name, self.deadline, self._uses_of, self._matches)
        for value, run, same_again in runs:
            matched = frozenset([name]) if same_again else frozenset()
            if not self._judge(run, {name: value}, matched):
                break
            found[value] = matched
        return found

    def _judge(self, run: Run, values: Values, matched: frozenset[str]) -> bool:
        """Whether nothing is wrong in ``run``, or in the runs that it stands for. Raises Unproved if there is in one that is
        meant."""
        if all(name in matched for name, value in values.items() if value not in self.meant[name]):
            shown = {name: self.meant[name].like(v, self.growth.steps[name]) for name, v in values.items()}
            if not self.take(run, {n: v for n, v in shown.items() if n not in self.exact}):
                raise Unproved("a run with an error")
            return True
        return self.accept(run)

    def _visit(self, values: Values) -> frozenset[str]:
        if self.joints is not None:
            return self._close(values)
        key = self._signature(values)
        if key not in self.seen:
            self.events += cost(self.machine.document, values)
            most = (
                EVENTS
                * self.machine.ctas**2
                * (COMPUTED if self.growth.computed or self.growth.periods else 1)
            )
            if self.events > most:
                raise Unproved(f"the proof would need more than {most:,} events")
            if perf_counter() > self.deadline:
                raise Unproved("the time budget ran out")
            self.seen[key] = self._run(values)
        matched = self.seen[key]
        if matched is None:
            raise Rejected
        return matched

    def _close(self, values: Values) -> frozenset[str]:
        """The symbols that match in all executions at ``values``, whatever the conditions say."""
        real = self._all_meant(values)

        def judge(run: Run, meant: bool) -> bool:
            if real and meant:
                if not self.take(run, {n: v for n, v in run.case if n not in self.exact}):
                    raise Unproved("a run with an error")
                return True
            return self.accept(run)

        closure = Closure(
            self.machine,
            self.growth,
            self.joints,
            values,
            judge,
            (perf_counter() + self.deadline) / 2,  # the listed values need some time, too
            set(self.hopeless),
            self.foreseen
            or foreseen(
                self.machine,
                self.joints,
                self.growth,
                ample(self.machine, self.growth, values),
                self.deadline,
            ),
            self.idle,
        )
        try:
            fine = closure.explore()
        except (Unclosed, NoPieces) as reason:
            raise NotJoint(str(reason)) from None
        finally:
            closure.dissolve()
        self.events, self.foreseen = self.events + closure.events, closure.foreseen
        if not fine and real:
            raise Unproved(f"other numbers of iterations than {', '.join(sorted(self.joints.symbols))} has")
        if not fine:
            raise Rejected
        if self.events > CLOSURES:
            raise NotJoint(f"the proof would need more than {CLOSURES:,} events")
        self.states = max(self.states, closure.states)
        self.idle = self.idle or (real and self._alike_without())
        for name, value in closure.reached.items():
            self.reached[name] = max(value, self.reached.get(name, value))
        return frozenset(self.growth.least) - closure.different

    def _alike_without(self) -> bool:
        """Whether other symbols make no difference where no joint loop runs: there is one around all others."""
        top = [j for j in self.joints.loops if j.parent is None]
        inside = {id(x) for j in top for loop in j.loops.values() for x in walk((loop,))}
        others = (
            x for x in loops_of(self.machine.document) if x.id in self.growth.loops and id(x) not in inside
        )
        return len(top) == 1 and bool(top[0].symbol) and not self.growth.computed and not any(others)

    def _signature(self, values: Values) -> tuple:
        """How often each loop runs, as far as it is reached, and what ops compute with: equal programs are run once."""

        def trips(nodes, values: Mapping[str, int]) -> tuple:
            found = []
            for node in nodes:
                body = getattr(node, "body", None)
                if body is None:
                    continue
                if hasattr(node, "stop"):
                    n = trip_count(node, values)
                    found.append((n, trips(body, values) if n else ()))
                else:
                    found.append(trips(body, values))
            return tuple(found)

        document = self.machine.document
        seen = [values_of_cta(document, values, c) for c in range(self.machine.ctas)]
        given = tuple(own.get(name) for own in seen for name in sorted(self.growth.computed))
        return given, *(trips(t.body, own) for own in seen for t in document.tasks)

    def _run(self, values: Values) -> frozenset[str] | None:
        """The symbols that the run matches; None where it is wrong, and stands for nothing that is meant."""
        cutting = cut(self.machine, self.growth, values)
        program, document = cutting.program, self.machine.document
        uses = self._uses_of(program)
        execution = Paused(program, self.machine.judged, self.deadline)
        different = set(cutting.missing) | self.hopeless
        opened: dict[tuple, Frontier] = {}
        marks = {c.key: c.marks for c in cutting.cuts}
        for c in cutting.cuts:
            if c.key[0] in different:
                continue
            execution.run_to(c.limits)
            if execution.stopped:
                break
            if c.key[3] == 0:
                opened[c.key[:3]] = Frontier(execution, c, uses.waiters)
                continue
            before = opened.pop(c.key[:3], None)
            if before is None:  # its end came first: a step without events, if nothing happens in between
                matched = marks.get((*c.key[:3], 0)) == c.marks
            else:
                matched = before.amounts == amounts(execution)
                matched = matched and self._matches(
                    program, execution, before, Frontier(execution, c, uses.waiters)
                )
            if not matched:
                different.add(c.key[0])
        execution.finish()
        run = Run(document, self.machine, program, execution, program.values)
        if execution.stopped != "time":
            different -= _unreached(execution, cutting)
        matched = frozenset(self.growth.least) - different
        return matched if self._judge(run, values, matched) else None

    def _matches(self, program: Program, execution: Execution, one: Frontier, two: Frontier) -> bool:
        return same(self.machine, self.growth, self._uses_of(program), execution, one, two)

    def _uses_of(self, program: Program) -> Uses:
        """What its streams may do: the same in all programs of the machine."""
        self.uses = self.uses or Uses(self.machine, program)
        return self.uses


def _unreached(execution: Execution, cutting: Cutting) -> set[str]:
    """Symbols whose loops got stuck, or ended in undefined behaviour, before their first cut: with more iterations they do
    the same."""
    if not execution.blocked:
        return set()
    left = {c.key[0] for c in cutting.cuts} - set(cutting.missing)
    for c in cutting.cuts:
        if any(execution.at[w] > mark.position for w, mark in c.marks.items()):
            left.discard(c.key[0])
    return left
