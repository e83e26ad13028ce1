"""Timelines put together and lanes put in another order: each takes drawings and gives a new one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from .timeline import GAP, Band, Columns, Drawing

LAST = ("stage", "columns")  # kinds of band that follow the lanes


def pinned(drawing: Drawing, labels: Collection[str]) -> Drawing:
    """The bands called ``labels`` first, the others in their order after them."""
    order = sorted(range(len(drawing.bands)), key=lambda i: drawing.bands[i].label not in labels)
    return reordered(drawing, order)


def reordered(drawing: Drawing, order: Sequence[int]) -> Drawing:
    """The bands in ``order``, which names each once."""
    if list(order) == list(range(len(drawing.bands))):
        return drawing
    bands: list[Band] = []
    moved = np.zeros(len(drawing.bands))
    top = GAP
    for index in order:
        band = drawing.bands[index]
        bands.append(replace(band, top=top))
        moved[index] = top - band.top
        top = bands[-1].bottom + GAP
    tops = np.array([band.top for band in drawing.bands])
    return replace(
        drawing,
        bands=tuple(bands),
        bars=_moved(drawing.bars, tops, moved),
        waits=_moved(drawing.waits, tops, moved),
        stages=_moved(drawing.stages, tops, moved),
        arrows=_moved(drawing.arrows, tops, moved),
        height=top,
    )


def _moved(columns: Columns, tops: np.ndarray, moved: np.ndarray) -> Columns:
    """The columns with every height moved along with the band that it lies in."""
    pairs = (("top", "bottom"), ("y0",), ("y1",))
    changed = dict(columns)
    for names in pairs:
        if names[0] not in columns or not columns[names[0]]:
            continue
        first = np.asarray(columns[names[0]], dtype=float)
        by = moved[np.clip(np.searchsorted(tops, first + 1e-6, side="right") - 1, 0, None)]
        for name in names:
            changed[name] = (np.asarray(columns[name], dtype=float) + by).tolist()
    if "angle" in columns and "y0" in changed:
        ends = zip(changed["y0"], changed["y1"], strict=True)
        changed["angle"] = [3.14159 if y1 > y0 else 0.0 for y0, y1 in ends]
    return changed


def joined(upper: Drawing, lower: Drawing, suffix: str, kind: str = "") -> Drawing:
    """Both on one time axis, ``lower`` below; ``suffix`` is added to its lanes' names, ``kind`` replaces their kind."""
    by = upper.height
    bands = tuple(
        replace(band, label=band.label + suffix, top=band.top + by, kind=kind or band.kind)
        for band in lower.bands
    )
    spans = dict(upper.by_op)
    for op, (low, high) in lower.by_op.items():
        first, last = spans.get(op, (low, high))
        spans[op] = (min(low, first), max(high, last))
    return Drawing(
        (*upper.bands, *bands),
        _stacked(upper.bars, lower.bars, by, suffix),
        _stacked(upper.waits, lower.waits, by, suffix),
        _stacked(upper.stages, lower.stages, by, suffix),
        _stacked(upper.arrows, lower.arrows, by, suffix),
        max(upper.total, lower.total),
        by + lower.height,
        spans,
    )


def _stacked(upper: Columns, lower: Columns, by: float, suffix: str) -> Columns:
    stacked: Columns = {}
    for name, values in upper.items():
        more = lower.get(name, [])
        if name in ("top", "bottom", "y0", "y1"):
            more = [value + by for value in more]
        elif name == "lane":
            more = [value + suffix for value in more]
        stacked[name] = [*values, *more]
    return stacked


def interleaved(drawing: Drawing, suffix: str) -> Drawing:
    """Each lane with ``suffix`` right below the one without it; those that have none stay at the end of the lanes."""
    place = {band.label: i for i, band in enumerate(drawing.bands)}

    def key(index: int) -> tuple[bool, int, int]:
        band = drawing.bands[index]
        twin = place.get(band.label.removesuffix(suffix), index)
        return band.kind in LAST, twin, index

    return reordered(drawing, sorted(range(len(drawing.bands)), key=key))
