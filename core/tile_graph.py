"""Proof for all sequences of tiles, of every kind and length.

Between two tiles every warp goes as far as it can; the states there form a finite graph, as `core.closure` says of any loop
that all tasks go through together. From each of its states every kind of tile is executed: with every outcome of the
conditions that are decided for a tile, and with its trip counts up to a fixed point (`core.tile_closure`). So every sequence
of tiles is a path in the graph, and has no error.

Symbols that all tiles share have one value in a graph, which is closed for one value after the other, up to P of them in a
row at which the last step of every loop over it changes nothing: at X + P the graph has the edges that it has at X.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from time import perf_counter

from .closure import Foreseen, Unclosed, foreseen
from .conditions import condition_keys
from .document import Loop
from .expressions import symbols_of
from .growth import Growth, NoGrowth, growth_of
from .joints import Joints, NoPieces, ample, joint_tiles
from .machine import Machine
from .periodic import Unproved
from .run import Run
from .tile_closure import TileClosure
from .tile_kinds import TileKinds, TileSequence, loops_with_depth
from .valuations import Values, condition_patterns, loops_of

EVENTS = 300_000  # of one proof
SPARE = 10  # values of a symbol beyond its first guess


@dataclass(slots=True)
class TileProver:
    """Runs what a proof needs. ``visit`` takes each run with its conditions, and says whether it shows no error; ``accept``
    says so of a run with fewer tiles than are meant."""

    machine: Machine
    visit: Callable[[Run, TileSequence], bool]
    accept: Callable[[Run], bool]
    deadline: float
    growth: Growth = field(init=False)
    joints: Joints = field(init=False)
    foreseen: Foreseen | None = None
    events: int = 0
    states: int = 0
    reached: dict[str, int] = field(default_factory=dict)

    def prove(self) -> str:
        """What was found, in words. Raises Unproved where a graph does not close, or after a run with an error."""
        self._check()
        names = [n for n in self.growth.least if n not in self.decided.symbols and n != self.decided.tiles]
        self._cover({}, names)
        places = "".join(f", {name} = {value}" for name, value in self.reached.items())
        states = f"{self.states} state" + "s" * (self.states != 1)
        noun = "tiles" if self.decided.persistent else "iterations"
        return f"all sequences of {noun}: {states} between them{places}"

    @property
    def decided(self) -> TileKinds:
        """What a tile decides."""
        return self.machine.tile_kinds

    def _check(self) -> None:
        document, decided = self.machine.document, self.decided
        if set(condition_keys(document)) - set(decided.keys):
            raise Unproved("conditions at run time")
        if any(s.per_cta for s in document.symbols):
            raise Unproved("symbols that differ between the CTAs of a cluster")
        loops = [x for x in loops_of(document) if x.id in decided.loops]
        if not decided.tiles or any((x.start, x.step, str(x.stop)) != (0, 1, decided.tiles) for x in loops):
            raise Unproved("the tiles are not counted by a symbol")
        for task in document.tasks:
            own = list(loops_with_depth(task.body))
            if any(depth for x, depth in own if x.id in decided.loops):
                raise Unproved("a loop over tiles inside another loop")
            if sum(x.id in decided.loops for x, _ in own) > 1:
                raise Unproved(f"{task.name} loops over tiles twice")
            if any(not depth and x.id not in decided.loops and _uses(x, decided.symbols) for x, depth in own):
                raise Unproved("a symbol per tile outside the loops over tiles")
        try:
            self.growth = growth_of(self.machine)
            self.joints = joint_tiles(self.machine, self.growth)
        except (NoGrowth, NoPieces) as reason:
            raise Unproved(str(reason)) from None
        if any(self.growth.loops[x.id].tail for x in loops):
            raise Unproved("the last tile is special")

    # -- trip counts ----------------------------------------------------------------------------------------------------
    def _cover(self, values: Values, names: Sequence[str]) -> frozenset[str]:
        """All values of ``names``, which all tiles share; gives those that matched in every graph."""
        if not names:
            return self._all_tiles(values)
        name, *rest = names
        least, step = self.growth.least[name], self.growth.steps[name]
        common, streak = None, 0
        for value in count(least):
            if value > self._guess(name) + SPARE:
                raise Unproved(f"no fixed point up to {name} = {value - 1}")
            matched = self._cover({**values, name: value}, rest)
            common = matched if common is None else common & matched
            streak = streak + 1 if name in matched and value >= self.growth.settled[name] else 0
            if streak >= step:
                self.reached[name] = max(value, self.reached.get(name, value))
                return common
        raise AssertionError

    def _guess(self, name: str) -> int:
        """A value of ``name`` behind which a step may change nothing."""
        loops = [g for g in self.growth.loops.values() if g.symbol == name]
        special = max((g.head + g.tail for g in loops), default=0)
        stages = max((r.pipeline.stages for r in self.machine.resources.values() if r.pipeline), default=1)
        return (
            max(self.growth.least[name], self.growth.settled[name])
            + special
            + stages
            + self.growth.steps[name]
        )

    def _all_tiles(self, values: Values) -> frozenset[str]:
        """All kinds of tiles in all orders, where the symbols that tiles share have ``values``."""
        own = {name: self._guess(name) + SPARE for name in self.decided.symbols if name in self.growth.least}
        at = {**values, **self.decided.symbols}
        most = ample(self.machine, self.growth, at)
        self.foreseen = self.foreseen or foreseen(self.machine, self.joints, self.growth, most, self.deadline)
        until = (perf_counter() + self.deadline) / 2  # the listed values need some time, too
        closure = TileClosure(
            self.machine, self.growth, self.joints, at, self._judge, until, foreseen=self.foreseen, tops=own
        )
        try:
            fine = closure.explore()
        except (Unclosed, NoPieces) as reason:
            raise Unproved(str(reason)) from None
        finally:
            closure.dissolve()
        if not fine:
            raise Unproved("a run with an error")
        self.foreseen, self.events = closure.foreseen, self.events + closure.events
        if self.events > EVENTS:
            raise Unproved(f"the proof would need more than {EVENTS:,} events")
        self.states = max(self.states, closure.states)
        for name, value in closure.furthest.items():
            self.reached[name] = max(value, self.reached.get(name, value))
        return frozenset(values) - closure.different

    def _judge(self, run: Run, meant: bool) -> bool:
        """Whether ``run``, with the tiles that it came by, shows no error."""
        if not meant:
            return self.accept(run)
        kinds, found = self.decided, dict(run.conditions)
        count = dict(run.case)[kinds.tiles]
        sequence = tuple(zip(*(found[name] for name in kinds.names), strict=True))[:count]
        own = kinds.sequence(sequence) if sequence else {}
        longest = {name: max(own.get(name, (low,))) for name, low in kinds.symbols.items()}
        patterns = TileSequence(condition_patterns(self.machine.document)[0] | own, kinds.text(sequence))
        values = tuple(sorted({**dict(run.case), **longest}.items()))
        program = run.execution.program = replace(run.program, values=values)
        run = replace(run, program=program, case=values, conditions=tuple(patterns.items()))
        return self.visit(run, patterns)


def _uses(loop: Loop, names: Mapping[str, int]) -> bool:
    return any(s.name in names for e in (loop.start, loop.stop, loop.step) for s in symbols_of(e))
