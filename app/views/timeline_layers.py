"""What a figure of the timeline is made of: quads for bars, hatched ones for waits, arrows, outlines and words.

Two figures show the same columns of numbers: the head, with the time axis and the lanes that are pinned, and the body.
"""

from __future__ import annotations

from itertools import repeat

import numpy as np
from bokeh.models import (
    BoxAnnotation,
    BoxSelectTool,
    ColumnDataSource,
    CustomJSTickFormatter,
    FixedTicker,
    HoverTool,
    PanTool,
    Range1d,
    TapTool,
)
from bokeh.plotting import figure

from .timeline import Band, Columns

QUAD = ("left", "right", "top", "bottom")
COLUMNS = {
    "solid": ("xs", "ys", "fill"),
    "hatched": ("xs", "ys"),
    "bars": (*QUAD, "op", "at", "kind", "about", "name", "text"),
    "waits": (*QUAD, "op", "at", "kind", "about", "text"),
    "stages": (*QUAD, "state", "about"),
    "arrows": ("x0", "y0", "x1", "y1", "angle"),
    "names": ("x", "y", "name", "ink"),
    "lit": QUAD,
    "bad": QUAD,
    "found": QUAD,
    "lanes": QUAD,
    "ties": ("x0", "y0", "x1", "y1", "angle", "x", "y", "text", "align"),
}
LETTER = 6.1  # pixels that a letter of a lane's label is wide, in a monospace font of 10 px
UNSEEN = "warpdraft-unseen"
CYCLES = "return Math.round(tick).toLocaleString('en') + (index == ticks.length - 1 ? ' cycles' : '')"

Sources = dict[str, ColumnDataSource]


def sources() -> Sources:
    """Empty columns for everything that is drawn."""
    return {name: ColumnDataSource({c: [] for c in columns}) for name, columns in COLUMNS.items()}


def put(into: Sources, name: str, columns: Columns) -> None:
    """Have the source ``name`` hold what is drawn of ``columns``; what it holds already is not sent again."""
    drawn, held = {column: columns[column] for column in COLUMNS[name]}, into[name].data
    if not all(_equal(held[column], values) for column, values in drawn.items()):
        into[name].data = drawn


def _equal(held: list, values: list) -> bool:
    if values and isinstance(values[0], np.ndarray):
        return len(held) == len(values) and all(map(np.array_equal, held, values, repeat(True)))
    return held == values


class Layers:
    """One figure over ``columns`` with the time range ``x``; ``axis`` draws the time above it."""

    def __init__(self, columns: Sources, x: Range1d, name: str, axis: bool) -> None:
        self.y = Range1d(1, 0)
        self._ticker = FixedTicker(ticks=[])  # kept: at a new model Bokeh looks through the whole page
        self.figure = figure(
            x_range=x,
            y_range=self.y,
            height=200,
            sizing_mode="stretch_width",
            toolbar_location=None,
            tools="xpan,xwheel_zoom",
            active_drag="xpan",
            active_scroll="xwheel_zoom",
            lod_threshold=None,
            lod_interval=0,  # else each step of a drag is painted a second time, half a second later
            title=None,
            min_border=0,
            min_border_right=8,
            outline_line_color=None,
            x_axis_location="above" if axis else None,
            name=name,
        )
        self._glyphs(columns)
        self._tools()
        self._axes()

    def _glyphs(self, columns: Sources) -> None:
        draw, quads = self.figure, {name: name for name in QUAD}
        self._lanes = draw.quad(**quads, source=columns["lanes"], line_color=None)
        draw.patches(xs="xs", ys="ys", source=columns["solid"], fill_color="fill", line_color=None)
        self._hatched = draw.patches(
            xs="xs", ys="ys", source=columns["hatched"], fill_color=None, hatch_pattern="/", hatch_scale=6,
            hatch_weight=1, line_width=0.6,
        )  # fmt: skip
        # Found under the mouse, not seen; the page's script spares a frame the way through them.
        bare = {**quads, "fill_color": None, "line_color": None, "name": UNSEEN}
        self._stages, self._waits, self._bars = (
            draw.quad(source=columns[name], **bare) for name in ("stages", "waits", "bars")
        )
        arrows = columns["arrows"]
        self._segments = draw.segment(
            x0="x0", y0="y0", x1="x1", y1="y1", source=arrows, line_width=0.9, line_alpha=0.75
        )
        self._heads = draw.scatter(
            x="x1", y="y1", angle="angle", marker="triangle", size=5, source=arrows, line_color=None
        )
        self._names = draw.text(
            x="x", y="y", text="name", source=columns["names"], text_font={"value": "monospace"}, text_font_size="9px",
            text_align="center", text_baseline="middle", text_color="ink",
        )  # fmt: skip
        self._lit = draw.quad(**quads, source=columns["lit"], fill_alpha=0.0, line_width=2)
        self._found = draw.quad(
            **quads, source=columns["found"], fill_alpha=0.25, line_width=1.6, line_dash="dotted"
        )
        self._bad = draw.quad(**quads, source=columns["bad"], fill_alpha=0.18, line_width=1.6)

        ties = columns["ties"]
        self._ties = draw.segment(
            x0="x0", y0="y0", x1="x1", y1="y1", source=ties, line_width=2, line_dash="dashed"
        )
        self._tie_heads = draw.scatter(
            x="x1", y="y1", angle="angle", marker="triangle", size=9, source=ties, line_color=None
        )
        self._tie_words = draw.text(
            x="x", y="y", text="text", source=ties, text_font_size="11px", text_font_style="bold", text_align="align",
            text_baseline="middle", background_fill_alpha=0.85, padding=2, x_offset=-6,
        )  # fmt: skip

    def _tools(self) -> None:
        draw, marks = self.figure, [self._bars, self._waits]
        words = "<b>@text</b><br>@op @kind @about<br>@at<br>cycles @left{0,0} .. @right{0,0}"
        stage = "<b>@about</b> @state<br>cycles @left{0,0} .. @right{0,0}"
        draw.add_tools(
            HoverTool(renderers=marks, tooltips=words, point_policy="follow_mouse"),
            HoverTool(renderers=[self._stages], tooltips=stage),
            TapTool(renderers=marks),
        )
        self._pan = next(tool for tool in draw.tools if isinstance(tool, PanTool))
        self._ruler = BoxSelectTool(dimensions="width", renderers=[])
        self._stretch = BoxAnnotation(visible=False, level="overlay")
        draw.add_tools(self._ruler)
        draw.add_layout(self._stretch)

    def _axes(self) -> None:
        draw = self.figure
        draw.yaxis.ticker = self._ticker
        draw.axis.major_label_text_font = "monospace"
        draw.axis.major_label_text_font_size = "10px"
        draw.axis.axis_line_color = draw.axis.minor_tick_line_color = draw.yaxis.major_tick_line_color = None
        draw.axis.major_tick_in = 0
        draw.ygrid.visible = False
        draw.xaxis.formatter = CustomJSTickFormatter(code=CYCLES)

    def show(self, bands: tuple[Band, ...], top: float, bottom: float, pixels: int, letters: int) -> None:
        """Show heights ``top`` to ``bottom``, where ``bands`` lie, on ``pixels``; their labels have up to ``letters``."""
        self.y.update(start=bottom, end=top)
        self.figure.height = pixels
        self.figure.min_border_left = int(letters * LETTER) + 10  # the two figures begin at the same place
        centres = [(band.top + band.bottom) / 2 for band in bands]
        labels = {centre: band.label for centre, band in zip(centres, bands, strict=True)}
        self._ticker.ticks = centres
        for renderer in self.figure.renderers:
            renderer.visible = bool(bands)  # else a frame pays for what lies outside
        self.figure.yaxis.major_label_overrides = labels

    def paint(self, colors: dict) -> None:
        """Use the ``colors`` of a theme."""
        draw = self.figure
        draw.background_fill_color = draw.border_fill_color = colors["paper"]
        draw.axis.major_label_text_color = colors["text"]
        draw.axis.major_tick_line_color = draw.xgrid.grid_line_color = colors["grid"]
        draw.yaxis.major_tick_line_color = None
        self._hatched.glyph.update(hatch_color=colors["wait"], line_color=colors["wait"])
        self._segments.glyph.line_color = self._heads.glyph.fill_color = colors["arrow"]
        self._lit.glyph.line_color = colors["lit"]
        self._bad.glyph.update(line_color=colors["error"], fill_color=colors["error"])
        self._ties.glyph.line_color = self._tie_heads.glyph.fill_color = colors["error"]
        self._tie_words.glyph.update(text_color=colors["error"], background_fill_color=colors["paper"])
        self._found.glyph.update(line_color=colors["found"], fill_color=colors["found"])
        self._lanes.glyph.fill_color = colors["measured"]
        for box in (self._stretch, self._ruler.overlay):
            box.update(fill_color=colors["lit"], fill_alpha=0.12, line_color=colors["lit"])

    def measuring(self, on: bool) -> None:
        """Whether a drag measures, instead of panning."""
        self.figure.toolbar.active_drag = self._ruler if on else self._pan

    def stretch(self, span: tuple[float, float] | None) -> None:
        """Shade the measured stretch of time."""
        self._stretch.visible = span is not None
        if span is not None:
            self._stretch.update(left=span[0], right=span[1])
