"""Which trip counts are simulated: a small representative choice, bounded in size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..document import Document, Loop, Node, Op
from ..expressions import symbols_of
from ..op_integers import symbols_used
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
    for symbol in symbols_used(n for t in document.tasks for n in t.body):
        symbols.setdefault(symbol.name, symbol)
    return {name: max(s.min, TILES if name in counts else TRIPS) for name, s in symbols.items()}


def bounded(document: Document, values: Mapping[str, int], limit: int) -> dict[str, int]:
    """``values`` with the largest one halved until at most about ``limit`` events are left to simulate.

    Unchanged where that is not enough: `shortened` then cuts the loops.
    """
    result, least = dict(values), {s.name: max(1, s.min) for s in document.symbols}
    while events(document, result) > limit:
        name = max(result, key=result.__getitem__, default="")
        if not name or result[name] // 2 < least.get(name, 1):
            return dict(values)
        result[name] //= 2
    return result


def shortened(document: Document, values: Mapping[str, int], limit: int) -> tuple[Document, int]:
    """``document`` with its longest loops cut to one number of iterations (0: none was cut), for about ``limit`` events.

    For loops over constants, which no value shortens; equal loops of different tasks stay equal.
    """
    cap, result = 0, document
    while events(result, values) > limit:
        loops = (n for task in result.tasks for n in walk(task.body) if isinstance(n, Loop))
        longest = max((trip_count(loop, values) for loop in loops), default=0)
        if longest < 2:
            break
        cap = longest // 2
        tasks = tuple(replace(t, body=_capped(t.body, values, cap)) for t in result.tasks)
        result = replace(result, tasks=tasks)
    return result, cap


def _capped(nodes: Sequence[Node], values: Mapping[str, int], cap: int) -> tuple[Node, ...]:
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, Op):
            result.append(node)
            continue
        node = replace(node, body=_capped(node.body, values, cap))
        if isinstance(node, Loop) and trip_count(node, values) > cap:
            node = replace(node, start=0, stop=cap, step=1)
        result.append(node)
    return tuple(result)


def events(document: Document, values: Mapping[str, int]) -> int:
    """About how many events all warps have, without making them."""
    return sum(max(0, task.num_warps) * _count(task.body, values) for task in document.tasks)


def _count(nodes: Sequence[Node], values: Mapping[str, int]) -> int:
    total = 0
    for node in nodes:
        if isinstance(node, Op):
            total += 1
        else:
            trips = trip_count(node, values) if isinstance(node, Loop) else 1
            total += trips * _count(node.body, values) if trips else 0
    return total
