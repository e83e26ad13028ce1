"""Why an op is there: what the verifier says when it is deleted on a copy."""

from __future__ import annotations

from typing import Any

from warpdraft.core.document import Document
from warpdraft.core.edits import DeleteNode
from warpdraft.core.verify import verify

from .views.findings import finding_key


def why(document: Document, id: str) -> dict[str, Any]:
    """What breaks without the op ``id``: a title and lines; ``state`` is "needed", "redundant" or "open"."""
    without = verify(DeleteNode(id).apply(document))
    before = {finding_key(finding) for finding in verify(document).findings}
    new = [finding for finding in without.errors if finding_key(finding) not in before]
    if new:
        lines = [f"{finding.code} {finding.name}: {finding.message}" for finding in new[:3]]
        steps = [f"{s.agent} {s.text}" + (f" ({s.at})" if s.at else "") for s in new[0].witness[-3:]]
        return {"state": "needed", "title": "Without it:", "lines": lines + steps}
    if without.verdict == "incomplete":
        lines = [without.scope.reason]
        return {"state": "open", "title": "The verifier could not finish without it", "lines": lines}
    scope = "at all trip counts" if without.scope.kind == "all" else "at the trip counts that were tried"
    return {
        "state": "redundant",
        "title": "No rule needs it",
        "lines": [f"Without it the verifier finds no new error, {scope}."],
    }
