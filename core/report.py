"""Reports as text in the order of rustc (headline, place, notes, help), as JSON, and the page of a rule."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import Any

from .document import Document, Op, Source
from .findings import Finding, Report, Step
from .hazards import HAZARDS
from .phrases import phrase
from .tables import compared_table, memory_table, register_table, schedule_table
from .tree import find_node
from .valuations import loops_of

WIDTH = 120
SHOWN_WORKS = 9  # that a verdict assumes the defaults of, in its line; all are listed below it
SHOWN_STEPS = 12  # of a witness, in text; the last ones matter most


def render_report(document: Document, report: Report) -> str:
    """All findings and the verdict, as text."""
    parts = [render_finding(document, finding) for finding in report.findings]
    lines = [verdict_line(report)]
    if report.verdict == "safe" and len(report.scope.defaults) > SHOWN_WORKS:
        lines += _wrapped("  assumed: ", ", ".join(report.scope.defaults))
    return "\n\n".join([*parts, "\n".join(lines)])


def render_schedule(document: Document, report: Report) -> str:
    """What `print_and_verify` prints: the schedule, its budgets, then the findings and the verdict."""
    tables = (schedule_table(document), register_table(document), memory_table(document))
    return "\n\n".join(
        [f"schedule {document.name}, target {document.target}", *tables, render_report(document, report)]
    )


def verdict_line(report: Report) -> str:
    """ "gemm: safe for k_tiles 1..9, tiles 0..3 (10890 events, 0.10 s)"."""
    scope = report.scope
    counts = ", ".join(f"{name} {_range(values)}" for name, values in scope.trip_counts)
    for_what = {
        "all": "for all trip counts" if counts else "",
        "listed": f"for {counts}" if counts else "",
    }.get(scope.kind, "")
    for_what += f" ({scope.reason})" if scope.reason and counts else ""
    if scope.defaults and report.verdict == "safe":
        shown = (
            scope.defaults
            if len(scope.defaults) <= SHOWN_WORKS
            else (*scope.defaults[: SHOWN_WORKS - 1], "...")
        )
        works = f"{len(scope.defaults)} work{'s' * (len(scope.defaults) != 1)} ({', '.join(shown)})"
        for_what = f"{for_what}, assuming defaults for {works}".lstrip(", ")
    if scope.assumed and report.verdict == "safe":
        for_what = f"{for_what}, if {'; '.join(scope.assumed)}".lstrip(", ")
    if report.verdict == "incomplete":
        for_what = f"({scope.reason}; done so far: {counts or 'nothing'})"
    errors, others = len(report.errors), len(report.findings) - len(report.errors)
    found = [f"{errors} error{'s' * (errors != 1)}"] if errors else []
    found += [f"{others} other finding{'s' * (others != 1)}"] if others else []
    head = f"{report.document}: {report.verdict}" + (f" {for_what}" if for_what else "")
    return f"{head}{', ' if found else ''}{', '.join(found)} ({report.events} events, {report.seconds:.2f} s)"


def _range(values: tuple[int, ...]) -> str:
    if len(values) > 2 and values == tuple(range(values[0], values[-1] + 1)):
        return f"{values[0]}..{values[-1]}"
    return ", ".join(map(str, values))


def render_finding(document: Document, finding: Finding) -> str:
    """One finding, headline first."""
    lines = _wrapped(f"{finding.severity}[{finding.code}]: ", finding.message)
    ops = [
        found.node for id in finding.ops if (found := find_node(document, id)) and isinstance(found.node, Op)
    ]
    for place, op in enumerate(ops):
        lines.append(f"  {'-->' if place == 0 else '   '} {_place(op.source)}{op.id}: {phrase(op)}")
    if not ops:
        lines += [f"  --> {name}" for name in finding.resources or finding.tasks]
    for label, text in (("expected", finding.expected), ("actual", finding.actual), ("case", _case(finding))):
        if text:
            lines += _wrapped(f"   = {label}: ", text)
    for note in finding.notes:
        lines += _wrapped("   = note: ", note)
    lines += _witness(finding.witness)
    lines += [f"   = help: {fix.title}" for fix in finding.fixes]
    return "\n".join([*lines, f"   = explain: warpdraft explain {finding.code}"])


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=head, subsequent_indent=" " * min(len(head), 12)) or [
        head
    ]


def _place(source: Source | None) -> str:
    return f"{source}  " if source else ""


def _case(finding: Finding) -> str:
    return ", ".join(f"{name} = {value}" for name, value in finding.case)


def _witness(steps: tuple[Step, ...]) -> list[str]:
    """The last steps, and of the earlier ones those that are marked, with how many are left out before each."""
    lines, left = ["   = witness:"] if steps else [], 0
    for place, step in enumerate(steps):
        if place < len(steps) - SHOWN_STEPS and not step.marked:
            left += 1
            continue
        if left:
            lines.append(f"       ({left} {'more' if len(lines) > 1 else 'earlier'} step{'s' * (left != 1)})")
            left = 0
        at = f" ({step.at})" if step.at else ""
        lines.append(f"     {'*' if step.marked else ' '} {step.agent}  {step.op}  {step.text}{at}")
    return lines


def report_json(document: Document, report: Report) -> dict[str, Any]:
    """The report as plain values, in the form of ``check --json``."""
    counts = {name: list(values) for name, values in report.scope.trip_counts}
    tile_loops = (loop for loop in loops_of(document) if loop.kind == "tile")
    tiles = sorted({n for loop in tile_loops for n in counts.get(str(loop.stop), ())})
    return {
        "document": report.document,
        "verdict": report.verdict,
        "scope": {
            "kind": report.scope.kind,
            "trip_counts": counts,
            "tiles": tiles,
            "lanes": report.scope.lanes,
            "reason": report.scope.reason,
            "assumed": list(report.scope.assumed),
            "defaults": list(report.scope.defaults),
        },
        "findings": [_finding_json(document, finding) for finding in report.findings],
        "stats": {"events": report.events, "seconds": round(report.seconds, 6)},
    }


def _finding_json(document: Document, finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": str(finding.severity),
        "message": finding.message,
        "ops": list(finding.ops),
        "sources": {id: source for id in finding.ops if (source := _source(document, id))},
        "resources": list(finding.resources),
        "tasks": list(finding.tasks),
        "expected": finding.expected,
        "actual": finding.actual,
        "notes": list(finding.notes),
        "case": dict(finding.case),
        "witness": [
            {"agent": s.agent, "op": s.op, "text": s.text, "at": s.at, "marked": s.marked}
            for s in finding.witness
        ],
        "fixes": [
            {"title": fix.title, "edits": [{"is": type(e).__name__, **asdict(e)} for e in fix.edits]}
            for fix in finding.fixes
        ],
    }


def _source(document: Document, id: str) -> str:
    found = find_node(document, id)
    return str(found.node.source) if found and found.node.source else ""


def explain(code: str) -> str:
    """The page of a rule. Raises KeyError for an unknown code."""
    hazard = next((h for h in HAZARDS if h.code == code.upper()), None)
    if hazard is None:
        raise KeyError(code)
    return "\n".join(
        [
            f"{hazard.code}  {hazard.name}",
            "",
            *textwrap.wrap(hazard.rule, WIDTH),
            "",
            "Why",
            *textwrap.wrap(hazard.why, WIDTH, initial_indent="  ", subsequent_indent="  "),
            "",
            f"Wrong: {hazard.bad.name}",
            textwrap.indent(compared_table(hazard.bad, hazard.good), "  "),
            "",
            f"Right: {hazard.good.name}",
            textwrap.indent(compared_table(hazard.good, hazard.bad), "  "),
        ]
    )
