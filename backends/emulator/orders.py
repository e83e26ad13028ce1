"""Who moves next: random interleavings, and adversaries that move completions as far as the model allows.

``random``: any warp or completion may come next. ``late-reads``: warps go first, and what reads shared or tensor memory
(MMAs, stores, loads) completes last, so that a stage which is given back too early is overwritten before it is read.
``late-writes``: warps go first, and copies into shared memory complete last, so that a stage which is read too early still
holds the old bytes. ``eager``: what is started is done at once, so that a store which is started too early misses what
other warps have yet to write, or to fence. The adversaries also let some warps run far ahead of others, at first those that
set up nothing for others (`late`), so that what is not waited for is not there.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warpdraft.core.document import Engine

from .call import Body, Call

ORDERS = ("random", "late-reads", "late-writes", "eager")
WRITERS = (Engine.TMA, Engine.CP_ASYNC, Engine.TCGEN05_ST)  # engines that write what others read
CHANGE = 1 / 64  # how often the adversaries change which warps run ahead


@dataclass(slots=True, eq=False)
class Flight:
    """An asynchronous op on its way: what ``body`` makes of ``call``, what ``writes`` does, or ``arrivals`` that a
    tcgen05.commit makes on ``barriers`` once all before it are done. ``needed``: a warp is blocked until it is done."""

    warp: int
    engine: Engine
    body: Body | None
    call: Call | None
    barriers: tuple[int, ...] = ()
    bytes: int = 0
    arrivals: int = 0
    writes: Callable[[], None] | None = None
    target: int = 0  # the CTA whose memory a copy goes to
    done: bool = False
    needed: bool = False


class Order:
    """Picks the next step; the same seed picks the same ones."""

    def __init__(self, name: str, seed: int, warps: int, late: Sequence[int] = ()) -> None:
        """``late``: the warps that come last until they are `ready`, the last of them last of all."""
        self.name = name
        self._random = random.Random(f"{name} {seed}")
        self._warps = warps
        self._late = list(late)
        self._rank: list[float] = []
        self._shuffle()

    @property
    def adverse(self) -> bool:
        """Whether completions, and what is not fenced, are held back."""
        return self.name != "random"

    def _shuffle(self) -> None:
        self._rank = [self._random.random() for _ in range(self._warps)]
        for place, warp in enumerate(self._late):
            self._rank[warp] = -1 - place

    def ready(self, warp: int) -> None:
        """``warp`` has set up what it had to."""
        if warp in self._late:
            self._late.remove(warp)
            self._rank[warp] = self._random.random()

    def pick(self, warps: Sequence[int], flights: Sequence[Flight]) -> int | Flight:
        """The warp or the completion that comes next; at least one of the two is not empty, flights oldest first."""
        if not self.adverse:
            number = self._random.randrange(len(warps) + len(flights))
            return warps[number] if number < len(warps) else flights[number - len(warps)]
        if self._random.random() < CHANGE:
            self._shuffle()
        if self.name == "eager" and flights:
            return flights[0]
        if warps:
            return max(warps, key=self._rank.__getitem__)
        early = [f for f in flights if (f.engine in WRITERS) is (self.name == "late-reads")]
        if early:
            return self._random.choice(early)
        return self._random.choice(
            [f for f in flights if f.needed] or flights[:1]
        )  # held back until somebody waits
