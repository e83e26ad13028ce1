"""The timeline's figure: quads for bars, hatched ones for waits, arrows from an arrival to the wait that it frees.

The figure is made once; a new timeline, theme or selection only replaces data and colours. Of many bars only those of the
visible window are sent, see `thinning`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bokeh.core.property.descriptors import UnsetValueError
from bokeh.events import SelectionGeometry
from bokeh.models import Range1d
from panel.io import state, unlocked

from .minimap import Minimap
from .thinning import MARGIN, MOST, Arrays
from .timeline import GAP, Columns, Drawing
from .timeline_colors import ROW_PIXELS, THEMES
from .timeline_layers import QUAD, Layers, put, sources
from .timeline_runs import Runs
from .timeline_ties import Places, Tie, tie_columns

AXIS_PIXELS = 20
LETTER = 5.6  # pixels that a letter of a bar's name is wide
LETTER_HEIGHT = 9
MOST_NAMES = 200
NAMED = 0.25  # of the window's width, on both sides, where bars have their names too: each name costs a frame 25 us
MOST_ARROWS = 300
PAUSE = 200  # milliseconds between two looks at what a moving window needs


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
        self._runs: dict[str, Runs] = {}
        self._tasks: Mapping[str, int] = {}
        self._theme = "light"
        self._lit: frozenset[str] = frozenset()
        self._bad: Places = frozenset()
        self._ties: tuple[Tie, ...] = ()
        self._window: tuple[float, float] | None = None
        self._sent = self._painted = self._passed = (0.0, 0.0)
        self._words: Mapping[str, str] = {}
        self._named: tuple[float, float] = (0.0, 0.0)
        self._following = False
        self.x = Range1d(0, 1, bounds=(0, 1), min_interval=20)
        self._sources = sources()
        self._head = Layers(self._sources, self.x, "warpdraft-timeline-head", axis=True)
        self._body = Layers(self._sources, self.x, "warpdraft-timeline", axis=False)
        self._both = (self._head, self._body)
        self.head, self.figure = self._head.figure, self._body.figure
        for part in (self.head, self.figure):
            part.on_event(SelectionGeometry, self._measured)
        for bound in ("start", "end"):  # either may stay at a limit
            self.x.on_change(bound, lambda attr, old, new: self._moved(self.x.start, self.x.end))
        self.minimap = Minimap(self.x)
        self._sources["bars"].selected.on_change("indices", lambda attr, old, new: self._picked("bars"))
        self._sources["waits"].selected.on_change("indices", lambda attr, old, new: self._picked("waits"))

    # What is shown

    def show(
        self, drawing: Drawing, colors: Mapping[str, int], words: Mapping[str, str], pinned: int = 0
    ) -> None:
        """Draw another timeline; the visible window stays where the old one had the same length.

        ``words`` says what each op does; the first ``pinned`` bands go to the head, which does not scroll.
        """
        self._words = words
        same = self._drawing is not None and self._drawing.total == drawing.total
        self._drawing, self._tasks = drawing, colors
        self._arrays = {name: Arrays(getattr(drawing, name)) for name in ("bars", "waits", "stages")}
        bars, waits, stages = drawing.bars, drawing.waits, drawing.stages
        looks = {"bars": list(zip(bars["task"], bars["kind"], strict=True)), "stages": stages["state"]}
        looks["waits"] = ["wait"] * len(waits["left"])
        self._runs = {name: Runs(getattr(drawing, name), of) for name, of in looks.items()}
        end = max(1, drawing.total)
        self.x.bounds = (-0.01 * end, 1.02 * end)
        if not same:
            self.x.update(start=0, end=end * 1.01)
            self._window = None
        self._place(drawing, pinned)
        tops = [(band.top, band.bottom) for band in drawing.bands if band.kind == "measured"]
        lanes = {
            "left": [-end] * len(tops),
            "right": [2 * end] * len(tops),
            "top": [top for top, _ in tops],
            "bottom": [bottom for _, bottom in tops],
        }
        put(self._sources, "lanes", lanes)
        self.minimap.show(drawing)
        self._fill()

    def _place(self, drawing: Drawing, pinned: int) -> None:
        """The pinned bands in the head, the others in the body."""
        bands = drawing.bands
        letters = max((len(band.label) for band in bands), default=0)
        cut = bands[pinned - 1].bottom + GAP / 2 if pinned else 0.0
        heights = ((bands[:pinned], 0.0 if pinned else -1.0, cut), (bands[pinned:], cut, drawing.height))
        for part, (shown, top, bottom) in zip(self._both, heights, strict=True):
            axis = AXIS_PIXELS if part is self._head else 4
            rows = bottom - top if shown else 0
            part.show(shown, top, bottom, int(rows * ROW_PIXELS) + axis, letters)

    def paint(self, theme: str) -> None:
        """Use the colours of ``theme``, "light" or "dark"."""
        self._theme = theme
        colors = THEMES[theme]
        for part in self._both:
            part.paint(colors)
        self.minimap.paint(colors["paper"], colors["lit"])
        if self._drawing is not None:
            self._fill()

    def light(self, lit: frozenset[str], bad: Places, ties: tuple[Tie, ...] = ()) -> None:
        """Outline the bars of the selected ops, and mark the places of a hazard, waits that never end, and ``ties`` between
        two places, in red."""
        if (lit, bad, ties) != (self._lit, self._bad, self._ties):
            self._lit, self._bad, self._ties = lit, bad, ties
            self._outline()

    def to_ties(self) -> float | None:
        """Show the stretch of time of the ties, if there are some; at which part of the body's height their middle is."""
        ties = tie_columns(self._drawing, self._ties) if self._drawing is not None else {"low": []}
        if not ties["low"]:
            return None
        low, high = min(ties["low"]), max(ties["high"])
        room = 0.15 * (high - low)
        self.go(low - room, high + room)
        y = self._body.y
        return ((min(ties["y0"] + ties["y1"]) + max(ties["y0"] + ties["y1"])) / 2 - y.end) / (y.start - y.end)

    def find(self, places: Columns) -> None:
        """Outline what a search has found."""
        put(self._sources, "found", places)

    def measuring(self, on: bool) -> None:
        """Whether a drag measures, instead of panning."""
        for part in self._both:
            part.measuring(on)

    def stretch(self, span: tuple[float, float] | None) -> None:
        """Shade the measured stretch of time."""
        for part in self._both:
            part.stretch(span)

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
        self._window = self.window
        self._follow()

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

    def _moved(self, low: float, high: float) -> None:
        """Another window: what was sent may not be enough for it."""
        self._window = (float(low), float(high))
        if state.curdoc is None:
            self._follow()
        elif not self._following:
            self._following = True
            state.curdoc.add_timeout_callback(self._pass, PAUSE)

    def _pass(self) -> None:
        """A wheel or a drag goes on: what is painted follows, what lies under the mouse once it rests."""
        self._following = False
        if self._window in (None, self._passed):
            self._follow()
            return
        self._passed = self._window
        if self._is_many() and not self._enough(self._painted):
            with unlocked():
                self._paint_bars(self._window)
        self._name()
        self._moved(*self._window)

    def _follow(self) -> None:
        """Send what the window needs."""
        if self._is_many() and not self._enough(self._sent):
            self._fill()
        else:
            self._name()

    def _is_many(self) -> bool:
        return any(arrays.number > MOST for arrays in self._arrays.values())

    def _enough(self, sent: tuple[float, float]) -> bool:
        """Whether what was sent for the window ``sent`` covers the present one finely enough."""
        low, high = self._window or (0.0, 1.0)
        first, last = sent
        width, margin = last - first, (last - first) * MARGIN * 0.8
        covered = low >= first - margin and high <= last + margin
        return covered and 0.7 * width <= high - low <= 1.4 * width

    def _measured(self, event: SelectionGeometry) -> None:
        if event.final and "x0" in event.geometry:  # a click is a geometry too
            self._on_measure(float(event.geometry["x0"]), float(event.geometry["x1"]))

    # Data

    def _fill(self) -> None:
        drawing = self._drawing
        assert drawing is not None
        for source in self._sources.values():
            source.selected.indices = []
        self._sent = window = self._window or (0.0, float(drawing.total))
        with unlocked():  # one message, which the browser paints once
            self._send(window)

    def _send(self, window: tuple[float, float]) -> None:
        assert self._drawing is not None
        columns = {name: arrays.within(window) for name, arrays in self._arrays.items()}
        for name in ("bars", "waits"):
            columns[name]["text"] = [self._words.get(op, "") for op in columns[name]["op"]]
        for name, shown in columns.items():
            put(self._sources, name, shown)
        put(self._sources, "arrows", _arrows_within(self._drawing.arrows, window))
        self._paint_bars(window)
        self._named = (0.0, 0.0)
        self._name()
        self._outline()

    def _paint_bars(self, window: tuple[float, float]) -> None:
        """Send the paths that are filled for ``window``."""
        self._painted, colors = window, THEMES[self._theme]
        paths = {name: runs.within(window) for name, runs in self._runs.items()}
        (looks, bars), (states, stages) = paths["bars"], paths["stages"]
        fills = [colors["states"].get(state, colors["grid"]) for state in states]
        fills += [self._color(*look) for look in looks]
        solid = {name: stages[name] + bars[name] for name in ("xs", "ys")}
        put(self._sources, "solid", {**solid, "fill": fills})
        put(self._sources, "hatched", paths["waits"][1])

    def _name(self) -> None:
        """Write its work into each bar of the window that is wide enough for it, and into columns what they hold."""
        low, high = self._window or (0.0, float(self._drawing.total if self._drawing else 1))
        first, last = self._named
        if (
            first <= low
            and high <= last
            and abs((last - first) / (1 + 2 * NAMED) - (high - low)) < 0.02 * (high - low)
        ):
            return
        width = high - low
        self._named = low - NAMED * width, high + NAMED * width
        pixel, colors = width / self._pixels(), THEMES[self._theme]
        names: Columns = {"x": [], "y": [], "name": [], "ink": []}
        for what, named in (("bars", self._bar_name), ("stages", _stage_name)) if self._arrays else ():
            data = self._arrays[what].wider(self._named, 2 * LETTER * pixel)
            for i, (left, right) in enumerate(zip(data["left"], data["right"], strict=True)):
                name, light = named(data, i)
                if name and right - left > (len(name) * LETTER + 4) * pixel:
                    names["x"].append((left + right) / 2)
                    names["y"].append((data["top"][i] + data["bottom"][i]) / 2)
                    names["name"].append(name)
                    names["ink"].append(colors["ink" if light else "paper"])
        few = len(names["x"]) <= MOST_NAMES
        put(self._sources, "names", names if few else {name: [] for name in names})

    def _bar_name(self, data: Columns, i: int) -> tuple[str, bool]:
        """What is written into a bar, and whether its colour is light."""
        name = data["name"][i] or _short(self._words.get(data["op"][i], ""))
        return name, data["kind"][i] == "in-flight"

    def _pixels(self) -> int:
        """How wide the figure is drawn; a guess before the browser has said so."""
        try:
            return self.figure.inner_width or 1000
        except UnsetValueError:
            return 1000

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
        put(self._sources, "lit", lit)
        put(self._sources, "bad", bad)
        if self._drawing is not None:
            put(self._sources, "ties", tie_columns(self._drawing, self._ties))

    def _is_bad(self, op: str, data: Columns, i: int) -> bool:
        return (op, data["at"][i]) in self._bad or data["kind"][i] == "stuck"

    def _picked(self, name: str) -> None:
        source = self._sources[name]
        if source.selected.indices:
            op = source.data["op"][source.selected.indices[0]]
            source.selected.indices = []
            self._on_pick(op)


def _stage_name(data: Columns, i: int) -> tuple[str, bool]:
    """The same of a stage that is high enough for words: "acc[1]" of "acc[1] columns 256-511"."""
    high = (data["bottom"][i] - data["top"][i]) * ROW_PIXELS > LETTER_HEIGHT
    held = high and data["state"][i] != "allocated"
    return data["about"][i].partition(" columns ")[0] if held else "", data["state"][i] == "filling"


def _short(text: str) -> str:
    """The method of an op in words: "load_a" of "t = smem_ab.load_a(coord_m)"."""
    return text.partition("(")[0].rpartition(" ")[2].rpartition(".")[2]


def _arrows_within(arrows: Columns, window: tuple[float, float]) -> Columns:
    """The arrows that end in the window; none where they would be a grey field."""
    if len(arrows["x1"]) <= MOST_ARROWS:
        return dict(arrows)
    chosen = [i for i, x in enumerate(arrows["x1"]) if window[0] <= x <= window[1]]
    chosen = chosen if len(chosen) <= MOST_ARROWS else []
    return {name: [values[i] for i in chosen] for name, values in arrows.items()}
