"""Where two timelines of one schedule disagree about order: a wait that is held up in one of them only.

A wait is held up where what frees it comes after it. So one that is held up in one timeline and passes in the other
means that the two events come in the other order there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .timeline import At, Bar, Timeline

NEGLIGIBLE = 100  # cycles: a wait that is shorter says nothing of order; clocks are read before and after it


class Difference(NamedTuple):
    """``op`` on ``lane`` in iteration ``at`` takes ``one`` cycles in the first timeline and ``other`` in the second; it is
    held up in exactly one of them."""

    lane: str
    op: str
    at: At
    one: int
    other: int


def differences(one: Timeline, other: Timeline) -> tuple[Difference, ...]:
    """Of all waits that are in both, by when they begin in ``one``."""
    found, known = [], _waits(other)
    for key, bar in _waits(one).items():
        twin = known.get(key)
        if twin is not None and _held(bar) != _held(twin):
            longer, shorter = sorted((bar.end - bar.start, twin.end - twin.start), reverse=True)
            if longer - shorter > NEGLIGIBLE:
                found.append((bar.start, Difference(*key, bar.end - bar.start, twin.end - twin.start)))
    return tuple(difference for _, difference in sorted(found))


def _waits(timeline: Timeline) -> dict[tuple[str, str, At], Bar]:
    """The bars of warps by lane, op and iteration; of several that share these, the longest."""
    found: dict[tuple[str, str, At], Bar] = {}
    for key, bar in _of_warps(timeline):
        if key not in found or bar.end - bar.start > found[key].end - found[key].start:
            found[key] = bar
    return found


def _of_warps(timeline: Timeline) -> Iterator[tuple[tuple[str, str, At], Bar]]:
    for bar in timeline.bars:
        lane = timeline.lanes[bar.lane]
        if lane.kind == "warp" and not bar.open:
            yield (lane.name, bar.op, bar.at), bar


def _held(bar: Bar) -> bool:
    return bar.kind == "wait"
