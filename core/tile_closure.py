"""A closure (`core.closure`) over the states between tiles: in each tile, loops may have trip counts of their own.

From each state a tile is executed with each kind of conditions, and with each trip count from the least on, up to where the
last step of every loop changes nothing but what warps know (P times in a row, as in `core.periodic`): a tile that runs
longer then leads to a state that is covered by one that is known. With several such symbols this is so for the last one with
the others held, and for each one before, for all values of those behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

from .closure import Closure, State, Unclosed
from .joints import Joint
from .pieces import PieceWalk

Chosen = dict[str, int]


class _Wrong(Exception):
    """A run was not fine."""


@dataclass(slots=True)
class TileClosure(Closure):
    """``tops``: by symbol that is per tile, the value at which no fixed point is given up; ``furthest``: where they were
    reached. All of ``values`` of these symbols are their least."""

    tops: dict[str, int] = field(default_factory=dict)
    furthest: dict[str, int] = field(default_factory=dict)

    def _explore(self) -> bool:
        try:
            return Closure._explore(self)
        except _Wrong:
            return False

    def _on(self, state: State, joint: Joint, last: bool, only: bool = False) -> Iterator[State]:
        """One more tile, of every kind. What goes on from ``state`` takes a copy."""
        before, go = self._begun(state, joint, last)
        least = {name: self.values[name] for name in self.tops}
        for first, matched in self._tile(before, {}, least, go):
            yield first
            given = {k: v for k, v in first.choice.items() if k not in before.choice and k not in least}
            yield from self._longer(before, given, least, matched, go)

    def _longer(
        self, before: State, given: Chosen, least: Chosen, matched: frozenset[str], go: Callable
    ) -> Iterator[State]:
        """The tiles whose conditions begin as in ``given``, but for the one with all ``least`` trip counts."""
        known, made = {tuple(least.items()): matched}, []

        def cover(chosen: Chosen, names: list[str]) -> frozenset[str]:
            if not names:
                key = tuple(chosen.items())
                if key not in known:
                    found = list(self._tile(before, given, chosen, go))
                    made.extend(after for after, _ in found)
                    known[key] = frozenset.intersection(*(of for _, of in found))
                return known[key]
            name, *rest = names
            common, streak, step = None, 0, self.growth.steps[name]
            for value in count(least[name]):
                if value > self.tops[name]:
                    self._judged(made)
                    raise Unclosed(f"no fixed point up to {name} = {value - 1} in one tile")
                found = cover({**chosen, name: value}, rest)
                common = found if common is None else common & found
                streak = streak + 1 if name in found and value >= self.growth.settled[name] else 0
                if streak >= step:
                    self.furthest[name] = max(value, self.furthest.get(name, value))
                    return common
            raise AssertionError

        cover({}, list(least))
        yield from made

    def _tile(
        self, before: State, given: Chosen, chosen: Chosen, go: Callable[[PieceWalk], None]
    ) -> Iterator[tuple[State, frozenset[str]]]:
        """The states after a tile with the trip counts ``chosen``, and the symbols whose loops have matched in it."""

        def walk(w: PieceWalk) -> None:
            w.values = {**w.values, **chosen}
            go(w)

        own = self.tops.keys()
        self.different -= own
        for after in self._branches(before, {**before.choice, **chosen, **given}, walk):
            matched = frozenset(own - self.different)
            if after.wrong:  # longer tiles would not end well either
                self._judged([after])
            yield after, matched
            self.different -= own

    def _judged(self, states: Iterable[State]) -> None:
        """Raises _Wrong if the runs that end soon behind ``states`` are not all fine."""
        if not all(self._finished(state, last=False) for state in states):
            raise _Wrong
