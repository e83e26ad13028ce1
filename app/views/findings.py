"""The findings view: the verdict with its scope, and every finding with where it is and what can be done."""

from __future__ import annotations

from typing import Any

from warpdraft.core.findings import Finding, Report, Severity
from warpdraft.core.hazards import HAZARDS
from warpdraft.core.hazards.base import no_fix

from ..values import Result

FIXABLE = {hazard.code for hazard in HAZARDS if hazard.repair is not no_fix}  # rules that propose fixes
ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.ADVICE: 2}


def finding_key(finding: Finding) -> str:
    """Names a finding across checks of one document: its rule and where it points."""
    return "|".join((finding.code, *finding.ops, *finding.resources, *finding.tasks))


def ordered(report: Report) -> list[Finding]:
    """The findings, errors first, else as reported."""
    return sorted(report.findings, key=lambda finding: ORDER[finding.severity])


def findings_view(
    report: Report | None,
    problem: str = "",
    advice: dict[str, Any] | None = None,
    opinion: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The list, how far the search for ``advice`` is, and what Task Scheduling says (None: it is not asked); without a
    report, ``problem`` says why."""
    asked = {"advice": advice or {"state": "none", "notes": []}, "opinion": opinion}
    if report is None:
        return {"items": [], "problem": problem, **asked}
    return {"items": [_item(finding) for finding in ordered(report)], "problem": "", **asked}


def _item(finding: Finding) -> dict[str, Any]:
    return {
        "key": finding_key(finding),
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "ops": list(finding.ops),
        "where": [*finding.ops[:6], *finding.resources],
        "fixable": bool(finding.fixes) or finding.code in FIXABLE,
    }


def marks_view(report: Report | None) -> dict[str, dict[str, str]]:
    """The worst severity at each op, resource and task that a finding names."""
    marks: dict[str, dict[str, str]] = {"ops": {}, "resources": {}, "tasks": {}}
    if report is None:
        return marks
    for finding in reversed(ordered(report)):  # the worst comes last and stays
        for id in finding.ops:
            marks["ops"][id] = finding.severity.value
        for name in finding.resources:
            marks["resources"][name] = finding.severity.value
        for name in finding.tasks:
            marks["tasks"][name] = finding.severity.value
    return marks


def verdict_view(result: Result, revision: int, empty: bool = False) -> dict[str, Any]:
    """The verdict in a word, its scope in a phrase, and how many findings of each kind. ``checking``: it is that of an
    older document than ``revision``; ``searching``: unsafe for certain, while more findings are looked for. ``empty``: no
    operation is there, so that a safe verdict would say nothing."""
    report, checking = result.value, result.revision != revision
    state = {"scope": "", "counts": {}, "checking": checking, "searching": not (checking or result.whole)}
    if empty and (report is None or not report.findings):
        return {**state, "word": "empty"}
    if report is None:
        return {**state, "word": "checking" if checking else "not checked", "scope": result.problem}
    counts = {s.value: sum(f.severity is s for f in report.findings) for s in Severity}
    return {**state, "word": report.verdict, "scope": scope_text(report), "counts": counts}


def scope_text(report: Report) -> str:
    """What the verdict speaks of, and what it assumes."""
    defaults = f"; assuming defaults for {', '.join(report.scope.defaults)}" if report.scope.defaults else ""
    assumed = "".join(f"; if {words}" for words in report.scope.assumed)
    return _cases(report) + defaults + assumed


def _cases(report: Report) -> str:
    scope = report.scope
    if scope.kind == "all":
        return "all trip counts"
    if scope.kind == "incomplete":
        return scope.reason
    listed = (
        ", ".join(f"{name} {_values(values)}" for name, values in scope.trip_counts) or "listed trip counts"
    )
    return f"{listed} ({scope.reason})" if scope.reason else listed


def _values(values: tuple[int, ...]) -> str:
    if len(values) > 2 and values == tuple(range(values[0], values[-1] + 1)):
        return f"{values[0]}..{values[-1]}"
    return ", ".join(map(str, values))
