"""Edits that repair a finding, looked for in the background, each verified before it is offered."""

from __future__ import annotations

from warpdraft.core.findings import Finding

from .session import Session
from .values import Result
from .views.findings import finding_key


def find_fixes(session: Session, finding: Finding) -> None:
    """Look for edits that repair ``finding``; they come into the session's ``fixes``."""
    key = finding_key(finding)
    if key in session.fixes or session.checking:
        return
    found = {
        key: fixes for key, fixes in session.fixes.items() if fixes is not None
    }  # the question replaces another
    session.fixes = {**found, key: None}

    def answer(result: Result) -> None:
        if result.revision == session.revision:
            session.fixes = {**session.fixes, key: result.value or ()}

    session.ask(answer, "fixes", finding)
