"""The comparison's pane: with what the present document is compared, and the newest answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from warpdraft.core.document import Document
from warpdraft.core.store import DocumentError

from .files import Folder, OutsideFolder
from .session import Session
from .values import Result

OPENED, SAVED, PREVIOUS = "\u0000opened", "\u0000saved", "\u0000previous"  # no file is called that
NAMES = {OPENED: "as opened", SAVED: "as saved", PREVIOUS: "before the last edit"}


class ComparePane:
    """``changed()`` is called when `view` has."""

    def __init__(self, session: Session, folder: Folder, changed: Callable[[], None]) -> None:
        self._session, self._folder, self._changed = session, folder, changed
        self._with, self._theme = "", "light"
        self._state, self._problem = "", ""
        self._revision = -1
        self._answer: dict[str, Any] | None = None

    def view(self) -> dict[str, Any]:
        """The pane's state for the page."""
        session = self._session
        options = [(PREVIOUS, NAMES[PREVIOUS]), (OPENED, NAMES[OPENED])] if session.history.past else []
        options += [(SAVED, NAMES[SAVED])] if session.dirty and session.saved.name else []
        return {
            "with": self._with,
            "options": options,
            "state": self._state,
            "problem": self._problem,
            "revision": self._revision,
            "theme": self._theme,
            "answer": self._answer,
        }

    def forget(self) -> None:
        """Another document was opened."""
        self._with, self._state, self._problem, self._answer, self._revision = "", "", "", None, -1
        self._changed()

    def receive(self, intent: Mapping[str, Any]) -> None:
        """Compare the present document with another."""
        session, key = self._session, str(intent.get("with", ""))
        self._with, self._theme = key, "dark" if intent.get("theme") == "dark" else "light"
        self._problem, self._revision = "", session.revision
        try:
            other = self._other(key)
        except (OutsideFolder, DocumentError) as error:
            self._state, self._problem, self._answer = "", str(error), None
            self._changed()
            return
        if other is None:
            self._state, self._answer = "", None
            self._changed()
            return
        self._state = "asking"
        self._changed()
        names = (NAMES.get(key, key), "now")

        def answer(result: Result) -> None:
            self._state, self._answer, self._problem = "", result.value, result.problem
            self._changed()

        session.ask(answer, "compare", other, dict(session.trip_counts), names, self._theme)

    def _other(self, key: str) -> Document | None:
        history = self._session.history
        if key in (OPENED, PREVIOUS):
            return history.past[0 if key == OPENED else -1] if history.past else None
        if key == SAVED:
            return self._session.saved
        return self._session.tools.load(self._folder.allowed(key)) if key else None
