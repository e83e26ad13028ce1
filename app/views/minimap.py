"""The whole timeline in small: how busy each lane is, and a box over what the figure shows, to drag."""

from __future__ import annotations

import numpy as np
from bokeh.models import LinearColorMapper, Range1d, RangeTool
from bokeh.plotting import figure

from .timeline import Drawing

BINS = 320
HEIGHT = 34  # pixels
SHADES = 8


class Minimap:
    """A figure whose box moves ``x``, the range of the timeline's figure."""

    def __init__(self, x: Range1d) -> None:
        self.x, self.y = Range1d(0, 1), Range1d(1, 0)
        self.figure = figure(
            x_range=self.x, y_range=self.y, height=HEIGHT, sizing_mode="stretch_width", toolbar_location=None, tools="",
            min_border=0, outline_line_color=None, name="warpdraft-minimap",
        )  # fmt: skip
        self.figure.axis.visible = False
        self.figure.grid.visible = False
        self._mapper = LinearColorMapper(palette=["#ffffff"], low=0.0, high=1.0)
        self._image = self.figure.image(
            image=[np.zeros((1, 1))], x=0, y=0, dw=1, dh=1, color_mapper=self._mapper
        )
        self._tool = RangeTool(x_range=x, start_gesture="none")
        self.figure.add_tools(self._tool)

    def show(self, drawing: Drawing) -> None:
        """Another timeline."""
        self.x.update(start=0, end=max(1, drawing.total))
        image = density(drawing)
        if not np.array_equal(image, self._image.data_source.data["image"][0]):
            self._image.data_source.data = {"image": [image]}
        self._image.glyph.update(x=0, y=0, dw=max(1, drawing.total), dh=1)

    def paint(self, paper: str, ink: str) -> None:
        """Shades from ``paper`` to ``ink``."""
        self._mapper.palette = [_mixed(paper, ink, 0.85 * i / (SHADES - 1)) for i in range(SHADES)]
        self.figure.background_fill_color = self.figure.border_fill_color = paper
        self._tool.overlay.update(fill_color=ink, fill_alpha=0.12, line_color=ink, line_alpha=0.9)


def density(drawing: Drawing) -> np.ndarray:
    """For each band (a row) and each of `BINS` times: the part of it in which something works there."""
    edges = np.linspace(0, max(1, drawing.total), BINS + 1)
    tops = np.array([band.top for band in drawing.bands] or [0.0])
    image = np.zeros((len(tops), BINS), dtype=np.float32)
    for columns in (drawing.bars, drawing.stages):
        if not columns["left"]:
            continue
        left, right = np.asarray(columns["left"], float), np.asarray(columns["right"], float)
        rows = np.searchsorted(tops, np.asarray(columns["top"], float) + 1e-6, side="right") - 1
        for row in np.unique(rows):
            here = rows == row
            covered = _before(edges, left[here]) - _before(edges, right[here])
            image[row] += np.diff(covered) / (edges[1] - edges[0])
    return np.minimum(image, 1.0)


def _before(edges: np.ndarray, times: np.ndarray) -> np.ndarray:
    """For each edge the sum of (edge - time) over the times before it."""
    times = np.sort(times)
    sums = np.concatenate([[0.0], np.cumsum(times)])
    number = np.searchsorted(times, edges)
    return number * edges - sums[number]


def _mixed(a: str, b: str, part: float) -> str:
    pairs = ((int(a[i : i + 2], 16), int(b[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(x + (y - x) * part):02x}" for x, y in pairs)
