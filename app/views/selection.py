"""What the selection lights up in every view: ops, resources and tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from warpdraft.core.document import Document, Guard, Loop, Node, Op
from warpdraft.core.edits import uses
from warpdraft.core.findings import Finding, Report
from warpdraft.core.op_integers import symbols_used
from warpdraft.core.tree import find_node, find_resource, find_task, ops_of, walk

from .details import find
from .timeline_ties import ties_of


def selection_view(
    document: Document, report: Report | None, kind: str, ids: tuple[str, ...]
) -> dict[str, Any]:
    """The selection with the names of all that it lights up."""
    ops: list[str] = []
    resources: list[str] = []
    tasks: list[str] = []
    cycle: list[dict[str, str]] = []
    first = ids[0] if ids else ""
    match kind:
        case "op":
            ops = [op for id in ids for op in _inside(document, id)]
            placed = find_node(document, first)
            if placed is not None and isinstance(placed.node, Op) and placed.node.target:
                resources = [placed.node.target]
        case "resource":
            ops, resources = list(uses(document, first)), [first]
        case "work":
            owner, _, called = first.rpartition(".")
            ops = [
                op.id
                for task in document.tasks
                for op in ops_of(task)
                if (op.target, op.work) == (owner, called)
            ]
            resources = [owner]
        case "symbol":
            ops = [node.id for task in document.tasks for node in walk(task.body) if _speaks_of(node, first)]
        case "edge":
            resources = first.split("->")
        case "task":
            task = find_task(document, first)
            tasks, resources = [first], [*task.src, *task.dst] if task else []
            ops = [op.id for op in ops_of(task)] if task else []
        case "finding":
            finding = find(report, first)
            if finding is not None:
                ops, resources, tasks = list(finding.ops), list(finding.resources), list(finding.tasks)
                cycle = _cycle(document, finding)
    return {
        "kind": kind,
        "ids": list(ids),
        "ops": ops,
        "resources": resources,
        "tasks": tasks,
        "cycle": cycle,
    }


def _cycle(document: Document, finding: Finding) -> list[dict[str, str]]:
    """The links of a deadlock's cycle: who waits, the resource whose barrier it waits for, and who owes."""
    links = []
    for tie in ties_of(finding):
        placed = find_node(document, tie.first.op) if tie.waits else None
        if placed is not None and find_resource(document, placed.node.target) is not None:
            who = {"waits": _task_of(tie.first.agent), "owes": _task_of(tie.second.agent)}
            links.append({**who, "resource": placed.node.target})
    return links


def _task_of(agent: str) -> str:
    """ "load" of "load@1.w0"."""
    return agent.rpartition(".w")[0].partition("@")[0]


def _speaks_of(node: Node, symbol: str) -> bool:
    """Whether an op, or a loop's bounds, compute with the symbol."""
    bare = replace(node, body=()) if isinstance(node, Loop) else node
    return not isinstance(node, Guard) and any(used.name == symbol for used in symbols_used([bare]))


def _inside(document: Document, id: str) -> list[str]:
    """The op, or every op in the loop or guard."""
    placed = find_node(document, id)
    if placed is None:
        return []
    if isinstance(placed.node, Op):
        return [id]
    return [id, *(node.id for node in walk(placed.node.body) if isinstance(node, Op))]
