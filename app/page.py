"""One editor: a session, its views, and the component that shows them.

Each pane is a function of the session's values; a change of a value redraws the panes that depend on it, all in one message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import panel as pn

from warpdraft.core import store

from . import intents
from .components.editor import EditorComponent
from .files import SUFFIX, Folder, OutsideFolder, examples
from .running import Runner, RunState, log_view
from .session import Session
from .views.chrome import chrome_view
from .views.code import code_view, source_view
from .views.details import details_view
from .views.findings import findings_view, marks_view
from .views.graph import graph_view
from .views.offers import offers
from .views.resources import resources_view
from .views.schedule import schedule_view
from .views.selection import selection_view
from .views.timeline import drawing, facts_view
from .views.timeline_figure import TimelineFigure

# Which values of the session each pane is a function of.
DEPENDS = {
    "chrome": ("history", "saved", "path", "trip_counts", "report", "notice", "recovery", "revision"),
    "resources": ("history",),
    "graph": ("history",),
    "schedule": ("history",),
    "offers": ("history",),
    "findings": ("report",),
    "marks": ("report",),
    "selection": ("selection", "history", "report"),
    "details": ("selection", "history", "report"),
    "timeline_facts": ("timeline",),
    "code": ("code",),
    "source": ("history", "path"),
}
WATCHED = sorted({name for names in DEPENDS.values() for name in names})


class Page:
    """Shows ``session``. ``folder`` bounds what may be opened. ``component`` is what goes into a page or notebook cell."""

    def __init__(self, session: Session, folder: Folder, standalone: bool = True) -> None:
        self.session, self.folder = session, folder
        self._runner = Runner(lambda state: self.session.post(lambda: self._ran(state)))
        self._why: dict | None = None
        self._theme = "light"
        self._figure = TimelineFigure(lambda op: self.session.select("op", (op,)))
        self._figure.paint(self._theme)
        sizing = (
            {"sizing_mode": "stretch_both"} if standalone else {"sizing_mode": "stretch_width", "height": 760}
        )
        self._pane = pn.pane.Bokeh(self._figure.figure, sizing_mode="stretch_width")
        self.component = EditorComponent(timeline=self._pane, standalone=standalone, **sizing)
        self.component.on_msg(lambda event: self.receive(event.data))
        self._draw(tuple(DEPENDS), log=RunState())
        self._draw_timeline()
        session.param.watch(self._changed, WATCHED)

    def close(self) -> None:
        """End what runs for this page."""
        self._runner.cancel()
        self.session.close()

    # From the session to the page

    def _changed(self, *events: Any) -> None:
        names = {event.name for event in events}
        if "selection" in names or "history" in names:
            self._why = None
        self._draw(tuple(pane for pane, values in DEPENDS.items() if names.intersection(values)))
        if "timeline" in names:
            self._draw_timeline()
        elif names & {"selection", "report"}:
            self._light()

    def _draw(self, panes: tuple[str, ...], log: RunState | None = None) -> None:
        texts = {pane: json.dumps(self._view(pane), separators=(",", ":")) for pane in panes}
        if log is not None:
            texts["log"] = json.dumps(log_view(log), separators=(",", ":"))
        changed = {pane: text for pane, text in texts.items() if getattr(self.component, pane) != text}
        if changed:
            self.component.param.update(**changed)

    def _view(self, pane: str) -> Any:
        session, document = self.session, self.session.document
        report = session.report
        match pane:
            case "chrome":
                return chrome_view(session, self.folder, self._runner.running)
            case "resources":
                return resources_view(document)
            case "graph":
                return graph_view(document)
            case "schedule":
                return schedule_view(document)
            case "offers":
                return {
                    task.name: [
                        {"key": o.key, "group": o.group, "label": o.label} for o in offers(document, task)
                    ]
                    for task in document.tasks
                }
            case "findings":
                return findings_view(report.value, report.problem)
            case "marks":
                return marks_view(report.value)
            case "selection":
                return selection_view(document, report.value, session.selection.kind, session.selection.ids)
            case "details":
                view = details_view(document, report.value, session.selection.kind, session.selection.ids)
                return {**view, "ids": list(session.selection.ids), "why": self._why}
            case "timeline_facts":
                return facts_view(session.timeline.value, session.timeline.problem)
            case "code":
                return code_view(document, session.code.value, session.code.problem)
        folders = ((session.path.parent,) if session.path else ()) + (self.folder.root, examples())
        return source_view(document, folders)

    def _draw_timeline(self) -> None:
        timeline = self.session.timeline.value
        if timeline is not None:
            self._figure.show(drawing(timeline), [task.name for task in self.session.document.tasks])
        self._light()

    def _light(self) -> None:
        selection, report = self.session.selection, self.session.report.value
        lit = selection_view(self.session.document, report, selection.kind, selection.ids)["ops"]
        marks = marks_view(report)["ops"] if report else {}
        self._figure.light(
            frozenset(lit), frozenset(op for op, severity in marks.items() if severity == "error")
        )

    def _ran(self, state: RunState) -> None:
        self._draw(("chrome",), log=state)

    # From the page to the session

    def receive(self, intent: Mapping[str, Any]) -> None:
        """Carry out one intent of the page."""
        if intents.carry_out(self.session, intent):
            return
        action = self.ACTIONS.get(str(intent.get("type")))
        if action is not None:
            action(self, intent)

    def _set_theme(self, intent: Mapping[str, Any]) -> None:
        self._theme = "dark" if intent.get("name") == "dark" else "light"
        self._figure.paint(self._theme)

    def _open(self, intent: Mapping[str, Any]) -> None:
        try:
            path = self.folder.allowed(str(intent["name"]))
        except OutsideFolder as error:
            self.session.say("error", str(error))
            return
        self.session.open(path)

    def _save_as(self, intent: Mapping[str, Any]) -> None:
        name = str(intent["name"])
        name = name if name.endswith(SUFFIX) else name.removesuffix(".json") + SUFFIX
        try:
            path = self.folder.allowed(name)
        except OutsideFolder as error:
            self.session.say("error", str(error))
            return
        self.session.save(path)

    def _download(self, intent: Mapping[str, Any]) -> None:
        document = self.session.document
        try:
            text = store.dumps(document)
        except store.DocumentError as error:
            self.session.say("error", str(error))
            return
        self._send(f"{document.name}{SUFFIX}", text, "application/json")

    def _export(self, intent: Mapping[str, Any]) -> None:
        unsafe = bool(intent.get("unsafe"))
        text, refusal = self.session.export(unsafe)
        if text is None:
            offer = {"label": "Export anyway (unsafe)", "intent": {"type": "export", "unsafe": True}}
            self.session.say("error", refusal, None if unsafe else offer)
            return
        self._send(f"{self.session.document.name}.py", text, "text/x-python")
        self.session.say(
            "done", f"Exported {self.session.document.name}.py" + (" although unsafe" if unsafe else "")
        )

    def _send(self, name: str, text: str, mime: str) -> None:
        self.component._send_msg({"type": "download", "name": name, "text": text, "mime": mime})

    def _run(self, intent: Mapping[str, Any]) -> None:
        self._runner.run_document(self.session.document)

    def _cancel(self, intent: Mapping[str, Any]) -> None:
        self._runner.cancel()

    def _dismiss(self, intent: Mapping[str, Any]) -> None:
        self.session.notice = None

    def _time(self, intent: Mapping[str, Any]) -> None:
        self._figure.move(str(intent["key"]))

    def _ask_why(self, intent: Mapping[str, Any]) -> None:
        id = str(intent["id"])
        self._why = {"state": "asking", "title": "Asking the verifier…", "lines": []}
        self._draw(("details",))

        def answer(reply: dict) -> None:
            if self.session.selection.first == id:
                self._why = reply
                self._draw(("details",))

        self.session.ask_why(id, answer)

    ACTIONS: Mapping[str, Callable[[Page, Mapping[str, Any]], None]] = {
        "cancel": _cancel,
        "dismiss": _dismiss,
        "download": _download,
        "export": _export,
        "open": _open,
        "run": _run,
        "save_as": _save_as,
        "theme": _set_theme,
        "time": _time,
        "why": _ask_why,
    }
