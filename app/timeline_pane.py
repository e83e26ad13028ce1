"""The timeline's pane: the figure with what a person does to it, which is search, measure, pin, overlay and export."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from warpdraft.core.tree import ops_of

from .session import Session
from .values import Result
from .views.colors import task_colors
from .views.timeline import BARS, Drawing
from .views.timeline_figure import TimelineFigure
from .views.timeline_lanes import interleaved, joined, pinned
from .views.timeline_layers import QUAD
from .views.timeline_order import MARK, with_order
from .views.timeline_search import Match, Measure, matches, measure
from .views.timeline_svg import timeline_svg
from .views.timeline_ties import Places, Tie
from .views.words import op_text

MODES = ("both", "predicted", "measured")
SUFFIX = " (measured)"
MOST_FOUND = 400  # outlined at once, around the present one
Intent = Mapping[str, Any]


class TimelinePane:
    """``changed()`` is called when `view` has; ``send(message)`` reaches the page's script."""

    def __init__(
        self, session: Session, changed: Callable[[], None], send: Callable[[dict[str, Any]], None]
    ) -> None:
        self._session, self._changed, self._send = session, changed, send
        self.figure = TimelineFigure(lambda op: session.select("op", (op,)), self._measure)
        self._theme = "light"
        self._pins: tuple[str, ...] = ()
        self._text, self._at = "", 0
        self._found: tuple[Match, ...] = ()
        self._span: Measure | None = None
        self._measuring = False
        self._measured: dict[str, Any] | None = None
        self._shown: Drawing | None = None

    # What is shown

    def show(self) -> None:
        """Draw the session's timeline, with what is laid over it."""
        value = self._session.timeline.value
        if value is None:
            return
        drawing: Drawing = value[0]
        if self._measured is not None and self._measured["drawing"] is not None:
            notes = self._measured["order"]
            drawing, other = with_order(drawing, notes), with_order(self._measured["drawing"], notes)
            if self._measured["mode"] == "measured":
                drawing = joined(_nothing(), other, SUFFIX, "measured")
            elif self._measured["mode"] == "both":
                drawing = interleaved(joined(drawing, other, SUFFIX, "measured"), SUFFIX)
        self._shown = pinned(drawing, self._pins)
        document = self._session.document
        words = {op.id: op_text(op) for task in document.tasks for op in ops_of(task)}
        number = sum(band.label in self._pins for band in self._shown.bands)
        self.figure.show(self._shown, task_colors(document), words, number)
        self._search(self._text)
        self._set_span(self._span and (self._span.low, self._span.high))
        self._changed()

    def light(self, ops: frozenset[str], bad: Places, ties: tuple[Tie, ...]) -> None:
        """Outline the ops, and draw what a finding says of two places."""
        self.figure.light(ops, bad, ties)

    def reveal(self) -> None:
        """Bring what the chosen finding says of two places into view."""
        if (height := self.figure.to_ties()) is not None:
            self._send({"type": "scroll-timeline", "to": height})

    def paint(self, theme: str) -> None:
        """Another theme."""
        self._theme = theme
        self.figure.paint(theme)

    def forget(self) -> None:
        """Another document was opened: what was said of the old one does not hold."""
        self._measured, self._pins, self._text, self._span = None, (), "", None
        self._found, self._at = (), 0
        self.figure.stretch(None)
        self._changed()

    def view(self) -> dict[str, Any]:
        """The pane's state for the page."""
        bands = self._shown.bands if self._shown else ()
        current = self._found[self._at] if self._found else None
        measured = self._measured
        return {
            "text": self._text,
            "found": len(self._found),
            "at": self._at,
            "current": f"{current.op} in {current.lane} at {round(current.left):,}" if current else "",
            "measuring": self._measuring,
            "measure": self._span.text if self._span else "",
            "lanes": [{"label": band.label, "pinned": band.label in self._pins} for band in bands],
            "measured": measured
            and {
                **{key: measured[key] for key in ("name", "note", "mode", "problem", "clock")},
                "differs": len(measured.get("order", ())),
                "mark": MARK,
            },
        }

    def table(self) -> dict[str, Any]:
        """The measured bars as rows, for the timeline's table; ``mode`` tells which are shown."""
        measured = self._measured
        if measured is None or not measured.get("table"):
            return {"mode": "predicted", "rows": [], "more": 0}
        return {"mode": measured["mode"], **measured["table"]}

    # Intents

    def receive(self, intent: Intent) -> None:
        """Carry out one intent of type "timeline"."""
        match intent.get("do"):
            case "find":
                self._search(str(intent.get("text", "")))
                self._look(0)
            case "next":
                self._look(self._at + 1)
            case "previous":
                self._look(self._at - 1)
            case "measure":
                self._toggle_measuring()
            case "clear":
                self._set_span(None)
            case "pin":
                self._pin(str(intent["lane"]))
            case "load":
                self.load(str(intent["name"]), str(intent["text"]), intent.get("clock"))
            case "clock":
                self._set_clock(str(intent["value"]))
            case "mode":
                self._set_mode(str(intent["mode"]))
            case "export":
                self._export(str(intent["as"]))
        self._changed()

    def _search(self, text: str) -> None:
        self._text = text
        self._found = matches(self._shown, text) if self._shown else ()
        self._at = min(self._at, max(0, len(self._found) - 1))
        first = max(0, self._at - MOST_FOUND // 2)
        near = self._found[first : first + MOST_FOUND]
        self.figure.find({name: [getattr(match, name) for match in near] for name in QUAD})

    def _look(self, at: int) -> None:
        """Bring match number ``at`` into view, and choose its op."""
        if not self._found:
            return
        self._at = at % len(self._found)
        match = self._found[self._at]
        low, high = self.figure.window
        if not low <= match.left <= match.right <= high:
            width = max(high - low, 1.5 * (match.right - match.left))
            middle = (match.left + match.right) / 2
            self.figure.go(middle - width / 2, middle + width / 2)

    def _toggle_measuring(self) -> None:
        """A drag measures; the chosen op's span is measured at once, so that no mouse is needed."""
        self._measuring = not self._measuring
        self.figure.measuring(self._measuring)
        self._set_span(self.figure.lit_span() if self._measuring else None)

    def _measure(self, low: float, high: float) -> None:
        self._set_span((low, high))
        self._changed()

    def _set_span(self, span: tuple[float, float] | None) -> None:
        self._span = measure(self._shown, *span) if span and self._shown else None
        self.figure.stretch((self._span.low, self._span.high) if self._span else None)

    def _pin(self, label: str) -> None:
        pins = self._pins
        self._pins = tuple(p for p in pins if p != label) if label in pins else (*pins, label)
        self.show()

    def _set_mode(self, mode: str) -> None:
        if mode == "none":
            self._measured = None
        elif self._measured is not None and mode in MODES:
            self._measured = {**self._measured, "mode": mode}
        self.show()

    def _set_clock(self, value: str) -> None:
        try:
            clock = float(value)
        except ValueError:
            clock = 0.0
        if self._measured is None or not 1 <= clock <= 100_000:
            self._session.say("error", "The clock is a number of cycles a microsecond, such as 1755")
            return
        self.load(self._measured["name"], self._measured["text"], clock)

    def load(self, name: str, text: str, clock: float | None = None) -> None:
        """Read a trace in the background, and lay it over the prediction."""
        mode = self._measured["mode"] if self._measured else "both"
        loading = {
            "name": name,
            "text": text,
            "mode": mode,
            "drawing": None,
            "problem": "",
            "clock": clock or "",
        }
        self._measured = {**loading, "note": "reading…"}

        def answer(result: Result) -> None:
            if result.value is None:
                self._measured = None
                self._session.tell("error", f"{name}: {result.problem}")
            else:
                self._measured = {**loading, **result.value}
            self.show()

        self._session.ask(answer, "measured", text, clock, dict(self._session.trip_counts))

    def _export(self, form: str) -> None:
        session = self._session
        name = session.document.name
        if form == "perfetto":

            def answer(result: Result) -> None:
                if result.value is None:
                    session.tell("error", f"There is no trace: {result.problem}")
                else:
                    self._send(_file(f"{name}.trace.json", result.value, "application/json"))

            session.ask(answer, "trace", dict(session.trip_counts))
        elif self._shown is not None and form in ("svg", "png"):
            colors, title = task_colors(session.document), f"{name}: timeline"
            svg = timeline_svg(self._shown, colors, self._theme, window=self.figure.window, title=title)
            message = _file(f"{name}.timeline.{form}", svg, "image/svg+xml")
            self._send(message if form == "svg" else {**message, "type": "picture"})


def _file(name: str, text: str, mime: str) -> dict[str, Any]:
    return {"type": "download", "name": name, "text": text, "mime": mime}


def _nothing() -> Drawing:
    quads = {name: [] for name in BARS}
    stages = {name: [] for name in (*QUAD, "state", "about")}
    arrows = {name: [] for name in ("x0", "y0", "x1", "y1", "op", "to_op", "angle")}
    return Drawing((), quads, {k: [] for k in quads}, stages, arrows, 0, 0.0)
