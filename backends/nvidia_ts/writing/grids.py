"""The wait for the preceding grid that a kernel does before all tasks: Task Scheduling's ``assume_pdl_wait_completed``."""

from __future__ import annotations

from dataclasses import replace

from warpdraft.core.document import Document, Node, Op, Task
from warpdraft.core.tree import ops_of

WAIT = "wait_griddep"


def waited_for(document: Document) -> bool:
    """Whether the wait is done before the tasks, and no line of a schedule says it."""
    return any(_assumed(o) for t in document.tasks for o in ops_of(t))


def without_waits(document: Document) -> Document:
    """``document`` without these waits, and without what only they used."""
    if not waited_for(document):
        return document
    gone = {o.target for t in document.tasks for o in ops_of(t) if _assumed(o)}
    tasks = tuple(_without(t, gone) for t in document.tasks)
    used = {o.target for t in tasks for o in ops_of(t)} | {e.upstream for e in document.graph}
    resources = tuple(r for r in document.resources if r.name not in gone or r.name in used)
    return replace(document, tasks=tasks, resources=resources)


def _assumed(node: Node) -> bool:
    return isinstance(node, Op) and node.implicit and node.work == WAIT


def _without(task: Task, gone: set[str]) -> Task:
    body = tuple(n for n in task.body if not _assumed(n))
    left = {o.target for o in ops_of(replace(task, body=body))}
    return replace(task, body=body, src=tuple(s for s in task.src if s not in gone or s in left))
