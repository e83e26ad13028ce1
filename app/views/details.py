"""The details view: the selected finding explained with its witness and fixes, or the form of what is selected."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from warpdraft.core.arrivals import derived_empty_count, derived_full_count
from warpdraft.core.document import Document
from warpdraft.core.edits import EditError
from warpdraft.core.findings import Finding, Fix, Report
from warpdraft.core.hazards import HAZARDS

from . import words
from .findings import FIXABLE, finding_key
from .forms import form_of

NOT_FACTS = {"name", "source", "pipeline", "storage", "works"}  # told elsewhere, or not at all
Fixes = Mapping[str, tuple[Fix, ...] | None]


def details_view(
    document: Document,
    report: Report | None,
    kind: str,
    ids: tuple[str, ...],
    fixes: Fixes = MappingProxyType({}),
) -> dict:
    """What the side pane shows. ``fixes``: what was found for findings by their key, None while it is looked for."""
    if kind == "finding":
        finding = find(report, ids[0])
        return (
            {
                **finding_details(document, finding, fixes.get(ids[0], finding.fixes)),
                "searched": fixes.get(ids[0]) == () and finding.code in FIXABLE,
            }
            if finding
            else {"kind": "empty"}
        )
    form = form_of(document, kind, ids)
    return {"kind": "form", "of": kind, **form} if form else {"kind": "empty"}


def find(report: Report | None, key: str) -> Finding | None:
    """The finding with that key in ``report``."""
    return next((f for f in report.findings if finding_key(f) == key), None) if report else None


def finding_details(document: Document, finding: Finding, fixes: tuple[Fix, ...] | None) -> dict[str, Any]:
    """Everything that a finding says, and what its rule demands."""
    rule = next((hazard for hazard in HAZARDS if hazard.code == finding.code), None)
    return {
        "kind": "finding",
        "key": finding_key(finding),
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "expected": finding.expected,
        "actual": finding.actual,
        "notes": list(finding.notes),
        "case": ", ".join(f"{name} = {value}" for name, value in finding.case),
        "ops": list(finding.ops),
        "witness": [{"agent": s.agent, "op": s.op, "text": s.text, "at": s.at} for s in finding.witness],
        "fixes": [{"title": fix.title, "diff": diff(document, fix)} for fix in fixes or ()],
        "searching": fixes is None,
        "rule": rule.rule if rule else "",
        "harm": rule.why if rule else "",
    }


def diff(document: Document, fix: Fix) -> list[list[str]]:
    """The change that ``fix`` makes, as lines of (sign, text): sign "+", "-", " " or "@" (where)."""
    after = document
    try:
        for edit in fix.edits:
            after = edit.apply(after)
    except EditError as error:
        return [["@", f"no longer fits: {error}"]]
    return changes(document, after)


def changes(before: Document, after: Document) -> list[list[str]]:
    """What differs between two documents, in the words of the schedule view."""
    lines = _fields(before, after)
    old, new = _texts(before), _texts(after)
    for name in dict.fromkeys((*old, *new)):
        hunk = list(difflib.unified_diff(old.get(name, []), new.get(name, []), lineterm="", n=1))[2:]
        if hunk:
            lines.append(["@", name])
            lines += [[line[0], line[1:]] for line in hunk if not line.startswith("@@")]
    return lines


def _texts(document: Document) -> dict[str, list[str]]:
    texts = {task.name: words.schedule_text(task.body) for task in document.tasks}
    texts["tasks"] = [
        f"{t.name}: {words.warps_text(t.warp_idx, t.num_warps)}, registers {t.num_registers}"
        for t in document.tasks
    ]
    texts["document"] = [f"target {document.target}", f"cluster {document.cluster}"]
    texts["document"] += [f"CTAs on a multiprocessor {document.ctas_per_sm}"] * (document.ctas_per_sm != 1)
    texts["document"] += [f"symbol {symbol.name}, at least {symbol.min}" for symbol in document.symbols]
    texts["groups"] = [f"{group.name}: {group.kind.value}" for group in document.groups]
    texts["groups"] += [
        f"{g.name}: {g.mode.value} of {', '.join(g.members)}" for g in document.pipeline_groups
    ]
    texts["works"] = [
        f"{r.name}.{w.name}({', '.join(w.parameters)}) {w.role} {w.engine.value if w.engine else ''}".rstrip()
        for r in document.resources
        for w in r.works
    ]
    texts["graph"] = [f"{edge.upstream} -> {edge.downstream}" for edge in document.graph]
    return texts


def _fields(before: Document, after: Document) -> list[list[str]]:
    """Resources and barriers that came or went, and of the others the fields that differ: ``stages: 4 → 3``."""
    lines: list[list[str]] = []
    old, new = _declared(before), _declared(after)
    for name in dict.fromkeys((*old, *new)):
        if name not in new or name not in old:
            lines += [["@", "resources"], ["-" if name in old else "+", name]]
            continue
        was, now = _facts(before, old[name]), _facts(after, new[name])
        changed = [key for key in dict.fromkeys((*was, *now)) if was.get(key) != now.get(key)]
        if changed:
            lines.append(["@", name])
            lines += [[" ", f"{key}: {was.get(key, 'none')} → {now.get(key, 'none')}"] for key in changed]
    return lines


def _declared(document: Document) -> dict[str, Any]:
    return {item.name: item for item in (*document.resources, *document.barriers, *document.mbarriers)}


def _facts(document: Document, item: Any) -> dict[str, str]:
    """The fields of a resource or barrier in words; a count that is left to the works with what it derives to."""
    derived = {}
    if pipeline := getattr(item, "pipeline", None):
        derived = {
            "producer count": derived_full_count(document, item),
            "consumer count": derived_empty_count(document, item),
        }
    facts = {}
    for part in (pipeline, getattr(item, "storage", None), item):
        for entry in dataclasses.fields(part) if part is not None else ():
            if entry.name in NOT_FACTS:
                continue
            key, value = entry.name.replace("_", " "), getattr(part, entry.name)
            if part is not pipeline and key in facts:
                key = f"stored {key}"
            if value is None and part is pipeline:
                text = f"derived ({derived[key]})" if key in derived else "derived"
            else:
                text = "none" if value in (None, "", ()) else str(getattr(value, "value", value))
            facts[key] = text
    return facts
