"""Reading a document: look-ups by name and walks over a task's nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .document import (
    AsyncGroup,
    Document,
    Guard,
    Loop,
    Mbarrier,
    NamedBarrier,
    Node,
    Op,
    PipelineGroup,
    Resource,
    Task,
    Work,
)


@dataclass(frozen=True, slots=True)
class Placed:
    """A node with the loops and guards around it, outermost first."""

    task: Task
    node: Node
    parents: tuple[Loop | Guard, ...]


def find_resource(document: Document, name: str) -> Resource | None:
    """The resource called ``name``, if there is one."""
    return next((r for r in document.resources if r.name == name), None)


def find_task(document: Document, name: str) -> Task | None:
    """The task called ``name``, if there is one."""
    return next((t for t in document.tasks if t.name == name), None)


def find_work(resource: Resource | None, name: str) -> Work | None:
    """The work method ``name`` of ``resource``, if it has one."""
    return next((w for w in resource.works if w.name == name), None) if resource else None


Target = Resource | NamedBarrier | Mbarrier | AsyncGroup | PipelineGroup


def find_target(document: Document, name: str) -> Target | None:
    """Whatever an op's target ``name`` refers to."""
    for kind in (
        document.resources,
        document.barriers,
        document.mbarriers,
        document.groups,
        document.pipeline_groups,
    ):
        for item in kind:
            if item.name == name:
                return item
    return None


def walk(nodes: Sequence[Node]) -> Iterator[Node]:
    """Every node below ``nodes``, in schedule order, parents first."""
    for node in nodes:
        yield node
        if not isinstance(node, Op):
            yield from walk(node.body)


def ops_of(task: Task) -> Iterator[Op]:
    """The ops of ``task`` in schedule order."""
    return (node for node in walk(task.body) if isinstance(node, Op))


def without_idle_loops(document: Document) -> Document:
    """``document`` without the loops that no op is in; the very same where there is none."""
    if all(any(isinstance(n, Op) for n in walk(loop.body)) for t in document.tasks for loop in _loops(t)):
        return document

    def busy(nodes: Sequence[Node]) -> tuple[Node, ...]:
        kept = (n for n in nodes if not isinstance(n, Loop) or any(isinstance(x, Op) for x in walk(n.body)))
        return tuple(n if isinstance(n, Op) else replace(n, body=busy(n.body)) for n in kept)

    return replace(document, tasks=tuple(replace(t, body=busy(t.body)) for t in document.tasks))


def _loops(task: Task) -> Iterator[Loop]:
    return (node for node in walk(task.body) if isinstance(node, Loop))


def placed(document: Document) -> Iterator[Placed]:
    """Every node of every task with what encloses it."""

    def below(task: Task, nodes: Sequence[Node], parents: tuple[Loop | Guard, ...]) -> Iterator[Placed]:
        for node in nodes:
            yield Placed(task, node, parents)
            if not isinstance(node, Op):
                yield from below(task, node.body, (*parents, node))

    for task in document.tasks:
        yield from below(task, task.body, ())


def find_node(document: Document, id: str) -> Placed | None:
    """The node with this id and its surroundings."""
    return next((p for p in placed(document) if p.node.id == id), None)
