"""What an edit is, how it fails, and the small rewrites that every edit is made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from ..document import Document, Resource, Task
from ..tree import walk
from . import trees


class EditError(Exception):
    """The edit cannot be applied to this document; the message says why, for the person who asked for it."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a document, as a value: it can be stored, previewed, undone and offered as a fix."""

    def apply(self, document: Document) -> Document:
        """The changed document. Raises EditError where the edit does not fit; the argument is never changed."""
        raise NotImplementedError


def task_named(document: Document, name: str) -> Task:
    """The task called ``name``; EditError without one."""
    for task in document.tasks:
        if task.name == name:
            return task
    raise EditError(f"there is no task called {name}")


def resource_named(document: Document, name: str) -> Resource:
    """The resource called ``name``; EditError without one."""
    for resource in document.resources:
        if resource.name == name:
            return resource
    raise EditError(f"there is no resource called {name}")


def with_task(document: Document, task: Task, name: str = "") -> Document:
    """``document`` with the task of that name (its own, if not given) replaced."""
    name = name or task.name
    return replace(document, tasks=tuple(task if t.name == name else t for t in document.tasks))


def with_resource(document: Document, resource: Resource, name: str = "") -> Document:
    """``document`` with the resource of that name (its own, if not given) replaced."""
    name = name or resource.name
    return replace(document, resources=tuple(resource if r.name == name else r for r in document.resources))


def with_bodies(document: Document, change: Callable[[trees.Body], trees.Body]) -> Document:
    """``document`` with ``change`` applied to each task's body; tasks that stay equal stay the same objects."""
    tasks = []
    for task in document.tasks:
        body = change(task.body)
        tasks.append(task if body is task.body else replace(task, body=body))
    return replace(document, tasks=tuple(tasks))


def declared_names(document: Document) -> set[str]:
    """The namespace that resources, barriers, mbarriers and groups share."""
    groups: Iterable = (*document.resources, *document.barriers, *document.mbarriers, *document.groups)
    groups = (*groups, *document.pipeline_groups)
    return {item.name for item in groups}


def check_new_name(name: str, taken: Iterable[str], what: str) -> None:
    """Raises EditError unless ``name`` is an identifier that is not in ``taken``."""
    if not name.isidentifier():
        raise EditError(f"{name!r} cannot name a {what}: use letters, digits and _, and no digit first")
    if name in set(taken):
        raise EditError(f"the name {name} is already taken")


class FreshIds:
    """Hands out node ids that ``document`` does not use: the task's name and the next number, as capture does."""

    def __init__(self, document: Document, task: str) -> None:
        self._task = task
        self._used = {node.id for t in document.tasks for node in walk(t.body)}
        number = re.compile(re.escape(task) + r"\.(\d+)$")
        found = (number.match(used) for used in self._used)
        self._last = max((int(match.group(1)) for match in found if match), default=-1)

    def take(self) -> str:
        """The next id."""
        self._last += 1
        return f"{self._task}.{self._last:02d}"

    def used(self, id: str) -> bool:
        """Whether the document has a node with that id."""
        return id in self._used
