"""Finding bars by words, and measuring a stretch of time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .timeline import Drawing

FIELDS = ("op", "at", "kind", "about", "lane", "task")


@dataclass(frozen=True, slots=True)
class Match:
    """A bar: its times, its place, and what it is."""

    left: float
    right: float
    top: float
    bottom: float
    op: str
    lane: str


def matches(drawing: Drawing, text: str) -> tuple[Match, ...]:
    """The bars that have every word of ``text`` somewhere, by time."""
    words = text.lower().split()
    if not words:
        return ()
    found: list[Match] = []
    for columns in (drawing.bars, drawing.waits):
        known: dict[tuple, bool] = {}
        rows = zip(*(columns[name] for name in FIELDS), strict=True)
        for i, row in enumerate(rows):
            if row not in known:
                line = " ".join(map(str, row)).lower()
                known[row] = all(word in line for word in words)
            if known[row]:
                found.append(
                    Match(*(columns[n][i] for n in ("left", "right", "top", "bottom", "op", "lane")))
                )
    return tuple(sorted(found, key=lambda m: (m.left, m.top)))


@dataclass(frozen=True, slots=True)
class Measure:
    """A stretch of time from ``low`` to ``high``; ``busy``: how many of its cycles each lane works."""

    low: float
    high: float
    busy: tuple[tuple[str, int], ...] = ()

    @property
    def text(self) -> str:
        """One line."""
        cycles = round(self.high - self.low)
        shares = [f"{lane} {100 * n // max(1, cycles)} %" for lane, n in self.busy[:3]]
        busy = f"; busy: {', '.join(shares)}" if shares else ""
        return f"{cycles:,} cycles, from {round(self.low):,} to {round(self.high):,}{busy}"


def measure(drawing: Drawing, low: float, high: float) -> Measure:
    """What happens from ``low`` to ``high``."""
    low, high = max(0.0, min(low, high)), min(float(drawing.total), max(low, high))
    if high <= low:
        return Measure(low, low)
    spans: dict[str, list[tuple[float, float]]] = {}
    bars = drawing.bars
    for lane, left, right in zip(bars["lane"], bars["left"], bars["right"], strict=True):
        if left < high and right > low:
            spans.setdefault(lane, []).append((max(left, low), min(right, high)))
    busy = {lane: _covered(parts) for lane, parts in spans.items()}
    return Measure(low, high, tuple(sorted(busy.items(), key=lambda item: -item[1])))


def _covered(spans: Iterable[tuple[float, float]]) -> int:
    """The length of the union."""
    total, end = 0.0, float("-inf")
    for left, right in sorted(spans):
        total += max(0.0, right - max(left, end))
        end = max(end, right)
    return round(total)
