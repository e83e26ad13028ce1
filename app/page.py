"""One editor: a session, its views, and the component that shows them.

Each pane is a function of the session's values; a change of a value redraws the panes that depend on it, all in one message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import panel as pn

from . import file_intents, intents
from .advising import Advising
from .compare_pane import ComparePane
from .components.editor import EditorComponent
from .consent import Consent
from .debug_pane import DebugPane
from .files import Folder, examples
from .fixing import find_fixes
from .opining import Opining
from .running import Runner, RunState, log_view
from .session import Session
from .templates import templates_view
from .timeline_pane import TimelinePane
from .values import Result
from .views.chrome import chrome_view
from .views.code import code_view, source_view
from .views.details import details_view
from .views.details import find as find_finding
from .views.findings import findings_view, marks_view
from .views.offers import offers
from .views.resources import resources_view
from .views.schedule import schedule_view
from .views.selection import selection_view
from .views.timeline import facts_view
from .views.timeline_ties import places_of, ties_of

# Which values of the session each pane is a function of.
DEPENDS = {
    "chrome": (
        "history",
        "saved",
        "path",
        "trip_counts",
        "report",
        "notice",
        "asked",
        "recovery",
        "revision",
        "others",
    ),
    "resources": ("history",),
    "files": ("path", "saved"),
    "templates": (),
    "graph": ("graph",),
    "schedule": ("history",),
    "offers": ("history",),
    "findings": ("report", "history"),
    "marks": ("report",),
    "selection": ("selection", "history", "report"),
    "details": ("selection", "history", "report", "fixes"),
    "timeline_facts": ("timeline",),
    "kept": ("kept",),
    "timeline_tools": (),
    "timeline_measured": (),
    "compare": ("history", "saved"),
    "code": ("code",),
    "source": ("python", "path"),
    "log": (),
    "debug": ("history", "trip_counts"),
}
WATCHED = sorted({name for names in DEPENDS.values() for name in names})


class Page:
    """Shows ``session``. ``folder`` bounds what may be opened. ``component`` is what goes into a page or notebook
    cell; it takes ``params``."""

    def __init__(self, session: Session, folder: Folder, standalone: bool = True, **params: Any) -> None:
        self.session, self.folder = session, folder
        self._runner = Runner(lambda state: self.session.post(lambda: self._ran(state)))
        self._why: dict | None = None
        self._revealing = False  # once the timeline has come
        self._met, self._standalone = standalone, standalone
        self._theme = "light"
        self._timeline = TimelinePane(
            session,
            lambda: self._draw(("timeline_tools", "timeline_measured")),
            lambda message: self.component.send(message),
        )
        self._compare = ComparePane(session, folder, lambda: self._draw(("compare",)))
        self._debugger = DebugPane(session, lambda: self._draw(("debug",)))
        self._advising = Advising(session, lambda: self._draw(("findings",)))
        self._opining = Opining(session, lambda: self._draw(("findings",)))
        self._timeline.paint(self._theme)
        sizing = (
            {"sizing_mode": "stretch_both"} if standalone else {"sizing_mode": "stretch_width", "height": 760}
        )
        figure = self._timeline.figure
        panes = {
            "timeline": pn.pane.Bokeh(figure.figure, sizing_mode="stretch_width"),
            "head": pn.pane.Bokeh(figure.head, sizing_mode="stretch_width"),
            "minimap": pn.pane.Bokeh(figure.minimap.figure, sizing_mode="stretch_width"),
        }
        self._consent = Consent()
        self._shown: dict[str, str] = {}
        self.component = EditorComponent(session.lock, **panes, standalone=standalone, **sizing, **params)
        self.component.on_msg(lambda event: self.receive(event.data))
        self._draw(tuple(DEPENDS))
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
        if "history" in names:
            self._advising.forget()
            self._opining.forget()
        if names & {"history", "trip_counts"}:
            self._debugger.restart()
        if names & {"selection", "report"} and self.session.selection.kind == "finding":
            finding = find_finding(self.session.report.value, self.session.selection.first)
            if finding is not None:
                find_fixes(self.session, finding)
        if any(event.name == "report" and event.new == Result() for event in events):
            self._timeline.forget()  # another document was opened
            self._debugger.forget()
            self._compare.forget()
            self._runner.forget()
            self._draw(("log", "chrome"))
        self._draw(tuple(pane for pane, values in DEPENDS.items() if names.intersection(values)))
        if "timeline" in names:
            self._draw_timeline()
        elif names & {"selection", "report"}:
            self._light()

    def _draw(self, panes: tuple[str, ...]) -> None:
        """Send those of ``panes`` that have changed."""
        texts = {pane: self._text(pane) for pane in panes}
        changed = {pane: text for pane, text in texts.items() if self._shown.get(pane) != text}
        self._shown.update(changed)
        self.component.send_state(changed)

    def redraw(self, *panes: str) -> None:
        """Send those of ``panes`` that have changed for another reason than a value of the session."""
        self._draw(panes)

    def _text(self, pane: str) -> str:
        return json.dumps(self._view(pane), separators=(",", ":"))

    def _view(self, pane: str) -> Any:
        session, document = self.session, self.session.document
        report = session.report
        match pane:
            case "chrome":
                return chrome_view(session, self.folder, self._runner.running)
            case "kept":
                return session.kept
            case "resources":
                return resources_view(document)
            case "graph":
                return session.graph.value or {"svg": "", "problem": "", "rows": []}
            case "files":
                return [self.folder.label(path) for path in self.folder.documents()]
            case "templates":
                return templates_view()
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
                return findings_view(
                    report.value, report.problem, self._advising.view(), self._opining.view()
                )
            case "marks":
                return marks_view(report.value)
            case "selection":
                return selection_view(document, report.value, session.selection.kind, session.selection.ids)
            case "details":
                view = details_view(
                    document, report.value, session.selection.kind, session.selection.ids, session.fixes
                )
                return {**view, "ids": list(session.selection.ids), "why": self._why}
            case "timeline_facts":
                return (
                    session.timeline.value[1]
                    if session.timeline.value
                    else facts_view(None, session.timeline.problem)
                )
            case "timeline_tools":
                return self._timeline.view()
            case "timeline_measured":
                return self._timeline.table()
            case "compare":
                return self._compare.view()
            case "debug":
                return self._debugger.view()
            case "log":
                return log_view(self._runner.state)
            case "code":
                return code_view(document, session.code.value, session.code.problem)
        folders = ((session.path.parent,) if session.path else ()) + (self.folder.root, examples())
        return source_view(document, folders, session.python.value, session.python.problem)

    def _draw_timeline(self) -> None:
        """Not between the rendering of a notebook's cell and its first word: changes of the figure would be lost then."""
        if not self._met and self.component._models:
            return
        with pn.io.unlocked():  # one message, which the browser paints once
            self._timeline.show()
            self._light()
            if self._revealing:
                self._revealing = False
                self._timeline.reveal()

    def _light(self) -> None:
        selection, report = self.session.selection, self.session.report.value
        lit = selection_view(self.session.document, report, selection.kind, selection.ids)["ops"]
        finding = find_finding(report, selection.first) if selection.kind == "finding" else None
        self._timeline.light(frozenset(lit), places_of(finding), ties_of(finding))
        self._push()

    def _push(self) -> None:
        """In a notebook, changes of the figure must be sent by hand."""
        if not self._standalone and self.component._models:
            self.component.push()

    def _ran(self, state: RunState) -> None:
        self._draw(("chrome", "log"))
        result = state.result
        if "traceEvents" in result:
            self._timeline.load("measured on the GPU", json.dumps(result))
            self._draw(("timeline_tools",))
        elif stuck := result.get("waiting"):  # a watchdog build's: where its warps stood
            self.session.select("op", tuple(dict.fromkeys(wait["op"] for wait in stuck)))
            self.session.tell("error", f"It hung: {result['message']}")

    # From the page to the session

    def receive(self, intent: Mapping[str, Any]) -> None:
        """Carry out one intent of the page."""
        with self.session.lock:
            self._receive(intent)

    def _receive(self, intent: Mapping[str, Any]) -> None:
        if intent.get("type") == "select":
            self._shown.pop("selection", None)  # the page shows its own guess until it is answered
        if intents.carry_out(self.session, intent):
            self._draw(("selection",))
            return
        action = self.ACTIONS.get(str(intent.get("type")))
        if action is not None:
            action(self, intent)

    def _set_theme(self, intent: Mapping[str, Any]) -> None:
        self._theme = "dark" if intent.get("name") == "dark" else "light"
        self._timeline.paint(self._theme)
        self._push()

    def _export(self, intent: Mapping[str, Any]) -> None:
        if self._asks("Export", intent):
            return
        unsafe = bool(intent.get("unsafe"))
        name = f"{self.session.document.name}.py"
        self.session.say("info", f"Exporting {name}")
        self.session.ask(lambda result: self._exported(result, name, unsafe), "export", unsafe)

    def _exported(self, result: Result, name: str, unsafe: bool) -> None:
        if result.value is None:
            self.session.tell("error", f"Cannot be lowered: {result.problem}")
        elif refusal := result.value.get("refusal"):
            offer = {"label": "Export anyway (unsafe)", "intent": {"type": "export", "unsafe": True}}
            self.session.tell("error", f"Not exported: {refusal}", offer)
        else:
            self.component.send_download(name, result.value["text"], "text/x-python")
            self.session.tell("done", f"Exported {name}" + (", although unsafe" if unsafe else ""))

    def _run(self, intent: Mapping[str, Any]) -> None:
        if not self._asks("Run", intent):
            self._runner.run_document(self.session.document)

    def _profile(self, intent: Mapping[str, Any]) -> None:
        if not self._asks("Profile", intent):
            self._runner.profile_document(self.session.document)

    def _asks(self, what: str, intent: Mapping[str, Any]) -> bool:
        """Whether the person is asked first, because the document brings code of its own."""
        if intent.get("agreed"):
            self._consent.agree(self.session.document)
        question = self._consent.question(self.session.document, what)
        if question:
            again = {**intent, "agreed": True}
            self.session.say("error", question, {"label": f"{what} it", "intent": again})
        return bool(question)

    def _cancel(self, intent: Mapping[str, Any]) -> None:
        self._runner.cancel()

    def _dismiss(self, intent: Mapping[str, Any]) -> None:
        self.session.dismiss(intent.get("number", 0))

    def _time(self, intent: Mapping[str, Any]) -> None:
        self._timeline.figure.move(str(intent["key"]))
        self._push()

    def _show_case(self, intent: Mapping[str, Any]) -> None:
        """The timeline at the trip counts at which a finding was met, where it happens."""
        finding = find_finding(self.session.report.value, str(intent.get("key")))
        if finding is None:
            return
        self.session.select("finding", (str(intent["key"]),))
        self._revealing = any(self.session.trip_counts.get(name) != n for name, n in finding.case)
        if self._revealing:
            self.session.set_trip_counts(dict(finding.case))
        else:
            self._timeline.reveal()

    def _use_timeline(self, intent: Mapping[str, Any]) -> None:
        self._timeline.receive(intent)
        self._push()

    def _compare_with(self, intent: Mapping[str, Any]) -> None:
        self._compare.receive(intent)

    def _debug(self, intent: Mapping[str, Any]) -> None:
        self._debugger.receive(intent)

    def _ask_why(self, intent: Mapping[str, Any]) -> None:
        id = str(intent["id"])
        self._why = {"state": "asking", "title": "Asking the verifier…", "lines": []}
        self._draw(("details",))

        def answer(result: Result) -> None:
            if self.session.selection.first == id:
                failed = {"state": "failed", "title": "This could not be asked", "lines": [result.problem]}
                self._why = result.value or failed
                self._draw(("details",))

        self.session.ask(answer, "why", id)

    def _look(self, intent: Mapping[str, Any]) -> None:
        self.session.read(intent.get("at") in ("code", "source"))

    def _advise(self, intent: Mapping[str, Any]) -> None:
        self._advising.ask()

    def _opine(self, intent: Mapping[str, Any]) -> None:
        self._opining.ask()

    def _hello(self, intent: Mapping[str, Any]) -> None:
        self.component.send_state(self._shown)
        self.session.arrive()
        if not self._met:
            self._met = True
            self._draw_timeline()

    ACTIONS: Mapping[str, Callable[[Page, Mapping[str, Any]], None]] = {
        "advise": _advise,
        "cancel": _cancel,
        "case": _show_case,
        "compare": _compare_with,
        "dismiss": _dismiss,
        "opinion": _opine,
        "debug": _debug,
        "export": _export,
        "hello": _hello,
        "look": _look,
        "profile": _profile,
        "run": _run,
        "theme": _set_theme,
        "time": _time,
        "timeline": _use_timeline,
        "why": _ask_why,
        **file_intents.ACTIONS,
    }
