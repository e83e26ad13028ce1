"""Advice that the person asked for: it joins the findings of the present report, until the document changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warpdraft.core.advice import with_advice

from .session import Session
from .values import Result


class Advising:
    """Asks for advice on the session's document; ``redraw`` is called whenever `view` has changed."""

    def __init__(self, session: Session, redraw: Callable[[], None]) -> None:
        self._session, self._redraw = session, redraw
        self._state, self._notes = "none", ()

    def view(self) -> dict[str, Any]:
        """``state``: "none", "asking", "given" or "failed"; ``notes``: lines besides the findings."""
        return {"state": self._state, "notes": list(self._notes)}

    def forget(self) -> None:
        """The document has changed."""
        self._state, self._notes = "none", ()

    def ask(self) -> None:
        """Look for advice in the background, on a report that is the present document's."""
        if self._session.checking or self._session.report.value is None or self._state == "asking":
            return
        self._become("asking")
        self._session.ask(self._answer, "advise", self._session.report.value)

    def _answer(self, result: Result) -> None:
        session = self._session
        if result.revision != session.revision:
            return
        if result.value is None:
            self._become("failed", (result.problem,))
            return
        report = session.report.value
        if not any(f in report.findings for f in result.value.findings):
            session.report = Result(session.revision, with_advice(report, result.value))
        self._become("given", result.value.notes or ("nothing to add",) * (not result.value.findings))

    def _become(self, state: str, notes: tuple[str, ...] = ()) -> None:
        self._state, self._notes = state, notes
        self._redraw()
