"""A document's state as one HTML page for a report: nothing in it runs, and nothing is asked for from outside."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape

from warpdraft.core.document import Document
from warpdraft.core.findings import Report
from warpdraft.core.limits import too_large
from warpdraft.core.simulate import default_values, simulate
from warpdraft.core.verify import verify

from .views import words
from .views.colors import task_colors
from .views.findings import ordered, scope_text
from .views.graph import graph_view
from .views.resources import resources_view
from .views.timeline import drawing, facts_view
from .views.timeline_svg import timeline_svg

STYLE = """
body { font: 13px/1.5 system-ui, sans-serif; color: #1d232b; background: #fff; }
body { max-width: 1280px; margin: 24px auto; padding: 0 16px; }
h1 { font-size: 20px; } h2 { font-size: 15px; margin: 28px 0 6px; } code, pre { font: 12px/1.45 ui-monospace, monospace; }
pre { background: #f6f7f9; padding: 8px 12px; overflow-x: auto; } table { border-collapse: collapse; }
td, th { text-align: left; padding: 2px 12px 2px 0; border-bottom: 1px solid #e2e6ea; vertical-align: top; }
.safe { color: #0b6b3a; } .unsafe, .error { color: #b42318; } .incomplete, .warning { color: #8a5a00; }
.columns { display: flex; flex-wrap: wrap; gap: 16px; } .columns section { flex: 1 1 360px; min-width: 0; }
svg { max-width: 100%; height: auto; } li { margin: 4px 0; }
.node path, .node polygon { fill: #f6f7f9; stroke: #8a94a1; } .edge path { stroke: #8a94a1; fill: none; }
.edge polygon { stroke: #8a94a1; fill: #8a94a1; } .node text, .edge text { fill: #1d232b; }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class Snapshot(str):
    """The page's text, which a notebook shows in a frame of its own."""

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self, quote=True)}" sandbox="" title="Schedule" '
            'style="width:100%;height:720px;border:1px solid #d0d5db"></iframe>'
        )


def snapshot(
    document: Document, report: Report | None = None, counts: Mapping[str, int] | None = None
) -> Snapshot:
    """The page: verdict, findings, graph, schedule, resources and predicted timeline. ``report``: what `verify` says, if it
    is there already; ``counts``: the symbols' values of the timeline."""
    return Snapshot("\n".join(_page(document, report or verify(document), counts or {})))


def _page(document: Document, report: Report, counts: Mapping[str, int]) -> Iterator[str]:
    name = escape(document.name)
    yield f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><style>{STYLE}</style></head><body>'
    yield f"<h1>{name} <small>({escape(document.target)})</small></h1>"
    yield f'<p><b class="{escape(report.verdict)}">{escape(report.verdict)}</b> {escape(scope_text(report))}</p>'
    yield from _findings(report)
    graph = graph_view(document)
    if graph["svg"]:
        yield f"<h2>Dependencies</h2>{still(graph['svg'])}"
    yield "<h2>Schedule</h2><div class='columns'>"
    for task in document.tasks:
        head = f"{task.name}: {words.warps_text(task.warp_idx, task.num_warps)}"
        yield f"<section><b>{escape(head)}</b><pre>{escape(chr(10).join(words.schedule_text(task.body)))}</pre></section>"
    yield "</div>"
    yield from _resources(document)
    known = default_values(document)
    if reason := too_large(document):
        yield f"<p>No timeline: {escape(reason)}</p></body></html>"
        return
    timeline = simulate(document, {**known, **{k: v for k, v in counts.items() if k in known}})
    yield f"<h2>Predicted timeline</h2><p>{escape(facts_view(timeline)['summary'])}</p>"
    yield (
        timeline_svg(drawing(timeline), task_colors(document)) if timeline.bars else "<p>Nothing happens.</p>"
    )
    yield "</body></html>"


def _findings(report: Report) -> Iterator[str]:
    yield "<h2>Findings</h2>"
    if not report.findings:
        yield "<p>None.</p>"
        return
    yield "<ul>"
    for finding in ordered(report):
        head = f"{finding.code} {finding.name}"
        where = ", ".join((*finding.ops, *finding.resources))
        yield f'<li><b class="{finding.severity.value}">{escape(head)}</b>: {escape(finding.message)}'
        yield f" <code>{escape(where)}</code>"
        steps = "".join(
            f"<li><code>{escape(s.agent)}</code> {escape(s.text)} {escape(s.at)}</li>"
            for s in finding.witness
        )
        yield (
            f"<details><summary>How it happens</summary><ol>{steps}</ol></details></li>" if steps else "</li>"
        )
    yield "</ul>"


def _resources(document: Document) -> Iterator[str]:
    yield "<h2>Resources</h2><table><tr><th>name</th><th>where</th><th>size</th><th>works</th></tr>"
    works = {
        resource.name: ", ".join(work.name for work in resource.works) for resource in document.resources
    }
    for item in resources_view(document)["items"]:
        cells = (item["name"], item["space"], item["detail"], works[item["name"]])
        yield "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"
    yield "</table>"


def still(svg: str) -> str:
    """The drawing without what could act."""
    return re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<script.*?</script>", "", svg, flags=re.DOTALL)
