"""What is painted of very many bars: those that look alike and lie in one row are one path, so that a frame is a few fills.

A browser without a GPU fills some hundred paths in a frame, not some thousand bars. What is too narrow to tell apart is
merged: a run of bars with less than a pixel between them is one rectangle, and none is narrower than a pixel.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from .thinning import MARGIN, MOST, PIXELS
from .timeline import Columns

MOST_RUNS = 3000  # rectangles of one kind sent at once
PIECE = 0.5  # of the window's width: a path ends there, and one that is out of view is not painted
PIECES = 8  # on each side of the window's start


class Runs:
    """Bars as paths: one for each row (top and bottom), ``looks``, of which each bar has one, and piece of time."""

    def __init__(self, columns: Columns, looks: Sequence[Hashable]) -> None:
        keys = list(zip(columns["top"], columns["bottom"], looks, strict=True))
        place = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        self._groups = list(place)
        group = np.array([place[key] for key in keys], dtype=np.int64)
        left, right = (np.asarray(columns[name], dtype=float) for name in ("left", "right"))
        order = np.lexsort((left, group))
        self._group, self._left, self._right = group[order], left[order], right[order]

    def within(self, window: tuple[float, float]) -> tuple[list, Columns]:
        """The look of each path, and its "xs" and "ys": rectangles with NaN between them. All bars where they are few, else
        those near ``window``, merged where they are narrow."""
        low, high = window
        margin = (high - low) * MARGIN
        near, pixel = slice(None), 0.0
        if len(self._left) > MOST:
            near = np.flatnonzero((self._right >= low - margin) & (self._left <= high + margin))
            pixel = (high - low) / PIXELS
        bars = self._left[near], self._right[near], self._group[near]
        runs = _merged(*bars, pixel)
        while len(runs[0]) > MOST_RUNS:
            pixel *= 1.6
            runs = _merged(*bars, pixel)
        return self._paths(*runs, low, (high - low) * PIECE)

    def _paths(
        self, left: np.ndarray, right: np.ndarray, group: np.ndarray, low: float, piece: float
    ) -> tuple[list, Columns]:
        pieces = np.clip((left - low) // piece, -PIECES, PIECES - 1).astype(np.int64) + PIECES
        shown, first = np.unique(group * (2 * PIECES) + pieces, return_index=True)
        ends = np.full(len(left), np.nan)
        across = np.stack([left, right, right, left, ends], axis=1)
        looks, columns = [], {"xs": [], "ys": []}
        for index, part in zip(shown.tolist(), np.split(across, first)[1:], strict=True):
            top, bottom, look = self._groups[index // (2 * PIECES)]
            looks.append(look)
            columns["xs"].append(part.ravel())
            columns["ys"].append(np.tile([top, top, bottom, bottom, np.nan], len(part)))
        return looks, columns


def _merged(
    left: np.ndarray, right: np.ndarray, group: np.ndarray, pixel: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Left, right and group of each run: bars that overlap, or less than a pixel apart where one of the two is narrow."""
    if not len(left):
        return left, right, group
    apart = group * (right.max() - left.min() + 1)  # so that what one group reaches says nothing of the next
    reached = np.maximum.accumulate(right + apart) - apart
    gap, narrow = left[1:] - reached[:-1], right - left < pixel
    split = (group[1:] != group[:-1]) | (gap > pixel) | ((gap > 0) & ~narrow[1:] & ~narrow[:-1])
    first = np.flatnonzero(np.concatenate([[True], split]))
    last = np.append(first[1:], len(left)) - 1
    return left[first], np.maximum(reached[last], left[first] + pixel), group[first]
