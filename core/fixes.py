"""Fixes of a finding: edits that were tried on the document and verified before they are offered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import perf_counter

from .changes import finding_key, new_findings
from .document import Document
from .edits import Edit, EditError
from .findings import Finding, Fix, Report
from .hazards import HAZARDS
from .valuations import running
from .verify import verify

REPAIRS = {hazard.code: hazard.repair for hazard in HAZARDS}
SECONDS = 10.0  # for the fixes of one finding, or of a whole report
MOST = 3  # fixes of one finding
FURTHER = 6  # edits that are tried once a fix that leaves no error is known


def fixes_for(
    document: Document, finding: Finding, budget: float = SECONDS, before: Report | None = None
) -> tuple[Fix, ...]:
    """The repairs of ``finding`` after which it is gone and nothing new is wrong, at most `MOST`, those first that leave no
    error. ``budget`` in seconds for all; ``before`` is the report of the document as it is, where that is at hand. Advice
    brings its own, already verified."""
    if finding.fixes:
        return finding.fixes
    end = perf_counter() + budget
    return _Trials(document, before, end).fixes(finding)


def with_fixes(document: Document, report: Report, seconds: float = SECONDS) -> Report:
    """``report`` with the fixes of its findings filled in, as far as ``seconds`` last."""
    trials = _Trials(document, report, perf_counter() + seconds)
    return replace(
        report, findings=tuple(f if f.fixes else replace(f, fixes=trials.fixes(f)) for f in report.findings)
    )


def applied(document: Document, fix: Fix) -> Document:
    """``document`` after ``fix``. Raises EditError where it does not fit."""
    for edit in fix.edits:
        document = edit.apply(document)
    return document


class _Trials:
    """What has been tried on one document: each set of edits is verified once, whatever finding it may repair."""

    def __init__(self, document: Document, before: Report | None, end: float) -> None:
        self._document, self._given, self._end = document, before, end
        self._reports: dict[tuple[Edit, ...], Report | None] = {}
        self._whole: list[Fix] = []  # those that leave no error

    @property
    def _left(self) -> float:
        return self._end - perf_counter()

    @property
    def _before(self) -> Report:
        self._given = self._given or verify(self._document, budget=max(0.0, self._left))
        return self._given

    def fixes(self, finding: Finding) -> tuple[Fix, ...]:
        """The fixes of ``finding``."""
        repair: Callable[[Document, Finding], Iterator[Fix]] | None = REPAIRS.get(finding.code)
        if repair is None or self._left <= 0:
            return ()
        whole = [fix for fix in self._whole if self._helps(fix, finding)]
        if whole:
            return tuple(whole)
        part: list[Fix] = []
        further, seen = FURTHER, set()
        for fix in repair(self._document, finding):
            if self._left <= 0 or len(whole) == MOST or not further:
                break
            if fix.edits in seen:
                continue
            seen.add(fix.edits)
            further -= bool(whole)
            if self._helps(fix, finding):
                (part if self._report(fix).errors else whole).append(fix)
        self._whole += whole
        return tuple((whole + part)[:MOST])

    def _helps(self, fix: Fix, finding: Finding) -> bool:
        after = self._report(fix)
        return after is not None and finding_key(finding) not in {finding_key(f) for f in after.findings}

    def _report(self, fix: Fix) -> Report | None:
        """The report after ``fix``; None where it does not fit, has something new wrong, or is not decided in time."""
        if fix.edits not in self._reports:
            self._reports[fix.edits] = self._tried(fix)
        return self._reports[fix.edits]

    def _tried(self, fix: Fix) -> Report | None:
        try:
            after = applied(self._document, fix)
        except EditError:
            return None
        few = {name: (value,) for name, value in running(after).items()}
        report = None
        for trip_counts in (few, None) if few else (None,):  # most of what is wrong shows at once
            report = verify(after, trip_counts=trip_counts, budget=max(0.0, self._left))
            if new_findings(self._before, report):
                return None
        return None if report is None or report.verdict == "incomplete" else report
