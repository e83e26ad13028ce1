"""The loops that tasks go through together: those whose iterations decide about conditions, and those around them.

In each of them there is one number of iterations, and one outcome of each condition in each iteration, for all tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from math import lcm

from .clusters import plain_symbol
from .conditions import TESTS
from .document import Document, Loop, Node, Op, Task
from .expressions import symbols_of
from .growth import Growth
from .machine import Machine
from .op_integers import expressions_of
from .tree import ops_of, walk
from .unroll import trip_count
from .valuations import loops_of

REACH = 64  # values of a symbol that are tried for one number of iterations
MAX_KEYS = 8
AMPLE = 64  # values of a symbol among which one is looked for that shows all
ANY = 3  # iterations after which a loop with a large least number of them may end
Chain = tuple[Loop, ...]  # loops around a place, outermost first


class NoPieces(Exception):
    """Why the schedule cannot be cut into pieces."""


@dataclass(slots=True, eq=False)
class Joint:
    """One loop of all tasks: of each its own (by task name), the ``symbol`` that counts its iterations ("": ``least`` of
    them, always), and the ``keys`` decided in each. Of two loops, the one that ends first has the lower ``number``."""

    loops: dict[str, Loop]
    parent: Joint | None = None
    keys: tuple[str, ...] = ()
    number: int = -1
    symbol: str = ""
    least: int = 0
    head: int = 0
    tail: int = 0
    every: int = 1

    @property
    def floor(self) -> int:
        """Iterations after which it may end: all that are meant, or a few where these are many."""
        return min(self.least, ANY) if self.symbol else self.least

    def phase(self, i: int) -> tuple[int, int]:
        """What guards, and the way out, can tell of the number of iterations so far."""
        return (min(i, max(self.head, self.floor)), i % self.every) if self.symbol else (i, 0)


@dataclass(slots=True)
class Joints:
    """All joint loops, those that end first in front; ``around``: their ids, and those of the blocks around them;
    ``constants``: keys decided once."""

    loops: list[Joint]
    constants: tuple[str, ...]
    by_loop: dict[str, Joint] = field(default_factory=dict)
    around: set[str] = field(default_factory=set)

    @property
    def symbols(self) -> set[str]:
        """Those that count their iterations."""
        return {j.symbol for j in self.loops if j.symbol}

    @property
    def keys(self) -> tuple[str, ...]:
        """Every condition."""
        return (*self.constants, *(key for j in self.loops for key in j.keys))


def joint_loops(machine: Machine, growth: Growth) -> Joints:
    """The loops whose iterations decide about conditions; without conditions, the first growing loop with others inside.
    Raises NoPieces where tasks do not go through them together."""
    constants, deciding = _deciders(machine)
    chains: dict[str, list[tuple[str, Chain]]] = {k: v for k, v in deciding.items() if v}
    if len(constants) + len(chains) > MAX_KEYS:
        raise NoPieces(f"more than {MAX_KEYS} conditions")
    if not chains and not constants:
        chains = {"": [_outermost(machine, growth)]}
    found = _united(chains)
    for joint in sorted(found, key=_depth):
        _add_others(machine.document, joint, found)
        _measure(joint, growth)
    return _made(machine, growth, found, constants)


def joint_tiles(machine: Machine, growth: Growth) -> Joints:
    """The loops over tiles, in each of which all is decided that `core.tile_kinds` knows of. Raises NoPieces."""
    kinds = machine.tile_kinds
    loops = {t.name: x for t in machine.document.tasks for x in walk(t.body) if x.id in kinds.loops}
    joint = Joint(loops, keys=kinds.names)
    _measure(joint, growth)
    return _made(machine, growth, [joint], ())


def _made(machine: Machine, growth: Growth, found: list[Joint], constants: Iterable[str]) -> Joints:
    for joint in found:
        _check_symbol(machine.document, growth, joint, found)
    made = Joints(_in_order(machine.document, found), tuple(sorted(constants)))
    made.by_loop = {x.id: j for j in found for x in j.loops.values()}
    for task in machine.document.tasks:
        made.around |= _around(task.body, made.by_loop)
    return made


def _deciders(machine: Machine) -> tuple[set[str], dict[str, list[tuple[str, Chain]]]]:
    """The keys that are decided once, and of each other key, by task, the loops around and the one that decides it."""
    constants: set[str] = set()
    found: dict[str, list[tuple[str, Chain]]] = {}
    for task in machine.document.tasks:
        for key, chain in _tested(machine, task):
            depth = machine.decided.get(key, 1)
            if depth == 0:
                constants.add(key)
            elif len(chain) < depth:
                raise NoPieces(f"{key} is decided in a loop that {task.name} tests it outside of")
            else:
                found.setdefault(key, []).append((task.name, chain[:depth]))
    return constants, found


def _tested(machine: Machine, task: Task) -> Iterator[tuple[str, Chain]]:
    """Each condition that ``task`` tests, and the loops around."""

    def below(nodes: Iterable[Node], chain: Chain) -> Iterator[tuple[str, Chain]]:
        for node in nodes:
            if isinstance(node, Op):
                continue
            inner = (*chain, node) if isinstance(node, Loop) else chain
            if isinstance(node, Loop):
                if node.skip_if:
                    yield node.skip_if, inner
            elif node.kind in TESTS and node.id not in machine.retries(task):
                yield node.key, chain
            yield from below(node.body, inner)

    yield from below(task.body, ())


def _outermost(machine: Machine, growth: Growth) -> tuple[str, Chain]:
    for task in machine.document.tasks:
        for node in task.body:
            if isinstance(node, Loop) and node.id in growth.loops:
                if any(isinstance(n, Loop) and n.id in growth.loops for n in walk(node.body)):
                    return task.name, (node,)
    raise NoPieces("no loop has others inside")


def _united(chains: dict[str, list[tuple[str, Chain]]]) -> list[Joint]:
    """One joint for the loops of all tasks that decide about a key, and for those around them, level by level."""
    joints: dict[str, Joint] = {}  # by loop id

    def unite(members: list[tuple[str, Loop]]) -> Joint:
        known = list({id(j): j for _, x in members if (j := joints.get(x.id))}.values())
        one = known[0] if known else Joint({})
        own = [*members, *((t, x) for j in known for t, x in j.loops.items())]
        for task, loop in own:
            if one.loops.setdefault(task, loop) is not loop:
                raise NoPieces(f"two loops of {task} decide about one condition")
            joints[loop.id] = one
        one.keys = tuple(sorted({k for j in known for k in j.keys}))
        return one

    for key, tested in chains.items():
        for level in range(len(tested[0][1])):
            one = unite([(task, chain[level]) for task, chain in tested])
            if key and level == len(tested[0][1]) - 1:
                one.keys = tuple(sorted({*one.keys, key}))
    for tested in chains.values():
        for _, chain in tested:
            for outer, inner in pairwise(chain):
                child, parent = joints[inner.id], joints[outer.id]
                if child.parent not in (None, parent) or child is parent:
                    raise NoPieces("conditions are decided in loops inside different ones")
                child.parent = parent
    return list({id(j): j for j in joints.values()}.values())


def _depth(joint: Joint) -> int:
    return 1 + _depth(joint.parent) if joint.parent else 0


def _add_others(document: Document, joint: Joint, found: Sequence[Joint]) -> None:
    """The loops of other tasks at the same place and of the same length go along."""
    known = {x.id for j in found for x in j.loops.values()}
    first = next(iter(joint.loops.values()))
    shape = first.start, first.stop, first.step
    if any((x.start, x.stop, x.step) != shape for x in joint.loops.values()):
        raise NoPieces("conditions are decided in loops of different lengths")
    for task in document.tasks:
        outer = joint.parent.loops.get(task.name) if joint.parent else task
        if task.name in joint.loops or outer is None:
            continue
        same = [x for x in _directly_in(outer.body) if (x.start, x.stop, x.step) == shape]
        if len(same) == 1 and same[0].id not in known:
            joint.loops[task.name] = same[0]


def _directly_in(nodes: Sequence[Node]) -> Iterator[Loop]:
    """The loops below ``nodes`` that are in no other loop."""
    for node in nodes:
        if isinstance(node, Loop):
            yield node
        elif not isinstance(node, Op):
            yield from _directly_in(node.body)


def _measure(joint: Joint, growth: Growth) -> None:
    """Fills in how many iterations ``joint`` has, and which of them are special."""
    first = next(iter(joint.loops.values()))
    symbols = {s.name for e in (first.start, first.stop, first.step) for s in symbols_of(e)}
    if not symbols:
        joint.least = trip_count(first, {})
        return
    joint.symbol = name = symbols.pop()
    mine = [growth.loops[x.id] for x in joint.loops.values() if x.id in growth.loops]
    if len(mine) != len(joint.loops) or any((g.slope, g.period) != (1, 1) for g in mine):
        raise NoPieces(f"the loop over {name} does not grow one by one")
    if growth.settled[name] > growth.least[name]:
        raise NoPieces(f"a loop over {name} grows one by one only from {growth.settled[name]} on")
    joint.least = trip_count(first, {name: growth.least[name]})
    joint.head, joint.tail = max(g.head for g in mine), max(g.tail for g in mine)
    joint.every = lcm(growth.steps[name], *(g.every for g in mine))


def _check_symbol(document: Document, growth: Growth, joint: Joint, found: Sequence[Joint]) -> None:
    name = joint.symbol
    if not name:
        return
    if name in growth.per_cta:
        raise NoPieces(f"each CTA has a {name} of its own")
    computed = (e for t in document.tasks for o in ops_of(t) for _, e in expressions_of(o))
    if any(s.name == name for e in computed for s in symbols_of(e)):
        raise NoPieces(f"ops compute with {name}")
    ids = {x.id for j in found for x in j.loops.values()}
    others = (e for x in loops_of(document) if x.id not in ids for e in (x.start, x.stop, x.step))
    if any(s.name == name for e in others for s in symbols_of(e)):
        raise NoPieces(f"other loops run over {name} too")


def _in_order(document: Document, found: Sequence[Joint]) -> list[Joint]:
    """Numbers the loops in an order in which every task comes to their ends."""
    sorter: TopologicalSorter[Joint] = TopologicalSorter({j: () for j in found})
    by_loop = {x.id: j for j in found for x in j.loops.values()}

    def ends(nodes: Sequence[Node]) -> Iterator[Joint]:
        for node in nodes:
            if not isinstance(node, Op):
                yield from ends(node.body)
                if node.id in by_loop:
                    yield by_loop[node.id]

    for task in document.tasks:
        order = list(ends(task.body))
        for one, two in pairwise(order):
            sorter.add(two, one)
    try:
        ordered = list(sorter.static_order())
    except CycleError:
        raise NoPieces("tasks run their loops in different orders") from None
    for number, joint in enumerate(ordered):
        joint.number = number
    return ordered


def _around(nodes: Sequence[Node], loops: dict[str, Joint]) -> set[str]:
    """The ids of ``loops`` and of what is around them."""
    found: set[str] = set()
    for node in nodes:
        if not isinstance(node, Op):
            inside = _around(node.body, loops)
            if inside or node.id in loops:
                found |= {*inside, node.id}
    return found


def value_for(joint: Joint, growth: Growth, trips: int) -> int:
    """The value of the joint loop's symbol at which it runs ``trips`` times. Raises NoPieces if there is none."""
    loop = next(iter(joint.loops.values()))
    start = max(0, growth.least[joint.symbol] + trips - joint.least - REACH // 2)
    for value in range(start, start + REACH):
        if trip_count(loop, {joint.symbol: value}) == trips:
            return value
    raise NoPieces(f"the loop over {joint.symbol} does not grow one by one")


def ample(machine: Machine, growth: Growth, values: dict[str, int]) -> dict[str, int]:
    """Greater ``values``, at which loops do in some iteration whatever they do in any."""
    loops = [(x, growth.loops[x.id]) for x in loops_of(machine.document) if x.id in growth.loops]
    found = dict(values)
    for name, value in values.items():
        plain = plain_symbol(name)
        own = [(x, g.head + g.tail + g.every) for x, g in loops if g.symbol == plain]
        first = max(value, growth.settled.get(name, 0))
        for more in range(first, first + AMPLE):
            if all(trip_count(x, {plain: more}) > least for x, least in own):
                found[name] = more
                break
    return found
