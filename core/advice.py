"""Advice on a schedule that is safe: what it could do without, and what would make it faster.

It is proved by checking changed copies, which is costly: never a part of `verify`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

from .document import Document
from .findings import Finding, Report
from .hazards import HAZARDS
from .hazards.study import Study
from .limits import OUT_OF_TIME, TimeUp
from .verify import verify

BUDGET = 20.0  # seconds


@dataclass(frozen=True, slots=True)
class Advice:
    """``findings`` of severity advice, each with what it rests on; ``notes``: what a reader should know besides;
    ``finished``: whether all could be looked at in time."""

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    finished: bool = True


def advise(document: Document, budget: float = BUDGET, report: Report | None = None) -> Advice:
    """Every rule of advice, proved by verifying changed copies of ``document``, within ``budget`` seconds. ``report`` is
    the document's, where that is at hand. A schedule that is not safe gets no advice, and a note that says so."""
    deadline = perf_counter() + budget
    report = report or verify(document, budget=budget)
    if report.verdict != "safe":
        return Advice(notes=(f"advice is given on schedules that are safe: this one is {report.verdict}",))
    study = Study(document, report, verify, deadline)
    findings: list[Finding] = []
    finished = True
    for hazard in sorted(HAZARDS, key=lambda h: h.code, reverse=True):  # the cheap ones first
        try:
            findings.extend(hazard.advise(study))
        except TimeUp:
            finished = False
            study.notes.append(f"{hazard.code} {hazard.name}: {OUT_OF_TIME}, not everything was looked at")
    return Advice(tuple(sorted(findings, key=lambda f: f.code)), tuple(dict.fromkeys(study.notes)), finished)


def with_advice(report: Report, given: Advice) -> Report:
    """``report`` with the findings of ``given`` after its own."""
    return replace(report, findings=(*report.findings, *given.findings))
