"""What an edit changed, from the reports before and after it: new findings, or a verdict that says less."""

from __future__ import annotations

from .findings import Finding, Report, Scope

RANK = {"incomplete": 0, "listed": 1, "all": 2}


def finding_key(finding: Finding) -> tuple:
    """Names a finding across reports of one document and its edits: its rule, and the first op and names it points at."""
    return finding.code, finding.ops[:1], frozenset(finding.resources), frozenset(finding.tasks)


def new_findings(before: Report, after: Report) -> tuple[Finding, ...]:
    """What ``after`` finds, of whatever severity, and ``before`` does not."""
    known = {finding_key(f) for f in before.findings}
    return tuple(f for f in after.findings if finding_key(f) not in known)


def says_less(before: Scope, after: Scope) -> str:
    """Why a verdict of scope ``after`` is not as good as one of ``before``; "" if it is."""
    if RANK[after.kind] < RANK[before.kind]:
        return after.reason or f"the verdict is for {after.kind} trip counts only"
    tried = {name: set(values) for name, values in after.trip_counts}
    if after.kind == "listed" and any(not set(v) <= tried.get(name, set()) for name, v in before.trip_counts):
        return "fewer trip counts could be tried"
    taken = [words for words in after.assumed if words not in before.assumed]
    return f"it then takes for granted that {taken[0]}" if taken else ""
