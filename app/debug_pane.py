"""The debugger's pane: a walk through the present document, begun when it is first asked for, and breakpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from warpdraft.core.limits import too_large

from . import debug_intents
from .breakpoints import Breakpoints
from .debugger import Debugger
from .session import Session
from .views.debugger import debugger_view
from .views.details import find


class DebugPane:
    """``changed()`` is called when `view` has."""

    def __init__(self, session: Session, changed: Callable[[], None]) -> None:
        self._session, self._changed = session, changed
        self._debugger: Debugger | None = None
        self._breakpoints = Breakpoints()

    def restart(self) -> None:
        """The document or its trip counts are others: the walk is over."""
        self._debugger = None

    def forget(self) -> None:
        """Another document was opened."""
        self._debugger, self._breakpoints = None, Breakpoints()

    def view(self) -> dict[str, Any]:
        """The pane's state for the page."""
        return debugger_view(self._debugger, self._breakpoints)

    def receive(self, intent: Mapping[str, Any]) -> None:
        """Carry out one intent of type "debug"; one that names a finding is for a walk at the finding's trip counts."""
        session = self._session
        if reason := too_large(session.document):
            session.say("error", f"Nothing to debug: {reason}")
            return
        finding = find(session.report.value, str(intent.get("key", "")))
        if self._debugger is None:
            self._begin(session.trip_counts)
        if finding is not None and dict(finding.case) != self._debugger.values:
            self._begin(dict(finding.case))
        debug_intents.carry_out(self._debugger, intent, finding)
        self._changed()

    def _begin(self, values: Mapping[str, int]) -> None:
        self._debugger = Debugger(self._session.document, values, self._breakpoints)
