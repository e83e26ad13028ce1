"""Which trip counts are simulated: a small representative choice, bounded in size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..document import Document, Loop, Node, Op
from ..expressions import symbols_of
from ..tree import walk
from ..unroll import trip_count

TILES = 2  # enough to show how one tile's end overlaps the next one's start
TRIPS = 8  # two rounds of the usual four stages


def default_values(document: Document) -> dict[str, int]:
    """Small values for the document's symbols: `TILES` for tile counts, `TRIPS` for other trip counts, at least each
    symbol's own minimum.

    >>> from warpdraft.core.document import Document
    >>> from warpdraft.core.expressions import symbol
    >>> default_values(Document("d", symbols=(symbol("k_tiles", min=10),)))
    {'k_tiles': 10}
    """
    loops = [node for task in document.tasks for node in walk(task.body) if isinstance(node, Loop)]
    counts = {s.name for loop in loops if loop.kind == "tile" for s in symbols_of(loop.stop)}
    symbols = {s.name: s for s in document.symbols}
    for loop in loops:
        for bound in (loop.start, loop.stop, loop.step):
            for symbol in symbols_of(bound):
                symbols.setdefault(symbol.name, symbol)
    return {name: max(s.min, TILES if name in counts else TRIPS) for name, s in symbols.items()}


def bounded(document: Document, values: Mapping[str, int], limit: int) -> dict[str, int]:
    """``values`` with the largest one halved until at most about ``limit`` events are left to simulate."""
    result, least = dict(values), {s.name: max(1, s.min) for s in document.symbols}
    while _events(document, result) > limit:
        name = max(result, key=result.__getitem__, default="")
        if not name or result[name] // 2 < least.get(name, 1):
            break
        result[name] //= 2
    return result


def _events(document: Document, values: Mapping[str, int]) -> int:
    return sum(task.num_warps * _count(task.body, values) for task in document.tasks)


def _count(nodes: Sequence[Node], values: Mapping[str, int]) -> int:
    total = 0
    for node in nodes:
        if isinstance(node, Op):
            total += 1
        elif isinstance(node, Loop):
            total += trip_count(node, values) * _count(node.body, values)
        else:
            total += _count(node.body, values)
    return total
