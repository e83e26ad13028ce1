"""Two documents side by side: what differs, what the verifier says of each, and what the prediction gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpdraft.core.document import Document
from warpdraft.core.edits import EditError
from warpdraft.core.findings import Report
from warpdraft.core.limits import too_large
from warpdraft.core.simulate import Timeline, default_values, simulate
from warpdraft.core.verify import verify

from .views.colors import task_colors
from .views.details import changes
from .views.findings import finding_key
from .views.timeline import drawing
from .views.timeline_svg import timeline_svg


def compare(
    after: Document, before: Document, counts: Mapping[str, int], names: tuple[str, str], theme: str = "light"
) -> dict[str, Any]:
    """What the page shows; ``names`` are those of ``before`` and ``after``, ``counts`` the symbols' values for both."""
    documents = (before, after)
    reports = [verify(document) for document in documents]
    timelines = [_predict(document, counts) for document in documents]
    end = float(max(timeline.total for timeline in timelines) or 1)
    sides = []
    for name, document, report, timeline in zip(names, documents, reports, timelines, strict=True):
        svg = timeline_svg(
            drawing(timeline), task_colors(document), theme, window=(0.0, end), title=f"{name}: {timeline.bottleneck}"
        )  # fmt: skip
        sides.append({"name": name, "rows": _rows(document, report, timeline), "svg": svg})
    labels = [row[0] for row in sides[0]["rows"]]
    values = zip(labels, *([row[1] for row in side["rows"]] for side in sides), strict=True)
    gone, new = _apart(*reports)
    return {
        "names": list(names),
        "facts": [list(row) for row in values],
        "diff": changes(before, after),
        "gone": gone,
        "new": new,
        "svgs": [side["svg"] for side in sides],
        "faster": _change(timelines[0], timelines[1]),
    }


def _predict(document: Document, counts: Mapping[str, int]) -> Timeline:
    known = default_values(document)
    if reason := too_large(document):
        raise EditError(reason)
    return simulate(document, {**known, **{k: v for k, v in counts.items() if k in known}})


def _rows(document: Document, report: Report, timeline: Timeline) -> list[tuple[str, str]]:
    counts = {"errors": len(report.errors), "findings": len(report.findings)}
    cycles = f"{timeline.total:,}" + ("" if timeline.ended else " (stuck)")
    return [
        ("verdict", report.verdict),
        ("errors", str(counts["errors"])),
        ("all findings", str(counts["findings"])),
        ("predicted cycles", cycles),
        ("busiest", timeline.bottleneck),
        ("tasks", ", ".join(f"{t.name} ({t.num_warps})" for t in document.tasks)),
        ("for", ", ".join(f"{name} = {value}" for name, value in timeline.values)),
    ]


def _apart(before: Report, after: Report) -> tuple[list[str], list[str]]:
    """Findings of the first alone, and of the second alone."""
    old = {finding_key(f): f for f in before.findings}
    new = {finding_key(f): f for f in after.findings}

    def words(some: dict, others: dict) -> list[str]:
        return [f"{f.code} {f.name}: {f.message}" for key, f in some.items() if key not in others]

    return words(old, new), words(new, old)


def _change(before: Timeline, after: Timeline) -> str:
    """The change of the predicted time in words; nothing where one of them is stuck."""
    if not (before.ended and after.ended and before.total and after.total):
        return ""
    part = 100 * (after.total - before.total) / before.total
    if abs(part) < 0.05:
        return "as fast as before"
    return f"{abs(part):.1f} % {'more' if part > 0 else 'fewer'} cycles"
