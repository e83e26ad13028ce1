"""Reading a document: look-ups by name and walks over a task's nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

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

Asked, Made = ParamSpec("Asked"), TypeVar("Made")


class Placed(NamedTuple):
    """A node with the loops and guards around it, outermost first."""

    task: Task
    node: Node
    parents: tuple[Loop | Guard, ...]


def find_resource(document: Document, name: str) -> Resource | None:
    """The resource called ``name``, if there is one."""
    for resource in document.resources:  # a loop: rules ask this of each op
        if resource.name == name:
            return resource
    return None


def find_task(document: Document, name: str) -> Task | None:
    """The task called ``name``, if there is one."""
    return next((t for t in document.tasks if t.name == name), None)


def find_work(resource: Resource | None, name: str) -> Work | None:
    """The work method ``name`` of ``resource``, if it has one."""
    for work in resource.works if resource else ():
        if work.name == name:
            return work
    return None


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


class Walked(NamedTuple):
    """What was found below some nodes or in a document, which it keeps alive: it is known by identity."""

    of: Sequence[Node] | Document
    found: tuple
    ops: tuple[Op, ...] = ()


_walked: ContextVar[dict[int, Walked] | None] = ContextVar("walked", default=None)
_made: ContextVar[dict[tuple, tuple[tuple, Any]] | None] = ContextVar("made", default=None)


@contextmanager
def walked_once() -> Iterator[None]:
    """Inside, what is walked a second time is looked up: documents do not change, and rules each look at all of one."""
    walked, made = _walked.set({}), _made.set({})
    try:
        yield
    finally:
        _walked.reset(walked)
        _made.reset(made)


def made_once(function: Callable[Asked, Made]) -> Callable[Asked, Made]:
    """``function`` of a document, or of one and a part of it, which is asked once for each inside `walked_once`."""

    @wraps(function)
    def found(*of: Asked.args) -> Made:
        known = _made.get()
        if known is None:
            return function(*of)
        key = function, *map(id, of)
        if key not in known:
            known[key] = of, function(*of)  # which stay, so that their ids are their own
        return known[key][1]

    return found


def _below(nodes: Sequence[Node]) -> Walked:
    known = _walked.get()
    walked = known.get(id(nodes)) if known is not None else None
    if walked is None:
        found: list[Node] = []
        _gather(nodes, found)
        walked = Walked(nodes, tuple(found), tuple([node for node in found if isinstance(node, Op)]))
        if known is not None and type(nodes) is tuple:  # a list may change
            known[id(nodes)] = walked
    return walked


def _gather(nodes: Sequence[Node], found: list[Node]) -> None:
    for node in nodes:
        found.append(node)
        if not isinstance(node, Op):
            _gather(node.body, found)


def walk(nodes: Sequence[Node]) -> Iterator[Node]:
    """Every node below ``nodes``, in schedule order, parents first."""
    return iter(_below(nodes).found)


def ops_of(task: Task) -> Iterator[Op]:
    """The ops of ``task`` in schedule order."""
    return iter(_below(task.body).ops)


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
    known = _walked.get()
    walked = known.get(id(document)) if known is not None else None
    if walked is None:
        found: list[Placed] = []
        for task in document.tasks:
            _place(task, task.body, (), found)
        walked = Walked(document, tuple(found))
        if known is not None:
            known[id(document)] = walked
    return iter(walked.found)


def _place(task: Task, nodes: Sequence[Node], parents: tuple[Loop | Guard, ...], found: list[Placed]) -> None:
    for node in nodes:
        found.append(Placed(task, node, parents))
        if not isinstance(node, Op):
            _place(task, node.body, (*parents, node), found)


def find_node(document: Document, id: str) -> Placed | None:
    """The node with this id and its surroundings."""
    return next((p for p in placed(document) if p.node.id == id), None)
