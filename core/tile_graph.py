"""Proof for all sequences of tiles: the states between two tiles are few, up to a shift, and from each of them every kind of
tile leads to one of them.

The argument. An execution may stop at a cut where every warp is between the same two tiles (`core.periodic`). If two such
states are the same but for a shift (`core.shift`), whatever tiles follow do the same after the one as after the other. So
let states be nodes of a graph, and kinds of tiles its edges. Where every node has an edge of every kind, each edge was part
of a run without error, and the schedule ended without error behind each node, every sequence of tiles is a path in the
graph, and has no error.

Trip counts. Inside each tile that runs a loop over X, two cuts enclose the last step of the loop, as in `core.periodic`. If
their states are the same in every such tile for P values of X in a row, a tile with X + P leads where one with X does. For
a symbol that is per tile those and the smaller values are enough kinds of tiles; for any other the graph at X + P is that
at X.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from time import perf_counter

from .conditions import condition_keys
from .document import Loop
from .expressions import symbols_of
from .frontier import Frontier
from .growth import Growth, NoGrowth, growth_of
from .machine import Machine
from .periodic import Unproved
from .run import Run
from .tile_kinds import Kind, TileKinds, TileSequence, loops_with_depth
from .tile_walk import Walk, alike, case_of, walk_tiles
from .valuations import Values, cost, loops_of

EVENTS = 100_000  # of one proof
STATES = 64  # of one graph
LONG = 8  # tiles of one walk: what they do is foretold, and often something else
SPARE = 10  # values of a symbol beyond its first guess
Path = tuple[Kind, ...]


@dataclass(slots=True)
class _Node:
    """A state between tiles: the first walk and boundary where it was met."""

    walk: Walk | None
    place: int
    outline: tuple = ()
    edges: dict[Kind, int] = field(default_factory=dict)


@dataclass(slots=True)
class TileProver:
    """Runs what a proof needs. ``visit`` takes each run with its conditions, and says whether it shows no error."""

    machine: Machine
    visit: Callable[[Run, TileSequence], bool]
    deadline: float
    growth: Growth = field(init=False)
    nodes: list[_Node] = field(default_factory=list)
    matched: dict[tuple[str, int], bool] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)  # nodes behind which the schedule was ended
    events: int = 0
    states: int = 0
    kinds: int = 0
    reached: dict[str, int] = field(default_factory=dict)

    def prove(self) -> str:
        """What was found, in words. Raises Unproved where the graph does not close, or after a run with an error."""
        self._check()
        names = [n for n in self.growth.least if n not in self.decided.symbols and n != self.decided.tiles]
        self._cover({}, names)
        places = "".join(f", {name} = {value}" for name, value in self.reached.items())
        states = f"{self.states} state" + "s" * (self.states != 1)
        noun = "tiles" if self.decided.persistent else "iterations"
        return f"all sequences of {noun}: {states} between them, {self.kinds} kinds of {noun}{places}"

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
        except NoGrowth as reason:
            raise Unproved(str(reason)) from None
        if any(self.growth.loops[x.id].tail for x in loops):
            raise Unproved("the last tile is special")

    # -- trip counts ----------------------------------------------------------------------------------------------------
    def _cover(self, values: Values, names: Sequence[str]) -> frozenset[str]:
        """All values of ``names``, which all tiles share; gives those that every walk matched."""
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
        own = {name: self._guess(name) for name in self.decided.symbols if name in self.growth.least}
        self.nodes, self.matched, self.ended = [_Node(None, 0)], {}, set()
        while True:
            ranges = {n: range(self.growth.least[n], top + 1) for n, top in own.items()}
            ranges |= {n: (low,) for n, low in self.decided.symbols.items() if n not in own}
            kinds = self.decided.kinds(self.machine.document, ranges)
            self._close(values, kinds)
            short = [n for n, top in own.items() if not self._steady(n, top)]
            if not short:
                break
            for name in short:
                own[name] += 1
                if own[name] > self._guess(name) + SPARE:
                    raise Unproved(f"no fixed point up to {name} = {own[name] - 1} in one tile")
        self.reached |= own
        self.kinds = max(self.kinds, len(kinds))
        return frozenset(
            n for n, v in values.items() if self.matched.get((n, v), True)
        )  # True: no loop over it ran

    def _steady(self, name: str, top: int) -> bool:
        return all(self.matched.get((name, top - i)) for i in range(self.growth.steps[name]))

    # -- the graph ------------------------------------------------------------------------------------------------------
    def _close(self, values: Values, kinds: Sequence[Kind]) -> None:
        """Adds walks until every state has an edge of every kind, and ends the schedule behind each state."""
        while (sequence := self._untried(kinds)) is not None:
            self._add(self._walk(sequence, values))
            if len(self.nodes) > STATES:
                raise Unproved("the states between tiles do not repeat")
        self.states = max(self.states, len(self.nodes))
        for node, path in _paths(self.nodes, 0).items():
            if node not in self.ended:
                self.ended.add(node)
                self._walk(path, values)

    def _untried(self, kinds: Sequence[Kind]) -> Path | None:
        """A sequence that tries kinds in states where they were not tried yet, as many as can be foretold."""
        edges = [dict(node.edges) for node in self.nodes]
        usual = {kind: to for of in edges for kind, to in of.items()}
        at, sequence = 0, ()
        while len(sequence) < LONG:
            path = _to_untried(edges, at, kinds)
            if path is None:
                break
            for kind in path[:-1]:
                at = edges[at][kind]
            sequence += path
            if path[-1] not in usual:
                break
            at = edges[at][path[-1]] = usual[path[-1]]
        return sequence or None

    def _add(self, walk: Walk) -> None:
        """The states of ``walk`` and the edges between them."""
        at = 0
        if self.nodes[0].walk is None:
            self.nodes[0].walk = walk
        for place, kind in enumerate(walk.sequence, 1):
            if kind not in self.nodes[at].edges:
                if place not in walk.boundaries:
                    return
                self.nodes[at].edges[kind] = self._node(walk, place)
            at = self.nodes[at].edges[kind]

    def _node(self, walk: Walk, place: int) -> int:
        loops = [self.growth.loops[i] for i in self.decided.loops]
        head, every = max(g.head for g in loops), max(g.every for g in loops)
        outline = _outline(walk, walk.boundaries[place])
        for number, node in enumerate(self.nodes):
            if node.outline and node.outline != outline:
                continue
            if (
                min(node.place, place) >= head
                and (place - node.place) % every == 0
                and self._same(node, walk, place)
            ):
                return number
        self.nodes.append(_Node(walk, place, outline))
        return len(self.nodes) - 1

    def _same(self, node: _Node, walk: Walk, place: int) -> bool:
        one: Frontier = node.walk.boundaries[node.place]
        return alike(self.machine, self.growth, node.walk, one, walk, walk.boundaries[place])

    def _walk(self, sequence: Path, values: Values) -> Walk:
        self.events += cost(self.machine.document, case_of(self.machine, sequence, values)[0])
        if self.events > EVENTS:
            raise Unproved(f"the proof would need more than {EVENTS:,} events")
        if perf_counter() > self.deadline:
            raise Unproved("the time budget ran out")
        at, known = 0, 0
        while known < len(sequence) and sequence[known] in self.nodes[at].edges:
            at, known = self.nodes[at].edges[sequence[known]], known + 1
        walk = walk_tiles(self.machine, self.growth, sequence, values, self.deadline, known)
        if not self.visit(walk.run, walk.patterns):
            raise Unproved("a run with an error")
        for key, found in walk.matched.items():
            self.matched[key] = self.matched.get(key, True) and found
        return walk


def _outline(walk: Walk, state: Frontier) -> tuple:
    """What is the same in all states that are the same but for a shift: how the stages of each ring stand, in any order."""
    stages: dict[tuple[str, str], list[tuple]] = {}
    for b, barrier in enumerate(walk.run.program.barriers):
        phase = state.state[b]
        how = repr(phase._replace(completed=0)), phase.completed == 0, len(state.log[b]), len(state.waits[b])
        known = sorted(state.last[b]), sorted(state.before[b]), state.parked[b]
        stages.setdefault((barrier.resource, barrier.side), []).append((*how, *map(str, known)))
    records = sum(x is not None for x in state.writes), sum(map(len, state.reads))
    return tuple(sorted((key, sorted(of)) for key, of in stages.items())), records, sorted(state.active)


def _paths(nodes: Sequence[_Node], start: int) -> dict[int, Path]:
    """The shortest way to every node."""
    paths, left = {start: ()}, deque([start])
    while left:
        node = left.popleft()
        for kind, to in nodes[node].edges.items():
            if to not in paths:
                paths[to] = (*paths[node], kind)
                left.append(to)
    return paths


def _to_untried(edges: Sequence[Mapping[Kind, int]], at: int, kinds: Sequence[Kind]) -> Path | None:
    """The shortest path from ``at`` that ends with a kind that was not tried there."""
    seen, left = {at}, deque([(at, ())])
    while left:
        node, path = left.popleft()
        untried = next((kind for kind in kinds if kind not in edges[node]), None)
        if untried is not None:
            return (*path, untried)
        for kind, to in edges[node].items():
            if to not in seen:
                seen.add(to)
                left.append((to, (*path, kind)))
    return None


def _uses(loop: Loop, names: Mapping[str, int]) -> bool:
    return any(s.name in names for e in (loop.start, loop.stop, loop.step) for s in symbols_of(e))
