"""A schedule cut into pieces: what comes before a loop, its iterations one by one, and what comes behind it.

All tasks go through the iterations of the loop together: one number of iterations, and one outcome of each condition in each
of them. A piece of a stream is walked from where its unroller was left, so that pieces can be put together in any way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import lcm

from .clusters import CLUSTER_KINDS
from .conditions import TESTS
from .cuts import Mark, MarkingWalk
from .document import Document, Loop, Node, Op, Task
from .expressions import symbols_of
from .growth import Growth
from .machine import Machine
from .op_integers import expressions_of
from .program import Program, Stream
from .tree import ops_of, walk
from .unroll import streams_of, trip_count
from .valuations import loops_of

REACH = 64  # values of a symbol that are tried for one number of iterations
MAX_KEYS = 4
CHANGING = ("cursor", "raw", "turns", "loops", "numbers")  # what a walk changes in place


class NoPieces(Exception):
    """Why the schedule cannot be cut into pieces."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """What one iteration may be like: the outcome of each condition."""

    outcomes: Mapping[str, bool]


@dataclass(slots=True)
class Joint:
    """The loop that tasks go through together: of each task its own (by task name), the ``symbol`` that counts its
    iterations ("": ``least`` of them, always), ``keys`` decided in each iteration, and ``constants`` decided once."""

    loops: dict[str, Loop]
    symbol: str
    least: int
    keys: tuple[str, ...]
    constants: tuple[str, ...]
    head: int = 0
    tail: int = 0
    every: int = 1

    @property
    def alternatives(self) -> list[Alternative]:
        """All that one iteration may be like."""
        return [Alternative(c) for c in _choices(self.keys)]

    @property
    def beginnings(self) -> list[Alternative]:
        """All that may be decided before."""
        return [Alternative(c) for c in _choices(self.constants)]

    def phase(self, i: int) -> tuple[int, int]:
        """What guards can tell of the number of iterations so far."""
        return (min(i, self.head), i % self.every) if self.symbol else (i, 0)


def _choices(keys: Sequence[str]) -> list[dict[str, bool]]:
    return [dict(zip(keys, c, strict=True)) for c in product((True, False), repeat=len(keys))]


def joint_loop(machine: Machine, growth: Growth) -> Joint:
    """The loop whose iterations decide about conditions. Raises NoPieces where there is none that all tasks share."""
    document = machine.document
    if any(o.kind in CLUSTER_KINDS for t in document.tasks for o in ops_of(t)):
        raise NoPieces("the cluster's barrier asks which warps have exited")
    inside: set[str] = set()
    outside: set[str] = set()
    loops: dict[str, Loop] = {}
    for task in document.tasks:
        for key, loop in _tested(machine, task):
            depth = machine.decided.get(key, 1)
            if depth > 1:
                raise NoPieces(f"{key} is decided in an inner loop")
            if depth == 0:
                outside.add(key)
                continue
            inside.add(key)
            if loop is None or loop not in task.body:
                raise NoPieces(f"{key} is decided in a loop inside a block")
            if loops.setdefault(task.name, loop) is not loop:
                raise NoPieces(f"two loops of {task.name} decide about conditions")
    if len(inside) + len(outside) > MAX_KEYS:
        raise NoPieces(f"more than {MAX_KEYS} conditions")
    keys, constants = tuple(sorted(inside)), tuple(sorted(outside))
    if machine.ctas > 1 and (keys or constants):
        raise NoPieces("each CTA of a cluster decides about conditions for itself")
    if not keys and not constants:
        loops = _outermost(machine, growth)
    if not loops:
        return Joint({}, "", 0, keys, constants)
    first = next(iter(loops.values()))
    shape = first.start, first.stop, first.step
    if any((x.start, x.stop, x.step) != shape for x in loops.values()):
        raise NoPieces("conditions are decided in loops of different lengths")
    for task in document.tasks:
        same = [n for n in task.body if isinstance(n, Loop) and (n.start, n.stop, n.step) == shape]
        if len(same) == 1:
            loops.setdefault(task.name, same[0])
    symbols = {s.name for e in shape for s in symbols_of(e)}
    if not symbols:
        return Joint(loops, "", trip_count(first, {}), keys, constants)
    return _counted(document, growth, loops, symbols.pop(), keys, constants)


def _outermost(machine: Machine, growth: Growth) -> dict[str, Loop]:
    """Without conditions: the first growing loop that has others inside."""
    for task in machine.document.tasks:
        for node in task.body:
            if isinstance(node, Loop) and node.id in growth.loops:
                if any(isinstance(n, Loop) and n.id in growth.loops for n in walk(node.body)):
                    return {task.name: node}
    raise NoPieces("no loop has others inside")


def _counted(document: Document, growth: Growth, loops: dict[str, Loop], name: str, keys, constants) -> Joint:
    mine = [growth.loops[x.id] for x in loops.values() if x.id in growth.loops]
    if len(mine) != len(loops) or any((g.slope, g.period) != (1, 1) for g in mine):
        raise NoPieces(f"the loop over {name} does not grow one by one")
    if name in growth.per_cta:
        raise NoPieces(f"each CTA has a {name} of its own")
    computed = (e for t in document.tasks for o in ops_of(t) for _, e in expressions_of(o))
    if any(s.name == name for e in computed for s in symbols_of(e)):
        raise NoPieces(f"ops compute with {name}")
    ids = {x.id for x in loops.values()}
    others = (e for x in loops_of(document) if x.id not in ids for e in (x.start, x.stop, x.step))
    if any(s.name == name for e in others for s in symbols_of(e)):
        raise NoPieces(f"other loops run over {name} too")
    least = trip_count(next(iter(loops.values())), {name: growth.least[name]})
    return Joint(
        loops,
        name,
        least,
        keys,
        constants,
        max(g.head for g in mine),
        max(g.tail for g in mine),
        lcm(growth.steps[name], *(g.every for g in mine)),
    )


def _tested(machine: Machine, task: Task) -> Iterator[tuple[str, Loop | None]]:
    """Each condition that ``task`` tests, and the outermost loop around."""

    def below(nodes: Iterable[Node], outermost: Loop | None) -> Iterator[tuple[str, Loop | None]]:
        for node in nodes:
            if isinstance(node, Op):
                continue
            if isinstance(node, Loop):
                if node.skip_if:
                    yield node.skip_if, outermost or node
            elif node.kind in TESTS and node.id not in machine.retries(task):
                yield node.key, outermost
            yield from below(node.body, outermost or node if isinstance(node, Loop) else outermost)

    yield from below(task.body, None)


class PieceWalk(MarkingWalk):
    """The unroller of one stream, a piece at a time."""

    def __init__(
        self,
        joint: Joint,
        growth: Growth,
        machine: Machine,
        task: Task,
        stream: Stream,
        values: dict[str, int],
    ) -> None:
        super().__init__(growth, False, machine, task, stream, values, {})
        self.joint = joint
        self.own = joint.loops.get(task.name)
        self.choice: dict[str, bool] = {}
        self.only: int | None = None

    def on(self, stream: Stream) -> PieceWalk:
        """A copy that goes on in ``stream``, a copy of this one's."""
        made = object.__new__(PieceWalk)
        made.__dict__.update(self.__dict__)
        for name in CHANGING:
            setattr(made, name, getattr(self, name).copy())
        made.works = self.works.on(stream)
        made.stream = stream
        made.marks, made.short = {}, set()
        return made

    def outcome(self, key: str) -> bool:
        return self.choice[key]

    def iterations(self, trips: int) -> Iterable[int]:
        if self.coming is self.own and self.only is not None:
            return (self.only,)
        return super().iterations(trips)

    def before(self, beginning: Alternative) -> None:
        """The nodes before the loop; all of them where this task has none."""
        self.choice = dict(beginning.outcomes)
        self.begins()
        self.block(self.task.body[: self._place()])

    def iteration(self, i: int, alternative: Alternative, last: bool) -> None:
        """Iteration ``i``."""
        if self.own is None:
            return
        self.choice = self.choice | dict(alternative.outcomes)
        self.values = self.values | self.trips(i + 1 if last else i + 2)
        self.only = i
        self.block((self.own,))
        self.only = None

    def after(self) -> None:
        """The nodes behind the loop, and what the end of a task asks for."""
        self.block(self.task.body[self._place() + 1 :])
        self.drains()

    def _place(self) -> int:
        return next((i for i, n in enumerate(self.task.body) if n is self.own), len(self.task.body))

    def trips(self, trips: int) -> dict[str, int]:
        """The symbol's value for so many iterations."""
        return value_for(self.joint, self.growth, trips)

    def mark(self) -> Mark:
        """Where it is now."""
        return self.mark_at(self.own)


def value_for(joint: Joint, growth: Growth, trips: int) -> dict[str, int]:
    """The value of the joint loop's symbol at which it runs ``trips`` times. Raises NoPieces if there is none."""
    if not joint.symbol:
        return {}
    loop = next(iter(joint.loops.values()))
    start = max(0, growth.least[joint.symbol] + trips - joint.least - REACH // 2)
    for value in range(start, start + REACH):
        if trip_count(loop, {joint.symbol: value}) == trips:
            return {joint.symbol: value}
    raise NoPieces(f"the loop over {joint.symbol} does not grow one by one")


def samples(
    machine: Machine, joint: Joint, growth: Growth, values: dict[str, int], turns: int
) -> Iterator[Program]:
    """Programs that show every op of the schedule that may be executed at all."""
    for beginning in joint.beginnings:
        for alternative in joint.alternatives:
            streams = []
            for task, stream in streams_of(machine):
                walk = PieceWalk(joint, growth, machine, task, stream, values)
                walk.before(beginning)
                for i in range(turns if joint.symbol else min(turns, joint.least)):
                    walk.iteration(i, alternative, i == turns - 1)
                walk.after()
                streams.append(stream)
            yield Program(tuple(streams), tuple(machine.barriers), (), machine.noted)
