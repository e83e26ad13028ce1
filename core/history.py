"""Undo and redo as three values: documents are immutable, so going back is only picking an earlier one."""

from __future__ import annotations

from dataclasses import dataclass

from .document import Document


@dataclass(frozen=True, slots=True)
class History:
    """What came before ``present`` (oldest first), and what was undone (next to redo first).

    ``titles`` say in words what led to ``present`` from each of ``past``; ``undone`` the same for ``future``.
    """

    present: Document
    past: tuple[Document, ...] = ()
    future: tuple[Document, ...] = ()
    titles: tuple[str, ...] = ()
    undone: tuple[str, ...] = ()

    def push(self, document: Document, title: str = "") -> History:
        """The history after a change to ``document``; what was undone is forgotten. An equal document changes nothing."""
        if document == self.present:
            return self
        return History(document, (*self.past, self.present), (), (*self.titles, title), ())

    def undo(self) -> History:
        """One step back; the history itself at the beginning."""
        if not self.past:
            return self
        return History(
            self.past[-1],
            self.past[:-1],
            (self.present, *self.future),
            self.titles[:-1],
            (self.titles[-1], *self.undone),
        )

    def redo(self) -> History:
        """One step forward; the history itself at the end."""
        if not self.future:
            return self
        return History(
            self.future[0],
            (*self.past, self.present),
            self.future[1:],
            (*self.titles, self.undone[0]),
            self.undone[1:],
        )
