"""Which of very many bars go to the screen: those in view, and of those too narrow to tell apart one for each place."""

from __future__ import annotations

import numpy as np

from .timeline import Columns

MOST = 1200  # bars of one kind sent at once; a browser pans these without effort
PIXELS = 1600  # width of a wide window
MARGIN = 0.5  # of the window's width, on both sides, so that a small pan needs nothing new


class Arrays:
    """The columns of many bars (left, right, top and more), ready to be cut out of."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.number = len(columns["left"])
        self._left = np.asarray(columns["left"], dtype=float)
        self._right = np.asarray(columns["right"], dtype=float)
        _, self._row = np.unique(np.round(np.asarray(columns["top"], dtype=float)), return_inverse=True)

    def within(self, window: tuple[float, float]) -> Columns:
        """The columns of at most about `MOST` bars: all, or those near ``window``, with narrow ones merged."""
        if self.number <= MOST:
            return dict(self._columns)
        low, high = window
        margin = (high - low) * MARGIN
        near = np.flatnonzero((self._right >= low - margin) & (self._left <= high + margin))
        chosen, width = near, max((high - low) / PIXELS, 1e-9)
        while len(chosen) > MOST:
            chosen = self._merged(near, width)
            width *= 1.6
        columns = self._columns_of(chosen)
        if len(chosen) < len(near):  # a merged bar is as wide as the place that it stands for
            columns["right"] = np.maximum(self._right[chosen], self._left[chosen] + width / 1.6).tolist()
        return columns

    def wider(self, window: tuple[float, float], width: float) -> Columns:
        """The columns of the bars that reach into ``window`` and are wider than ``width``."""
        seen = (self._right > window[0]) & (self._left < window[1]) & (self._right - self._left > width)
        return self._columns_of(np.flatnonzero(seen))

    def _columns_of(self, chosen: np.ndarray) -> Columns:
        return {name: [values[i] for i in chosen.tolist()] for name, values in self._columns.items()}

    def _merged(self, near: np.ndarray, width: float) -> np.ndarray:
        """The bars of at least ``width``, and the first of the narrower ones in each row and column of that width."""
        narrow = self._right[near] - self._left[near] < width
        places = np.floor(self._left[near[narrow]] / width).astype(np.int64)
        keys = places * (int(self._row.max()) + 1) + self._row[near[narrow]]
        _, first = np.unique(keys, return_index=True)
        wide = near[~narrow]
        if len(wide) > MOST:  # wider places would not help: every second one, until they are few
            wide = wide[:: -(-len(wide) // MOST)]
        return np.sort(np.concatenate([wide, near[narrow][first]]))
