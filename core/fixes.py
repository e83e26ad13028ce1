"""Fixes of a finding: edits that were tried on the document and verified before they are offered."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from .changes import finding_key, new_findings
from .document import Document
from .edits import EditError
from .findings import Finding, Fix, Report
from .hazards import HAZARDS
from .verify import verify

REPAIRS = {hazard.code: hazard.repair for hazard in HAZARDS}


def fixes_for(
    document: Document, finding: Finding, budget: float = 10.0, before: Report | None = None
) -> tuple[Fix, ...]:
    """The repairs of ``finding`` after which it is gone and nothing new is wrong. ``budget`` in seconds for each;
    ``before`` is the report of the document as it is, where that is at hand. Advice brings its own, already verified."""
    if finding.fixes:
        return finding.fixes
    repair = REPAIRS.get(finding.code)
    proposed = list(repair(document, finding)) if repair else []
    if not proposed:
        return ()
    before = before or verify(document, budget=budget)
    return tuple(fix for fix in proposed if _helps(document, fix, finding, before, budget))


def with_fixes(document: Document, report: Report, seconds: float = 10.0) -> Report:
    """``report`` with the fixes of its findings filled in, as far as ``seconds`` last."""
    end = perf_counter() + seconds
    findings = tuple(
        replace(f, fixes=fixes_for(document, f, left, report)) if (left := end - perf_counter()) > 0 else f
        for f in report.findings
    )
    return replace(report, findings=findings)


def applied(document: Document, fix: Fix) -> Document:
    """``document`` after ``fix``. Raises EditError where it does not fit."""
    for edit in fix.edits:
        document = edit.apply(document)
    return document


def _helps(document: Document, fix: Fix, finding: Finding, before: Report, budget: float) -> bool:
    try:
        after = verify(applied(document, fix), budget=budget)
    except EditError:
        return False
    if after.verdict == "incomplete" or finding_key(finding) in {finding_key(f) for f in after.findings}:
        return False
    return not new_findings(before, after)
