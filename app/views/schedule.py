"""The schedule view: one column a task, ops in order, loops and guards as nested brackets."""

from __future__ import annotations

from typing import Any

from warpdraft.core.document import Document, Engine, Loop, Node, Op, OpKind, Task
from warpdraft.core.footprints import engine_of
from warpdraft.core.tree import find_resource, find_work, ops_of

from . import words
from .colors import task_colors


def schedule_view(document: Document) -> dict[str, Any]:
    """The columns of every task."""
    sizes: dict[str, int] = {}
    for task in document.tasks:
        for op in ops_of(task):
            first = op.copy_of or op.id
            sizes[first] = sizes.get(first, 0) + 1
    colors = task_colors(document)
    return {"columns": [_column(document, task, colors[task.name], sizes) for task in document.tasks]}


def _column(document: Document, task: Task, color: int, copies: dict[str, int]) -> dict[str, Any]:
    return {
        "task": task.name,
        "color": color,
        "warps": words.warps_text(task.warp_idx, task.num_warps),
        "registers": task.num_registers,
        "ops": sum(1 for _ in ops_of(task)),
        "nodes": [_node(document, node, copies) for node in task.body],
        "split": splittable(document, task),
    }


def _node(document: Document, node: Node, copies: dict[str, int]) -> dict[str, Any]:
    if isinstance(node, Op):
        return _op(document, node, copies)
    return {
        "id": node.id,
        "kind": "loop" if isinstance(node, Loop) else "guard",
        "text": words.node_text(node),
        "nodes": [_node(document, child, copies) for child in node.body],
    }


def _op(document: Document, op: Op, copies: dict[str, int]) -> dict[str, Any]:
    return {
        "id": op.id,
        "kind": "op",
        "role": words.role(op),
        "verb": words.verb(op),
        "target": op.target,
        "args": words.arguments(op),
        "results": ", ".join(op.results),
        "engine": _engine(document, op),
        "copies": copies[op.copy_of or op.id],
    }


def _engine(document: Document, op: Op) -> str:
    """The engine that does the work where it is not the calling warp itself."""
    if op.kind is not OpKind.WORK:
        return ""
    resource = find_resource(document, op.target)
    work = find_work(resource, op.work)
    if resource is None or work is None or work.view:
        return "view" if work is not None and work.view else ""
    engine = engine_of(resource, work)
    return "" if engine is Engine.WARP else engine.value


def splittable(document: Document, task: Task) -> list[dict[str, Any]]:
    """The rings into which the task puts at least two different works: those may go to a task of their own."""
    rings = []
    for name in task.dst:
        resource = find_resource(document, name)
        if resource is None or resource.pipeline is None:
            continue
        made = [op.work for op in ops_of(task) if op.kind is OpKind.WORK and op.target == name]
        made = [
            w for w in dict.fromkeys(made) if (work := find_work(resource, w)) and work.role == "producer"
        ]
        if len(made) > 1:
            rings.append({"ring": name, "works": made})
    return rings
