"""Tensor memory in the timeline, columns downwards: allocations, and in them what is in use, aliases one over the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from warpdraft.core.layout import TMEM_CAPACITY
from warpdraft.core.simulate.timeline import Columns

HEIGHT = 2.8  # of all columns, in heights of a warp's lane
LEAST = 0.35  # height of a few columns that something uses: by their number they would be a line


def tensor_memory(spans: Sequence[Columns], top: float, into: dict[str, list]) -> float:
    """Appends quads for the ``spans`` of a CTA, from ``top`` down, to the columns of stages; their height."""
    places = _places(spans)
    for span in spans:
        what = f"{span.what} columns {span.low}-{span.high - 1}".strip()
        values = (span.start, span.end, top + places[span.low], top + places[span.high], span.state, what)
        for key, value in zip(("left", "right", "top", "bottom", "state", "about"), values, strict=True):
            into[key].append(value)
    return max(places.values())


def _places(spans: Sequence[Columns]) -> dict[int, float]:
    """How far down each column lies at which a span begins or ends."""
    edges = sorted({0, TMEM_CAPACITY}.union(*((s.low, s.high) for s in spans)))
    places = {0: 0.0}
    for low, high in pairwise(edges):
        used = any(s.what and s.low < high and low < s.high for s in spans)
        places[high] = places[low] + max((high - low) / TMEM_CAPACITY * HEIGHT, LEAST if used else 0.0)
    return places
