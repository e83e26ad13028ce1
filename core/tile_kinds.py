"""The kinds of tiles that a persistent schedule meets, and sequences of them.

A tile may be skipped, run-time conditions may be decided once for it, and its loops may have trip counts of its own (symbols
that are ``per_tile``). One tile's kind is one choice of all these; which kinds follow one another is the input's doing, so
every sequence of them counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from .conditions import TESTS, condition_keys, decided_in
from .document import Document, Guard, GuardKind, Loop, Node, Op
from .expressions import Symbol, symbols_of
from .op_integers import symbols_used
from .retries import retries
from .tree import placed

LONGEST = (
    4  # tiles of the sequences that are all tried: a third of the field's bugs need two tiles or an empty one
)
TEXTS = ("for the tiles ", "for the iterations ")  # how sequences begin in words
Kind = tuple[int, ...]  # outcomes and trip counts of one tile, in the order of `TileKinds.names`


class TileSequence(dict[str, tuple[int, ...]]):
    """Patterns of one outcome (or trip count) for each tile, and what they are in words."""

    def __init__(self, patterns: Mapping[str, tuple[int, ...]], text: str) -> None:
        super().__init__(patterns)
        self.text = text


@dataclass(frozen=True)
class TileKinds:
    """What is decided anew for each tile: ``keys`` (conditions and skip predicates) with their usual outcomes, of which
    ``skips`` leave a tile out, and the least values of ``symbols``. ``loops``: ids of the loops over tiles; ``tiles``: the
    symbol that counts them ("": their number is fixed); ``persistent``: whether they are loops over a work queue."""

    loops: frozenset[str] = frozenset()
    tiles: str = ""
    keys: dict[str, bool] = field(default_factory=dict)
    skips: frozenset[str] = frozenset()
    symbols: dict[str, int] = field(default_factory=dict)
    persistent: bool = True

    def __bool__(self) -> bool:
        return bool(self.keys or self.symbols)

    @property
    def names(self) -> tuple[str, ...]:
        """Keys, then symbols."""
        return (*self.keys, *self.symbols)

    def values_of(
        self, loop: str, turn: int, patterns: Mapping[str, Sequence[int]], values: Mapping[str, int]
    ) -> Mapping[str, int]:
        """``values`` with those that tile ``turn`` of ``loop`` has of its own."""
        own = {n: patterns[n] for n in self.symbols if n in patterns} if loop in self.loops else {}
        return {**values, **{n: int(of[turn % len(of)]) for n, of in own.items()}} if own else values

    def kinds(self, document: Document, values: dict[str, Sequence[int]]) -> list[Kind]:
        """Every kind with these ``values`` of the symbols, the usual one first; of those that do the same, one."""
        outcomes = [(usual, not usual) for usual in self.keys.values()]
        found: dict[tuple, Kind] = {}
        for kind in product(*outcomes, *(values[name] for name in self.symbols)):
            found.setdefault(self.shape(document, kind), kind)
        return list(found.values())

    def shape(self, document: Document, kind: Kind) -> tuple:
        """What a tile of this kind does, as far as it is decided by the kind."""
        chosen = dict(zip(self.names, kind, strict=True))
        return tuple(
            self._shape(node.body, node, chosen)
            for task in document.tasks
            for node, _ in loops_with_depth(task.body)
            if node.id in self.loops
        )

    def _shape(self, nodes: Sequence[Node], tile: Loop, chosen: dict[str, int]) -> tuple:
        found: list = []
        for node in nodes:
            if isinstance(node, Op):
                found += [chosen[s.name] for s in symbols_used([node]) if s.name in self.symbols]
                continue
            if isinstance(node, Loop):
                used = [s.name for e in (node.start, node.stop, node.step) for s in symbols_of(e)]
                found.append(tuple(chosen[n] for n in used if n in self.symbols))
            elif node.kind in TESTS and node.key in self.keys:
                if bool(chosen[node.key]) is not (node.kind is GuardKind.WHEN_TRUE):
                    found.append(node.id)
                    continue
            elif node.kind is GuardKind.SKIPPABLE and chosen.get(tile.skip_if):
                found.append(node.id)
                continue
            found.append(self._shape(node.body, tile, chosen))
        return tuple(found)

    def sequence(self, kinds: Sequence[Kind]) -> dict[str, tuple[int, ...]]:
        """The patterns of tiles of these kinds, one after the other."""
        return dict(zip(self.names, zip(*kinds, strict=True), strict=True))

    def text(self, kinds: Sequence[Kind]) -> str:
        """Tiles of these kinds in words."""
        return TEXTS[not self.persistent] + ", ".join(self.words(kind) for kind in kinds)

    def oddity(self, usual: Kind, kinds: Sequence[Kind]) -> tuple[int, int]:
        """Sequences in their order: short loops and usual outcomes first."""
        first = len(self.keys)
        trips = sum(sum(kind[first:]) for kind in kinds)
        return trips, sum(a != b for kind in kinds for a, b in zip(kind[:first], usual, strict=False))

    def words(self, kind: Kind) -> str:
        """One tile in words: "work", "skipped by empty", "k_tiles = 0", "has_kv false"."""
        parts = []
        for name, value in zip(self.names, kind, strict=True):
            if name in self.symbols:
                parts.append(f"{name} = {value}")
            elif name not in self.skips:
                parts.append(f"{name} {str(bool(value)).lower()}")
            elif value:
                parts.append(f"skipped by {name}")
        return " and ".join(parts) or "work"


def tile_kinds(document: Document) -> TileKinds:
    """What ``document`` decides anew for each tile; false where that is nothing."""
    loops = _tile_loops(document)
    depths, usual = decided_in(document), condition_keys(document)
    elsewhere = {key for key, outer in _outermost(document) if outer is None or outer.id not in loops}
    per_tile = {s.name: s.min for s in document.symbols if s.per_tile}
    counted = {s.name for loop in loops.values() for s in symbols_of(loop.stop)}
    return TileKinds(
        frozenset(loops),
        next(iter(counted)) if len(counted) == 1 else "",
        {k: out for k, out in usual.items() if depths.get(k) == 1 and k not in elsewhere} if loops else {},
        frozenset(x.skip_if for x in loops.values() if x.skip_if),
        {n: low for n, low in per_tile.items() if n not in counted} if loops else {},
        any(loop.kind == "tile" for loop in loops.values()),
    )


def loops_with_depth(nodes: Sequence[Node], depth: int = 0) -> Iterator[tuple[Loop, int]]:
    """Every loop below ``nodes`` with the number of loops around it."""
    for node in nodes:
        if isinstance(node, Loop):
            yield node, depth
        if not isinstance(node, Op):
            yield from loops_with_depth(node.body, depth + isinstance(node, Loop))


def _tile_loops(document: Document) -> dict[str, Loop]:
    """The loops over tiles: those of work queues; without any, outermost loops over one symbol that decide conditions."""
    every = [found for task in document.tasks for found in loops_with_depth(task.body)]
    tiles = {loop.id: loop for loop, _ in every if loop.kind == "tile"}
    if tiles:
        return tiles
    depths = decided_in(document)
    outer = {loop.id: loop for loop, depth in every if depth == 0 and isinstance(loop.stop, Symbol)}
    deciding = {x.stop for key, x in _outermost(document) if x and x.id in outer and depths.get(key) == 1}
    return {i: x for i, x in outer.items() if x.stop in deciding} if len(deciding) == 1 else {}


def _outermost(document: Document) -> Iterator[tuple[str, Loop | None]]:
    """Every condition where it is tested, with the outermost loop around."""
    waits = {i for task in document.tasks for i in retries(document, task)}
    for at in placed(document):
        loops = [p for p in (*at.parents, at.node) if isinstance(p, Loop)]
        if isinstance(at.node, Loop) and at.node.skip_if:
            yield at.node.skip_if, loops[0]
        elif isinstance(at.node, Guard) and at.node.kind in TESTS and at.node.id not in waits:
            yield at.node.key, loops[0] if loops else None
