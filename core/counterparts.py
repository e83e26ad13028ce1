"""By clock component, which values of one state stand for which of another: a map that keeps their order."""

from __future__ import annotations

from itertools import pairwise

KNOWN = 1 << 60  # more than any clock value: known to all


class Different(Exception):
    """The two states are not the same."""


class Counterparts:
    """The values met so far, and the least of each component that may still be asked for."""

    def __init__(self, components: int) -> None:
        self.pairs: list[dict[int, int]] = [{} for _ in range(components)]
        self.asked = [KNOWN] * components

    def value(self, c: int, a: int, b: int) -> None:
        """Value ``a`` of component ``c`` stands for ``b``. Raises Different where it stands for another one already."""
        if self.pairs[c].setdefault(a, b) != b:
            raise Different

    def ask(self, c: int, a: int) -> None:
        """A value of component ``c`` that the events to come may name: it must be one that moves."""
        self.asked[c] = min(self.asked[c], a)

    def newest_old(self, c: int, shift: int) -> tuple[int, int] | None:
        """The greatest value that does not move by ``shift``, with its counterpart. Raises Different where the order is not
        kept, or where it may still be asked for."""
        pairs = sorted((a, b) for a, b in self.pairs[c].items() if a != KNOWN)
        kept = all(x[1] < y[1] for x, y in pairwise(pairs))
        if not kept or self.pairs[c].get(KNOWN, KNOWN) != KNOWN or (pairs and pairs[-1][1] >= KNOWN):
            raise Different
        old = next((p for p in reversed(pairs) if p[1] != p[0] + shift), None)
        if old is not None and not (old[0] < self.asked[c] and old[1] < self.asked[c] + shift):
            raise Different
        return old
