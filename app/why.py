"""Why an op is there: what the verifier says when it is deleted on a copy."""

from __future__ import annotations

from typing import Any

from warpdraft.core.changes import new_findings, says_less
from warpdraft.core.document import Document
from warpdraft.core.edits import DeleteNode
from warpdraft.core.unseen import Unseen
from warpdraft.core.verify import verify


def why(document: Document, id: str) -> dict[str, Any]:
    """What breaks without the op ``id``: a title and lines; ``state`` is "needed", "redundant" or "open"."""
    deleted = DeleteNode(id).apply(document)
    before, without = verify(document), verify(deleted)
    new = new_findings(before, without)
    if new:
        lines = [f"{finding.code} {finding.name}: {finding.message}" for finding in new[:3]]
        steps = [f"{s.agent} {s.text}" + (f" ({s.at})" if s.at else "") for s in new[0].witness[-3:]]
        return {"state": "needed", "title": "Without it:", "lines": lines + steps}
    if without.verdict == "incomplete":
        lines = [without.scope.reason]
        return {"state": "open", "title": "The verifier could not finish without it", "lines": lines}
    if less := says_less(before.scope, without.scope):
        return {"state": "open", "title": "No rule is broken without it, but less is proved", "lines": [less]}
    if lost := Unseen(document).lost(deleted):
        lines = [f"It may order accesses to {', '.join(lost)}, whose memory is not modelled."]
        return {"state": "open", "title": "No rule needs it, but the order of accesses does", "lines": lines}
    scope = "at all trip counts" if without.scope.kind == "all" else "at the trip counts that were tried"
    return {
        "state": "redundant",
        "title": "No rule needs it",
        "lines": [f"Without it the verifier finds no new error, {scope}."],
    }
