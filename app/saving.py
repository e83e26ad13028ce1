"""Saving a document: nothing that another has written is replaced without asking."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from warpdraft.core.consistency import problem
from warpdraft.core.document import Document
from warpdraft.core.store import DocumentError

from .files import SUFFIX, autosave_of, fingerprint

if TYPE_CHECKING:
    from .session import Session


def save(session: Session, path: Path | None, over: bool) -> bool:
    """Write the document of ``session`` to ``path`` (its file, if not given). False where it was not written: a notice
    then says why, or asks whether to replace what is there (``over``)."""
    target = path or session.path
    if target is None:
        session.say("error", "This document has no file yet: use Save as")
        return False
    same = session.path is not None and target.resolve() == session.path.resolve()
    if not over and (_changed(session, target) if same else _taken(session, target)):
        return False
    document = session.document if same else named(session.document, target)
    try:
        session.tools.save(document, target)
    except DocumentError as error:
        session.say("error", f"Not saved: {error}")
        return False
    session.written(document, target)
    session.say("done", f"Saved {target.name}")
    return True


def _taken(session: Session, target: Path) -> bool:
    """Whether another document is there; asks."""
    if not target.exists() and not autosave_of(target).exists():
        return False
    again = {"type": "save_as", "name": str(target), "over": True}
    session.say("error", f"{target.name} exists: replace it?", ({"label": "Replace it", "intent": again},))
    return True


def _changed(session: Session, target: Path) -> bool:
    """Whether the file was changed since it was read or written here; asks."""
    if fingerprint(target) in ("", session.seen):
        return False
    choices = (
        {"label": "Overwrite", "intent": {"type": "save", "over": True}},
        {"label": "Save as", "intent": {"type": "ask_name"}},
        {"label": "Reload", "intent": {"type": "reload"}},
    )
    session.say("error", f"{target.name} was changed by another program or tab: not saved", choices)
    return True


def named(document: Document, path: Path) -> Document:
    """``document`` with the name of its file, where a document may be called that."""
    name = path.name.removesuffix(SUFFIX).removesuffix(".json")
    other = replace(document, name=name) if name else document
    return document if problem(other) else other
