"""Rewrites of task bodies: nested tuples of ops, loops and guards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..document import Document, Node, Op
from ..tree import walk

Body = tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node is: ``index`` in the body of ``parent`` (a task's name, or the id of a loop or guard) of ``task``."""

    task: str
    parent: str
    index: int
    node: Node


def places(document: Document) -> Iterator[Place]:
    """The place of every node of every task, in schedule order."""
    for task in document.tasks:
        yield from _places(task.name, task.name, task.body)


def _places(task: str, parent: str, body: Body) -> Iterator[Place]:
    for index, node in enumerate(body):
        yield Place(task, parent, index, node)
        if not isinstance(node, Op):
            yield from _places(task, node.id, node.body)


def find(document: Document, id: str) -> Place | None:
    """The place of the node with that id."""
    return next((place for place in places(document) if place.node.id == id), None)


def body_of(document: Document, parent: str) -> Body | None:
    """The body of a task (by name) or of a loop or guard (by id)."""
    for task in document.tasks:
        if task.name == parent:
            return task.body
        for node in walk(task.body):
            if node.id == parent and not isinstance(node, Op):
                return node.body
    return None


def change_nodes(body: Body, change: Callable[[Node], Body]) -> Body:
    """``body`` with each node replaced by what ``change`` gives for it, children first; unchanged parts are shared."""
    out: list[Node] = []
    for node in body:
        if not isinstance(node, Op):
            inner = change_nodes(node.body, change)
            if inner is not node.body:
                node = replace(node, body=inner)
        out.extend(change(node))
    same = len(out) == len(body) and all(a is b for a, b in zip(out, body, strict=True))
    return body if same else tuple(out)


def change_body(document: Document, parent: str, change: Callable[[Body], Body]) -> Document:
    """``document`` with the body of task or block ``parent`` replaced."""
    tasks = []
    for task in document.tasks:
        if task.name == parent:
            tasks.append(replace(task, body=change(task.body)))
            continue
        body = change_nodes(
            task.body,
            lambda n: (
                (replace(n, body=change(n.body)),) if n.id == parent and not isinstance(n, Op) else (n,)
            ),
        )
        tasks.append(task if body is task.body else replace(task, body=body))
    return replace(document, tasks=tuple(tasks))


def copies(document: Document, op: Op) -> tuple[str, ...]:
    """The ids of the ops unrolled from the same authoring line as ``op``, itself included, in schedule order."""
    first = op.copy_of or op.id
    return tuple(
        place.node.id
        for place in places(document)
        if isinstance(place.node, Op) and (place.node.copy_of or place.node.id) == first
    )
