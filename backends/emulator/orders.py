"""Who moves next: random interleavings, and adversaries that delay completions as far as the model allows.

``random``: any warp or completion may come next. ``late-reads``: warps go first, and what reads shared memory (wgmma,
stores) completes last, so that a stage which is given back too early is overwritten before it is read. ``late-writes``:
warps go first, and copies into shared memory complete last, so that a stage which is read too early still holds the old
bytes. The two adversaries also let some warps run far ahead of others.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from warpdraft.core.document import Engine

ORDERS = ("random", "late-reads", "late-writes")
WRITERS = (Engine.TMA, Engine.CP_ASYNC)  # engines that write shared memory
CHANGE = 1 / 64  # how often the adversaries change which warps run ahead

Item = TypeVar("Item")


class Order:
    """Picks the next step; the same seed picks the same ones."""

    def __init__(self, name: str, seed: int, warps: int) -> None:
        self.name = name
        self._random = random.Random(f"{name} {seed}")
        self._warps = warps
        self._rank: list[float] = []
        self._shuffle()

    @property
    def adverse(self) -> bool:
        """Whether completions, and what is not fenced, are held back."""
        return self.name != "random"

    def _shuffle(self) -> None:
        self._rank = [self._random.random() for _ in range(self._warps)]

    def pick(
        self, warps: Sequence[int], flights: Sequence[Item], engines: Sequence[Engine]
    ) -> tuple[str, object]:
        """("warp", its index) or ("flight", the item); ``engines`` are those of ``flights``. At least one is not empty."""
        if self.name == "random":
            number = self._random.randrange(len(warps) + len(flights))
            return (
                ("warp", warps[number]) if number < len(warps) else ("flight", flights[number - len(warps)])
            )
        if self._random.random() < CHANGE:
            self._shuffle()
        if warps:
            return "warp", max(warps, key=self._rank.__getitem__)
        early = [
            f for f, e in zip(flights, engines, strict=True) if (e in WRITERS) is (self.name == "late-reads")
        ]
        return "flight", self._random.choice(early) if early else flights[0]  # of those held back the oldest
