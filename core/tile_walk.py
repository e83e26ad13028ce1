"""Runs a schedule on a sequence of tiles, and keeps the states between the tiles and around the last step of other loops."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .audience import audience_of
from .cuts import Key, Mark, MarkingWalk, Uses, chain, cuts_in_order
from .frontier import Frontier
from .growth import Growth
from .machine import Machine
from .periodic import Unproved
from .program import Program
from .run import Run
from .shift import same
from .sweep import Paused
from .tile_kinds import Kind, TileSequence
from .unroll import streams_of
from .valuations import Values, condition_patterns


@dataclass(slots=True)
class Walk:
    """A run of ``sequence``, the states at its boundaries, and for each symbol and value whether every loop over it ended
    with a step that changed nothing."""

    sequence: tuple[Kind, ...]
    run: Run
    patterns: TileSequence
    uses: Uses
    boundaries: dict[int, Frontier] = field(default_factory=dict)
    matched: dict[tuple[str, int], bool] = field(default_factory=dict)


def case_of(machine: Machine, sequence: tuple[Kind, ...], values: Values) -> tuple[Values, TileSequence]:
    """The symbols and the patterns of conditions for these tiles."""
    kinds = machine.tile_kinds
    own = kinds.sequence(sequence) if sequence else {}
    case = values | {kinds.tiles: len(sequence)}
    case |= {name: max(own.get(name, (low,))) for name, low in kinds.symbols.items()}
    return case, TileSequence(condition_patterns(machine.document)[0] | own, kinds.text(sequence))


def walk_tiles(
    machine: Machine,
    growth: Growth,
    sequence: tuple[Kind, ...],
    values: Values,
    deadline: float,
    known: int = 0,
) -> Walk:
    """The walk over tiles of these kinds; of the first ``known`` it only runs. Raises Unproved where tasks do not run their
    loops in one common order."""
    case, patterns = case_of(machine, sequence, values)
    program, marks, short = _unrolled(machine, growth, case, patterns)
    order = chain(marks)
    if order is None:
        raise Unproved("tasks run their loops in different orders")
    execution, uses = Paused(program, machine.judged, deadline), Uses(machine, program)
    run = Run(machine.document, machine, program, execution, program.values, tuple(patterns.items()))
    walk, audience = Walk(sequence, run, patterns, uses), audience_of(machine, program)
    for key in short:
        if key[1] and key[1][0] < known:
            continue
        walk.matched[key[0], _value(key, case, patterns)] = False
    opened: dict[tuple, Frontier] = {}
    for cut in cuts_in_order(order, marks, program.streams):
        symbol, outer, _, place = cut.key
        tiled = symbol == machine.tile_kinds.tiles
        if (tiled and 0 < place <= known) or (outer and outer[0] < known):
            continue
        execution.run_to(cut.limits)
        if execution.stopped:
            break
        now = Frontier(execution, cut, uses.waiters, audience.askers, audience)
        if tiled:
            walk.boundaries[place] = now
        elif place == 0:
            opened[cut.key[:3]] = now
        else:
            before = opened.pop(cut.key[:3], None)
            of = symbol, _value(cut.key, case, patterns)
            found = before is not None and alike(machine, growth, walk, before, walk, now)
            walk.matched[of] = walk.matched.get(of, True) and found
    execution.finish()
    return walk


def alike(machine: Machine, growth: Growth, walk: Walk, one: Frontier, other: Walk, two: Frontier) -> bool:
    """Whether state ``one`` of ``walk`` and state ``two`` of ``other`` are the same but for a shift."""
    return same(machine, growth, walk.uses, walk.run.execution, one, two, other.run.execution)


def _value(key: Key, case: Values, patterns: TileSequence) -> int:
    """The value of the symbol of ``key`` there."""
    return patterns[key[0]][key[1][0]] if key[0] in patterns and key[1] else case[key[0]]


class _TileWalk(MarkingWalk):
    """Marks all boundaries of tiles, and loops one by one: ``skipped`` are those that are too short to be marked."""

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self.skipped: set[Key] = set()

    def iterations(self, trips: int) -> Iterable[int]:
        loop, outer = self.coming, tuple(i for _, i in self.at)
        kinds = self.machine.tile_kinds
        if loop is not None and loop.id in kinds.loops:
            return self.marked_at(loop, trips, {i: (kinds.tiles, (), 0, i) for i in range(trips + 1)})
        growing = self.growth.loops.get(loop.id) if loop else None
        if growing is None:
            return range(trips)
        around, number = (growing.symbol, outer), self.number(growing, outer)
        last = trips - growing.tail
        first = last - self.growth.more(growing)
        if first < growing.head:
            self.skipped.add((*around, number, 0))
            return range(trips)
        return self.marked_at(loop, trips, {first: (*around, number, 0), last: (*around, number, 1)})


def _unrolled(
    machine: Machine, growth: Growth, values: Values, patterns: TileSequence
) -> tuple[Program, list[dict[Key, Mark]], set[Key]]:
    """The program (of representatives), the marks of each stream, and the loops that are too short."""
    streams, marks, short = [], [], set()
    for task, stream in streams_of(machine):
        walk = _TileWalk(growth, False, machine, task, stream, values, patterns)
        walk.whole()
        streams.append(stream)
        marks.append(walk.marks)
        short |= walk.skipped
    for of in marks:
        for key in [k for k in of if (*k[:3], 0) in short]:
            del of[key]  # a loop that is too short in one warp is marked in none
    program = Program(tuple(streams), tuple(machine.barriers), tuple(sorted(values.items())), machine.noted)
    return program, marks, short
