"""The catalogue of rules as a page, from the records in ``core/hazards``."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator

from warpdraft.core.advice import advise
from warpdraft.core.findings import Finding, Severity
from warpdraft.core.fixes import fixes_for
from warpdraft.core.hazards import HAZARDS, Hazard
from warpdraft.core.hazards.base import no_advice, no_document_check, no_run_check, no_trace_check
from warpdraft.core.report import render_finding
from warpdraft.core.tables import compared_table
from warpdraft.core.verify import verify

WIDTH = 120
FAMILIES = {
    "1": "Structure",
    "2": "Barriers",
    "3": "Deadlock",
    "4": "Races",
    "5": "Fences",
    "6": "Budgets",
    "7": "Cluster, dependent launch, scheduler",
    "8": "Advice",
}
DETECTORS: tuple[tuple[str, Callable[..., object], str], ...] = (
    ("check", no_document_check, "read from the document"),
    ("follow", no_trace_check, "from what each warp does in its order"),
    ("examine", no_run_check, "from the execution at each choice of trip counts"),
    ("advise", no_advice, "on demand, by trying changed copies"),
)
HEAD = """\
# The rules

<!-- Written by scripts/docs_write.py from core/hazards/: edit the rules, then run it. -->

Each rule is one file in `core/hazards/`: what it demands, why, a wrong schedule and its repair. Both schedules are shown
here as the verifier reads them, with what it says about the wrong one; the right one is safe without any finding, and
tests hold both to it. Advice (WD8xx) is given on request only, to schedules that are safe. `warpdraft explain CODE`
prints the same page of one rule.

A finding is an **error**, which makes a schedule unsafe, a **warning** or **advice**, which do not. Codes are never
renumbered. How findings are made, and what is not looked for, is in [verifier.md](verifier.md).
"""


def page() -> str:
    """The whole page."""
    rules = sorted(HAZARDS, key=lambda hazard: hazard.code)
    parts = [HEAD, "\n".join(_contents(rules)), *_sections(rules)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _contents(rules: Iterable[Hazard]) -> Iterator[str]:
    yield "| rule | demands |"
    yield "|---|---|"
    for hazard in rules:
        yield f"| [{hazard.code} {hazard.name}](#{_anchor(hazard)}) | {hazard.rule} |"


def _anchor(hazard: Hazard) -> str:
    return f"{hazard.code} {hazard.name}".lower().replace(" ", "-")


def _sections(rules: Iterable[Hazard]) -> Iterator[str]:
    family = ""
    for hazard in rules:
        if hazard.code[2] != family:
            family = hazard.code[2]
            yield f"## {family}xx {FAMILIES[family]}"
        yield from _section(hazard)


def _section(hazard: Hazard) -> Iterator[str]:
    yield f"### {hazard.code} {hazard.name}"
    yield f"**{hazard.rule}**"
    yield _wrapped(hazard.why)
    yield f"Wrong: {hazard.bad.name}"
    yield _fenced(compared_table(hazard.bad, hazard.good))
    yield _fenced(_finding(hazard))
    yield f"Right: {hazard.good.name}"
    yield _fenced(compared_table(hazard.good, hazard.bad))
    yield _wrapped("How it is found: " + "; ".join(_notes(hazard)) + "." + _repair(hazard))


def _found(hazard: Hazard) -> list[Finding]:
    found = verify(hazard.bad, strict_lanes=hazard.strict_lanes).findings
    if hazard.advise is not no_advice:
        found = advise(hazard.bad, budget=120).findings
    return [f for f in found if f.code == hazard.code]


def _finding(hazard: Hazard) -> str:
    findings = _found(hazard)
    first = min(findings, key=lambda f: list(Severity).index(f.severity))
    lines = render_finding(hazard.bad, first).splitlines()
    return "\n".join(line for line in lines if not line.startswith("   = explain:"))


def _notes(hazard: Hazard) -> Iterator[str]:
    for field, default, words in DETECTORS:
        detector = getattr(hazard, field)
        if detector is not default:
            text = " ".join((detector.__doc__ or "").split()).rstrip(".")
            yield f"{words}: {text[:1].lower()}{text[1:]}"


def _repair(hazard: Hazard) -> str:
    titles = list(_titles(hazard))
    return f" A fix is offered: {', or '.join(titles)}." if titles else ""


def _titles(hazard: Hazard) -> Iterator[str]:
    fixes = (fix for finding in _found(hazard) for fix in fixes_for(hazard.bad, finding))
    yield from dict.fromkeys(fix.title for fix in fixes)


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False))


def _fenced(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"
