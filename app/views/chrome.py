"""The toolbar: which document, what can be undone, the symbols' values, the verdict, and the line for the person."""

from __future__ import annotations

from typing import Any

from warpdraft.core.tree import placed

from ..files import Folder
from ..session import Session
from ..values import Notice
from .findings import verdict_view


def chrome_view(session: Session, folder: Folder, running: bool) -> dict[str, Any]:
    """The toolbar's state."""
    history = session.history
    counts = session.trip_counts
    notices = (*session.asked, session.notice) if session.notice else session.asked
    return {
        "name": session.document.name,
        "revision": session.revision,
        "file": folder.label(session.path) if session.path else "",
        "folder": str(folder.root),
        "dirty": session.dirty,
        "undo": history.titles[-1] if history.past else None,
        "redo": history.undone[0] if history.future else None,
        "target": session.document.target,
        "symbols": [
            {"name": s.name, "value": counts.get(s.name, s.min), "min": s.min}
            for s in session.document.symbols
        ],
        "verdict": verdict_view(session.report, session.revision, not any(placed(session.document))),
        "notices": [_notice(notice) for notice in notices],
        "recovery": session.recovery is not None,
        "others": session.others,
        "running": running,
    }


def _notice(notice: Notice) -> dict[str, Any]:
    action = notice.action
    actions = action if isinstance(action, tuple) else [action] if action else []
    return {"kind": notice.kind, "text": notice.text, "number": notice.number, "actions": actions}
