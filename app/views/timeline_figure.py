"""The timeline's figure: quads for bars, hatched ones for waits, arrows from an arrival to the wait that it frees.

The figure is made once; a new timeline, theme or selection only replaces data and colours. Of many bars only those of the
visible window are sent, see `thinning`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bokeh.events import RangesUpdate, SelectionGeometry
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

from .minimap import Minimap
from .thinning import MARGIN, MOST, Arrays
from .timeline import Columns, Drawing
from .timeline_colors import ROW_PIXELS, THEMES

MOST_ARROWS = 300

QUAD = ("left", "right", "top", "bottom")
COLUMNS = {
    "bars": (*QUAD, "op", "at", "kind", "about", "fill"),
    "waits": (*QUAD, "op", "at", "kind", "about"),
    "stages": (*QUAD, "state", "about", "fill"),
    "arrows": ("x0", "y0", "x1", "y1", "angle"),
    "lit": QUAD,
    "bad": QUAD,
    "found": QUAD,
    "lanes": QUAD,
}
Places = frozenset[tuple[str, str]]  # (op, iteration in words)


class TimelineFigure:
    """Owns the Bokeh figure and its minimap. ``on_pick(op id)`` is called when a bar is clicked, ``on_measure(low, high)``
    when a stretch of time has been dragged out."""

    def __init__(
        self,
        on_pick: Callable[[str], None],
        on_measure: Callable[[float, float], None] = lambda low, high: None,
    ) -> None:
        self._on_pick, self._on_measure = on_pick, on_measure
        self._drawing: Drawing | None = None
        self._arrays: dict[str, Arrays] = {}
        self._tasks: Mapping[str, int] = {}
        self._theme = "light"
        self._lit: frozenset[str] = frozenset()
        self._bad: Places = frozenset()
        self._window: tuple[float, float] | None = None
        self._sent: tuple[float, float] = (0.0, 0.0)
        self.x = Range1d(0, 1, bounds=(0, 1), min_interval=20)
        self.y = Range1d(1, 0)
        self.figure = figure(
            x_range=self.x,
            y_range=self.y,
            height=200,
            sizing_mode="stretch_width",
            toolbar_location=None,
            tools="xpan,xwheel_zoom",
            active_drag="xpan",
            active_scroll="xwheel_zoom",
            lod_threshold=None,
            min_border=0,
            outline_line_color=None,
            name="warpdraft-timeline",
        )
        self._sources = {
            name: ColumnDataSource({c: [] for c in columns}) for name, columns in COLUMNS.items()
        }
        self._glyphs()
        self._axes()
        self.figure.on_event(RangesUpdate, self._moved)
        self.figure.on_event(SelectionGeometry, self._measured)
        self.x.on_change("end", lambda attr, old, new: self._moved(None))  # the minimap's box was dragged
        self.minimap = Minimap(self.x)
        self._sources["bars"].selected.on_change("indices", lambda attr, old, new: self._picked("bars"))
        self._sources["waits"].selected.on_change("indices", lambda attr, old, new: self._picked("waits"))

    def _glyphs(self) -> None:
        draw, quads = self.figure, {"left": "left", "right": "right", "top": "top", "bottom": "bottom"}
        steady = {"nonselection_fill_alpha": 1.0, "nonselection_line_alpha": 0.0}
        self._lanes = draw.quad(**quads, source=self._sources["lanes"], line_color=None)
        self._stages = draw.quad(**quads, source=self._sources["stages"], fill_color="fill", line_color=None)
        self._waits = draw.quad(
            **quads, source=self._sources["waits"], fill_alpha=0.0, hatch_pattern="/", hatch_scale=6, hatch_weight=1,
            line_width=0.6, nonselection_hatch_alpha=1.0, nonselection_line_alpha=1.0, nonselection_fill_alpha=0.0,
        )  # fmt: skip
        self._bars = draw.quad(
            **quads, source=self._sources["bars"], fill_color="fill", line_color=None, **steady
        )
        self._segments = draw.segment(
            x0="x0",
            y0="y0",
            x1="x1",
            y1="y1",
            source=self._sources["arrows"],
            line_width=0.9,
            line_alpha=0.75,
        )
        self._heads = draw.scatter(
            x="x1",
            y="y1",
            angle="angle",
            marker="triangle",
            size=5,
            source=self._sources["arrows"],
            line_color=None,
        )
        self._lit_quads = draw.quad(**quads, source=self._sources["lit"], fill_alpha=0.0, line_width=2)
        self._found_quads = draw.quad(
            **quads, source=self._sources["found"], fill_alpha=0.25, line_width=1.6, line_dash="dotted"
        )
        self._bad_quads = draw.quad(**quads, source=self._sources["bad"], fill_alpha=0.18, line_width=1.6)
        words = "<b>@op</b> @kind @about<br>@at<br>cycles @left{0,0} .. @right{0,0}"
        draw.add_tools(
            HoverTool(renderers=[self._bars, self._waits], tooltips=words, point_policy="follow_mouse"),
            HoverTool(
                renderers=[self._stages],
                tooltips="<b>@about</b> @state<br>cycles @left{0,0} .. @right{0,0}",
            ),
            TapTool(renderers=[self._bars, self._waits]),
        )
        self._pan = next(tool for tool in draw.tools if isinstance(tool, PanTool))
        self._ruler = BoxSelectTool(dimensions="width", renderers=[])
        self._stretch = BoxAnnotation(visible=False, level="overlay")
        draw.add_tools(self._ruler)
        draw.add_layout(self._stretch)

    def _axes(self) -> None:
        draw = self.figure
        draw.yaxis.ticker = FixedTicker(ticks=[])
        draw.yaxis.major_label_text_font = draw.xaxis.major_label_text_font = "monospace"
        draw.yaxis.major_label_text_font_size = draw.xaxis.major_label_text_font_size = "10px"
        draw.axis.axis_line_color = draw.axis.minor_tick_line_color = draw.yaxis.major_tick_line_color = None
        draw.axis.major_tick_in = 0
        draw.ygrid.grid_line_color = None
        draw.xaxis.formatter = CustomJSTickFormatter(code="return Math.round(tick).toLocaleString('en')")

    # What is shown

    def show(self, drawing: Drawing, colors: Mapping[str, int]) -> None:
        """Draw another timeline; the visible window stays where the old one had the same length."""
        same = self._drawing is not None and self._drawing.total == drawing.total
        self._drawing, self._tasks = drawing, colors
        self._arrays = {name: Arrays(getattr(drawing, name)) for name in ("bars", "waits", "stages")}
        end = max(1, drawing.total)
        self.x.bounds = (-0.01 * end, 1.02 * end)
        if not same:
            self.x.update(start=0, end=end * 1.01)
            self._window = None
        self.y.update(start=drawing.height, end=0)
        self.figure.height = int(drawing.height * ROW_PIXELS) + 26
        centres = [(band.top + band.bottom) / 2 for band in drawing.bands]
        self.figure.yaxis.ticker = FixedTicker(ticks=centres)
        self.figure.yaxis.major_label_overrides = {
            c: b.label for c, b in zip(centres, drawing.bands, strict=True)
        }
        tops = [(band.top, band.bottom) for band in drawing.bands if band.kind == "measured"]
        self._sources["lanes"].data = {
            "left": [-end] * len(tops),
            "right": [2 * end] * len(tops),
            "top": [top for top, _ in tops],
            "bottom": [bottom for _, bottom in tops],
        }
        self.minimap.show(drawing)
        self._fill()

    def paint(self, theme: str) -> None:
        """Use the colours of ``theme``, "light" or "dark"."""
        self._theme = theme
        colors, draw = THEMES[theme], self.figure
        draw.background_fill_color = draw.border_fill_color = colors["paper"]
        draw.axis.major_label_text_color = colors["text"]
        draw.axis.major_tick_line_color = draw.xgrid.grid_line_color = colors["grid"]
        draw.yaxis.major_tick_line_color = None
        for glyph in (self._waits.glyph, self._waits.nonselection_glyph):
            glyph.update(hatch_color=colors["wait"], line_color=colors["wait"])
        self._segments.glyph.line_color = self._heads.glyph.fill_color = colors["arrow"]
        self._lit_quads.glyph.line_color = colors["lit"]
        self._bad_quads.glyph.update(line_color=colors["error"], fill_color=colors["error"])
        self._found_quads.glyph.update(line_color=colors["found"], fill_color=colors["found"])
        self._lanes.glyph.fill_color = colors["measured"]
        self._stretch.update(fill_color=colors["lit"], fill_alpha=0.12, line_color=colors["lit"])
        self._ruler.overlay.update(fill_color=colors["lit"], fill_alpha=0.12, line_color=colors["lit"])
        self.minimap.paint(colors["paper"], colors["lit"])
        if self._drawing is not None:
            self._fill()

    def light(self, lit: frozenset[str], bad: Places) -> None:
        """Outline the bars of the selected ops, and mark the places of a hazard, and waits that never end, in red."""
        if (lit, bad) != (self._lit, self._bad):
            self._lit, self._bad = lit, bad
            self._outline()

    def find(self, places: Columns) -> None:
        """Outline what a search has found."""
        self._sources["found"].data = places

    def measuring(self, on: bool) -> None:
        """Whether a drag measures, instead of panning."""
        self.figure.toolbar.active_drag = self._ruler if on else self._pan

    def stretch(self, span: tuple[float, float] | None) -> None:
        """Shade the measured stretch of time."""
        self._stretch.visible = span is not None
        if span is not None:
            self._stretch.update(left=span[0], right=span[1])

    def lit_span(self) -> tuple[float, float] | None:
        """From the first to the last cycle of the lit ops."""
        by_op = self._drawing.by_op if self._drawing is not None else {}
        spans = [by_op[op] for op in self._lit if op in by_op]
        return (min(low for low, _ in spans), max(high for _, high in spans)) if spans else None

    def go(self, low: float, high: float) -> None:
        """Show from ``low`` to ``high``, as far as there is something."""
        first, last = self.x.bounds
        width = min(max(high - low, 20), last - first)
        start = min(max(first, (low + high - width) / 2), last - width)
        self.x.update(start=start, end=start + width)
        self._moved(None)

    @property
    def window(self) -> tuple[float, float]:
        """What is shown."""
        return float(self.x.start), float(self.x.end)

    def move(self, key: str) -> None:
        """W and S zoom about the middle, A and D pan, F goes to the lit ops."""
        if self._drawing is None:
            return
        start, end = float(self.x.start), float(self.x.end)
        middle, width = (start + end) / 2, end - start
        if key == "f" and (span := self.lit_span()):
            low, high = span
            width, middle = max(200, 1.3 * (high - low)), (low + high) / 2
        width *= {"w": 0.6, "s": 1 / 0.6}.get(key, 1.0)
        middle += {"a": -0.25, "d": 0.25}.get(key, 0.0) * width
        self.go(middle - width / 2, middle + width / 2)

    def _moved(self, event: RangesUpdate | None) -> None:
        if event is not None:
            self._window = (event.x0, event.x1)
        else:
            self._window = (float(self.x.start), float(self.x.end))
        if self._drawing is not None and any(a.number > MOST for a in self._arrays.values()):
            if not self._enough(*self._window):
                self._fill()

    def _enough(self, low: float, high: float) -> bool:
        """Whether what was sent last covers the window finely enough."""
        first, last = self._sent
        width, margin = last - first, (last - first) * MARGIN * 0.8
        covered = low >= first - margin and high <= last + margin
        return covered and 0.7 * width <= high - low <= 1.4 * width

    def _measured(self, event: SelectionGeometry) -> None:
        if event.final and "x0" in event.geometry:  # a click is a geometry too
            self._on_measure(float(event.geometry["x0"]), float(event.geometry["x1"]))

    # Data

    def _fill(self) -> None:
        drawing, colors = self._drawing, THEMES[self._theme]
        assert drawing is not None
        for source in self._sources.values():
            source.selected.indices = []
        self._sent = window = self._window or (0.0, float(drawing.total))
        bars = self._arrays["bars"].within(window)
        bars["fill"] = [
            self._color(task, kind) for task, kind in zip(bars["task"], bars["kind"], strict=True)
        ]
        stages = self._arrays["stages"].within(window)
        stages["fill"] = [colors["states"].get(state, colors["grid"]) for state in stages["state"]]
        self._sources["bars"].data = bars
        self._sources["waits"].data = self._arrays["waits"].within(window)
        self._sources["stages"].data = stages
        self._sources["arrows"].data = _arrows_within(drawing.arrows, window)
        self._outline()

    def _color(self, task: str, kind: str) -> str:
        colors = THEMES[self._theme]
        if task in self._tasks:
            color = colors["tasks"][self._tasks[task]]
            return color if kind == "work" else color + ("90" if kind == "in-flight" else "b0")
        return colors["engine"]

    def _outline(self) -> None:
        lit: Columns = {name: [] for name in QUAD}
        bad: Columns = {name: [] for name in QUAD}
        for source in ("bars", "waits"):
            data = self._sources[source].data
            for i, op in enumerate(data["op"]):
                for chosen, columns in ((op in self._lit, lit), (self._is_bad(op, data, i), bad)):
                    if chosen:
                        for name, values in columns.items():
                            values.append(data[name][i])
        self._sources["lit"].data, self._sources["bad"].data = lit, bad

    def _is_bad(self, op: str, data: Columns, i: int) -> bool:
        return (op, data["at"][i]) in self._bad or data["kind"][i] == "stuck"

    def _picked(self, name: str) -> None:
        source = self._sources[name]
        if source.selected.indices:
            op = source.data["op"][source.selected.indices[0]]
            source.selected.indices = []
            self._on_pick(op)


def _arrows_within(arrows: Columns, window: tuple[float, float]) -> Columns:
    """The arrows that end in the window; none where they would be a grey field."""
    if len(arrows["x1"]) <= MOST_ARROWS:
        return dict(arrows)
    chosen = [i for i, x in enumerate(arrows["x1"]) if window[0] <= x <= window[1]]
    chosen = chosen if len(chosen) <= MOST_ARROWS else []
    return {name: [values[i] for i in chosen] for name, values in arrows.items()}
