"""A timeline as an SVG image of its own: for export, comparisons and reports. Nothing in it asks for anything outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from .thinning import Arrays
from .timeline import Columns, Drawing
from .timeline_colors import ROW_PIXELS, THEMES

LEFT = 118  # pixels for the names of lanes
AXIS = 22
TICKS = 8


def timeline_svg(
    drawing: Drawing,
    colors: Mapping[str, int],
    theme: str = "light",
    width: int = 1280,
    window: tuple[float, float] | None = None,
    title: str = "Predicted timeline",
) -> str:
    """The bars, waits and stages of ``window`` (all, if not given); ``colors``: each task's number, as in `task_colors`."""
    return "".join(_Picture(drawing, colors, theme, width, window).parts(title))


class _Picture:
    def __init__(
        self,
        drawing: Drawing,
        colors: Mapping[str, int],
        theme: str,
        width: int,
        window: tuple[float, float] | None,
    ) -> None:
        self.drawing, self.tasks, self.colors = drawing, colors, THEMES[theme]
        self.low, self.high = window or (0.0, max(1.0, float(drawing.total)))
        self.width, self.height = width, drawing.height * ROW_PIXELS
        self.scale = (width - LEFT - 8) / max(1e-9, self.high - self.low)

    def parts(self, title: str) -> Iterator[str]:
        height = self.height + AXIS
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{height:.0f}" '
            f'viewBox="0 0 {self.width} {height:.0f}" font-family="monospace" font-size="10" role="img">'
        )
        yield f"<title>{escape(title)}</title>"
        yield (
            '<defs><pattern id="wait" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
            f'<path d="M0 0V5" stroke="{self.colors["wait"]}" stroke-width="1.2"/></pattern></defs>'
        )
        yield f'<rect width="{self.width}" height="{height:.0f}" fill="{self.colors["paper"]}"/>'
        yield from self._axis()
        yield from self._quads(drawing_columns(self.drawing.stages), self._stage)
        yield from self._quads(drawing_columns(self.drawing.waits), lambda row: "url(#wait)")
        yield from self._quads(drawing_columns(self.drawing.bars), self._bar)
        for band in self.drawing.bands:
            y = (band.top + band.bottom) / 2 * ROW_PIXELS + 3.5
            place = f'x="{LEFT - 6}" y="{y:.1f}" text-anchor="end"'
            yield f'<text {place} fill="{self.colors["text"]}">{escape(band.label)}</text>'
        yield "</svg>"

    def _axis(self) -> Iterator[str]:
        step = _step((self.high - self.low) / TICKS)
        tick = -(-self.low // step) * step
        while tick <= self.high:
            x = LEFT + (tick - self.low) * self.scale
            yield f'<path d="M{x:.1f} 0V{self.height:.1f}" stroke="{self.colors["grid"]}"/>'
            yield (
                f'<text x="{x:.1f}" y="{self.height + 14:.1f}" text-anchor="middle" '
                f'fill="{self.colors["text"]}">{round(tick):,}</text>'
            )
            tick += step

    def _quads(self, columns: Columns, fill) -> Iterator[str]:
        if not columns["left"]:
            return
        shown = Arrays(columns).within((self.low, self.high))
        names = list(shown)
        for values in zip(*shown.values(), strict=True):
            row = dict(zip(names, values, strict=True))
            left, right = max(row["left"], self.low), min(row["right"], self.high)
            if right <= left:
                continue
            x, width = LEFT + (left - self.low) * self.scale, max(0.4, (right - left) * self.scale)
            y, height = row["top"] * ROW_PIXELS, (row["bottom"] - row["top"]) * ROW_PIXELS
            words = f"{row.get('op', '')} {row.get('about', '')} {row.get('at', '')}".strip()
            yield (
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill(row)}">'
                f"<title>{escape(words)}: {round(row['left'])} .. {round(row['right'])}</title></rect>"
            )

    def _stage(self, row: Mapping) -> str:
        return self.colors["states"].get(row["state"], self.colors["grid"])

    def _bar(self, row: Mapping) -> str:
        if row["task"] in self.tasks:
            color = self.colors["tasks"][self.tasks[row["task"]]]
            alpha = {"work": 1, "in-flight": 0.56}.get(row["kind"], 0.69)
            return f'{color}" fill-opacity="{alpha}'
        return self.colors["engine"]


def drawing_columns(columns: Columns) -> Columns:
    """The columns, with those that an empty drawing lacks."""
    return columns if "left" in columns else {**columns, "left": []}


def _step(least: float) -> float:
    """1, 2 or 5 times a power of ten, at least ``least`` and 1."""
    power = 1.0
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least:
                return factor * power
        power *= 10
