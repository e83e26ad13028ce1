"""A second opinion that the person asked for: what Task Scheduling's own check says of the present document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .session import Session
from .values import Result


class Opining:
    """Asks for it; ``redraw`` is called whenever `view` has changed."""

    def __init__(self, session: Session, redraw: Callable[[], None]) -> None:
        self._session, self._redraw = session, redraw
        self.forget()

    def view(self) -> dict[str, Any] | None:
        """``state``: "none", "asking", "given" or "failed", and ``notes``; None: the document is none of Task Scheduling."""
        from warpdraft.backends.nvidia_ts.asking import is_theirs

        if not is_theirs(self._session.document):
            return None
        return {"state": self._state, "notes": list(self._notes)}

    def forget(self) -> None:
        """The document has changed."""
        self._state, self._notes = "none", ()

    def ask(self) -> None:
        """Ask in the background, beside a report that is the present document's."""
        session = self._session
        if not session.checking and session.report.value is not None and self._state != "asking":
            self._become("asking", ())
            session.ask(self._answer, "opinion", session.report.value)

    def _answer(self, result: Result) -> None:
        if result.revision != self._session.revision:
            return
        notes = (result.problem,) if result.value is None else tuple(result.value)
        self._become("failed" if result.value is None else "given", notes)

    def _become(self, state: str, notes: tuple[str, ...]) -> None:
        self._state, self._notes = state, notes
        self._redraw()
