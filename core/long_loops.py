"""Long loops, proved from short ones.

A loop of 100,000 iterations is one of N iterations with N = 100,000, and a symbol that is 4096 at least is one that may be
small: what `core.periodic` shows for the small values, from a fixed point on, holds for the large ones as well. Small values
that are not meant are only where the argument starts: what goes wrong at them, and not behind them, is nobody's mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .document import Document, Loop, Node, Op
from .expressions import Operation, Symbol, symbols_of
from .unroll import trip_count

LONG = 32  # constant loops of more iterations are looked at as one over a symbol
UNITS = 4  # their iterations may be multiples of 1/2, 1/3, 1/4 of the fewest,
SPARE = 8  # and so many more or less
NEAR = 16  # values below a symbol's least that are not worth starting from


@dataclass(frozen=True, slots=True)
class Meant:
    """The values that a symbol may have: from ``least`` on, or ``exactly`` that one."""

    least: int
    exactly: bool = False

    def __contains__(self, value: int) -> bool:
        return value == self.least if self.exactly else value >= self.least

    def like(self, value: int, step: int) -> int:
        """The first meant value that ``value`` leads to in steps of ``step``."""
        return value if value in self else self.least + (value - self.least) % step


def generalised(document: Document) -> tuple[Document, dict[str, Meant]]:
    """``document`` with its long constant loops over symbols of their own, and what these have to be; itself if none is
    long. Loops of about the same length in different tasks go by one symbol, as they are likely to belong together."""
    lengths: dict[int, set[int]] = {}
    for task in document.tasks:
        for depth, loop in _loops(task.body, 0):
            trips = _constant(loop)
            if trips > LONG:
                lengths.setdefault(depth, set()).add(trips)
    if not lengths:
        return document, {}
    names: dict[tuple[int, int], tuple[str, int, int]] = {}  # depth, trips -> symbol, times, plus
    meant: dict[str, Meant] = {}
    for depth, found in lengths.items():
        left = sorted(found)
        while left:
            unit, fitting = _unit(left)
            name = f"{unit:,} iterations" + " inside" * depth  # no name that an author can give
            meant[name] = Meant(unit, exactly=True)
            names |= {(depth, trips): (name, times, plus) for trips, (times, plus) in fitting.items()}
            left = [trips for trips in left if trips not in fitting]
    tasks = tuple(replace(t, body=_replaced(t.body, 0, names)) for t in document.tasks)
    return replace(document, tasks=tasks), meant


def _loops(nodes: Sequence[Node], depth: int) -> Iterator[tuple[int, Loop]]:
    for node in nodes:
        if isinstance(node, Loop):
            yield depth, node
            yield from _loops(node.body, depth + 1)
        elif not isinstance(node, Op):
            yield from _loops(node.body, depth)


def _constant(loop: Loop) -> int:
    """How often a loop without symbols runs; 0 for another."""
    if any(symbols_of(e) for e in (loop.start, loop.stop, loop.step)):
        return 0
    return trip_count(loop, {})


def _unit(lengths: list[int]) -> tuple[int, dict[int, tuple[int, int]]]:
    """A number of which the first and as many others as possible are about a multiple, and which multiple, with the rest."""
    best: tuple[int, dict[int, tuple[int, int]]] = lengths[0], {lengths[0]: (1, 0)}
    for part in range(1, UNITS + 1):
        unit = lengths[0] // part
        rounded = {n: ((n + unit // 2) // unit, 0) for n in lengths}
        fitting = {n: (t, n - t * unit) for n, (t, _) in rounded.items() if abs(n - t * unit) <= SPARE}
        if lengths[0] in fitting and len(fitting) > len(best[1]):
            best = unit, fitting
    return best


def _replaced(nodes: Sequence[Node], depth: int, names: Mapping) -> tuple[Node, ...]:
    made: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop):
            node = replace(node, body=_replaced(node.body, depth + 1, names))
            if (depth, trips := _constant(node)) in names:
                name, times, plus = names[depth, trips]
                count = Operation("+", Operation("*", Symbol(name), times), plus)
                node = replace(node, stop=Operation("+", node.start, Operation("*", node.step, count)))
        elif not isinstance(node, Op):
            node = replace(node, body=_replaced(node.body, depth, names))
        made.append(node)
    return tuple(made)


def first_value(loops: Sequence[Loop], name: str, meant: Meant, step: int) -> int:
    """From which value of ``name`` to start: its least, or, where that is far out, a smaller one of its residue at which
    every loop over it runs."""

    def running(steps: int) -> bool:
        return all(trip_count(loop, {name: meant.least - steps * step}) > 0 for loop in loops)

    low, high = 0, meant.least // step  # bounds do not fall with a symbol: it is enough to halve
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if running(middle) else (low, middle - 1)
    first = meant.least - low * step
    return first if meant.exactly or meant.least - first > NEAR else meant.least
