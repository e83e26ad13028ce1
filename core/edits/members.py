"""Edits that add, rename and remove resources, tasks, barriers, groups and graph edges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..consistency import TARGET_OF, TARGETS
from ..document import (
    AsyncGroup,
    Document,
    Edge,
    Engine,
    Loop,
    Mbarrier,
    NamedBarrier,
    Node,
    Op,
    OpKind,
    PipelineGroup,
    Resource,
    Space,
    Task,
)
from ..pipeline_groups import OWN_OPS, group_of
from ..tree import walk
from . import trees
from .base import (
    Edit,
    EditError,
    check_new_name,
    declared_names,
    resource_named,
    task_named,
    with_bodies,
    with_task,
)

_PIPELINE = (
    OpKind.ACQUIRE,
    OpKind.COMMIT,
    OpKind.WAIT,
    OpKind.RELEASE,
    OpKind.TRY_ACQUIRE,
    OpKind.TRY_WAIT,
    OpKind.PRODUCER_TAIL,
)
_OF_SPACE = {
    Space.TMEM: (OpKind.TMEM_ALLOC, OpKind.TMEM_DEALLOC),
    Space.GMEM: (OpKind.TENSORMAP_UPDATE, OpKind.FENCE_TENSORMAP),
    Space.NONE: (OpKind.TENSORMAP_UPDATE, OpKind.FENCE_TENSORMAP),
}
Declared = Resource | NamedBarrier | Mbarrier | AsyncGroup | PipelineGroup
_GROUPS: dict[type, str] = {
    Resource: "resources",
    NamedBarrier: "barriers",
    Mbarrier: "mbarriers",
    AsyncGroup: "groups",
    PipelineGroup: "pipeline_groups",
}


def _group_of(document: Document, name: str) -> str:
    for group in _GROUPS.values():
        if any(item.name == name for item in getattr(document, group)):
            return group
    raise EditError(f"nothing is called {name}")


def _renamed(names: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    return tuple(new if name == old else name for name in names)


@dataclass(frozen=True, slots=True)
class Add(Edit):
    """Declare a resource, named barrier, mbarrier or group.

    before: ``barriers: epilogue``; after ``Add(NamedBarrier("turn", 2, 256))``: ``barriers: epilogue, turn``
    """

    item: Declared

    def apply(self, document: Document) -> Document:
        check_new_name(self.item.name, declared_names(document), "resource, barrier or group")
        group = _GROUPS[type(self.item)]
        return replace(document, **{group: (*getattr(document, group), self.item)})


@dataclass(frozen=True, slots=True)
class Rename(Edit):
    """Rename a resource, barrier, mbarrier or group everywhere.

    before: ``smem_a.acquire()``; after ``Rename("smem_a", "a_ring")``: ``a_ring.acquire()``
    """

    name: str
    new: str

    def apply(self, document: Document) -> Document:
        group = _group_of(document, self.name)
        check_new_name(self.new, declared_names(document), "resource, barrier or group")
        items = tuple(
            replace(item, name=self.new) if item.name == self.name else item
            for item in getattr(document, group)
        )
        document = replace(document, **{group: items})
        document = with_bodies(document, lambda body: trees.change_nodes(body, self._node))
        if group != "resources":
            return document
        edges = tuple(
            Edge(*_renamed((e.upstream, e.downstream), self.name, self.new)) for e in document.graph
        )
        tasks = tuple(
            replace(t, src=_renamed(t.src, self.name, self.new), dst=_renamed(t.dst, self.name, self.new))
            for t in document.tasks
        )
        grouped = tuple(
            replace(g, members=_renamed(g.members, self.name, self.new)) for g in document.pipeline_groups
        )
        roots = _renamed(document.roots, self.name, self.new)
        return replace(document, graph=edges, roots=roots, tasks=tasks, pipeline_groups=grouped)

    def _node(self, node: Node) -> trees.Body:
        if isinstance(node, Op) and node.target == self.name:
            return (replace(node, target=self.new),)
        if isinstance(node, Loop) and node.queue == self.name:
            return (replace(node, queue=self.new),)
        return (node,)


@dataclass(frozen=True, slots=True)
class Remove(Edit):
    """Remove a resource, barrier, mbarrier or group, with the ops and graph edges that use it.

    before: ``math: [store, epilogue.sync(), read]``; after ``Remove("epilogue")``: ``math: [store, read]``
    """

    name: str

    def apply(self, document: Document) -> Document:
        group = _group_of(document, self.name)
        grouped = group_of(document, self.name)
        if grouped is not None:
            raise EditError(
                f"{self.name} is a member of the pipeline group {grouped.name}: remove the group first"
            )
        for place in trees.places(document):
            if isinstance(place.node, Loop) and place.node.queue == self.name:
                raise EditError(f"{self.name} feeds the tile loop {place.node.id}: remove the loop first")
        items = tuple(item for item in getattr(document, group) if item.name != self.name)
        document = replace(document, **{group: items})

        def keep(node: Node) -> trees.Body:
            return () if isinstance(node, Op) and node.target == self.name else (node,)

        document = with_bodies(document, lambda body: trees.change_nodes(body, keep))
        if group != "resources":
            return document
        edges = tuple(e for e in document.graph if self.name not in (e.upstream, e.downstream))
        tasks = tuple(
            replace(
                t,
                src=tuple(n for n in t.src if n != self.name),
                dst=tuple(n for n in t.dst if n != self.name),
            )
            for t in document.tasks
        )
        return replace(
            document, graph=edges, roots=tuple(n for n in document.roots if n != self.name), tasks=tasks
        )


@dataclass(frozen=True, slots=True)
class AddTask(Edit):
    """Add a task; its body's ids must be new.

    before: ``tasks: load, math``; after ``AddTask(Task("store", 8, 1))``: ``tasks: load, math, store``
    """

    task: Task

    def apply(self, document: Document) -> Document:
        check_new_name(self.task.name, (t.name for t in document.tasks), "task")
        used = {place.node.id for place in trees.places(document)}
        again = used.intersection(node.id for node in walk(self.task.body))
        if again:
            raise EditError(f"the id {min(again)} is already taken")
        for resource in (*self.task.src, *self.task.dst):
            resource_named(document, resource)
        return replace(document, tasks=(*document.tasks, self.task))


@dataclass(frozen=True, slots=True)
class RenameTask(Edit):
    """Rename a task; its ops keep their ids.

    before: ``tasks: load, math``; after ``RenameTask("load", "producer")``: ``tasks: producer, math``
    """

    name: str
    new: str

    def apply(self, document: Document) -> Document:
        task = task_named(document, self.name)
        check_new_name(self.new, (t.name for t in document.tasks), "task")
        return with_task(document, replace(task, name=self.new), self.name)


@dataclass(frozen=True, slots=True)
class RemoveTask(Edit):
    """Remove a task with its schedule.

    before: ``tasks: load, math, store``; after ``RemoveTask("store")``: ``tasks: load, math``
    """

    name: str

    def apply(self, document: Document) -> Document:
        task_named(document, self.name)
        return replace(document, tasks=tuple(t for t in document.tasks if t.name != self.name))


@dataclass(frozen=True, slots=True)
class AddEdge(Edit):
    """Say that ``downstream`` is made from ``upstream``.

    before: ``gmem_a -> smem_ab``; after ``AddEdge("gmem_b", "smem_ab")``: ``gmem_a, gmem_b -> smem_ab``
    """

    upstream: str
    downstream: str

    def apply(self, document: Document) -> Document:
        resource_named(document, self.upstream)
        resource_named(document, self.downstream)
        edge = Edge(self.upstream, self.downstream)
        if edge in document.graph:
            raise EditError(f"{self.downstream} already depends on {self.upstream}")
        roots = tuple(n for n in document.roots if n != self.downstream)
        return replace(document, graph=(*document.graph, edge), roots=roots)


@dataclass(frozen=True, slots=True)
class RemoveEdge(Edit):
    """Take back that ``downstream`` is made from ``upstream``.

    before: ``gmem_a, gmem_b -> smem_ab``; after ``RemoveEdge("gmem_b", "smem_ab")``: ``gmem_a -> smem_ab``
    """

    upstream: str
    downstream: str

    def apply(self, document: Document) -> Document:
        edge = Edge(self.upstream, self.downstream)
        if edge not in document.graph:
            raise EditError(f"{self.downstream} does not depend on {self.upstream}")
        return replace(document, graph=tuple(e for e in document.graph if e != edge))


def uses(document: Document, name: str) -> tuple[str, ...]:
    """The ids of the ops whose target is ``name``."""
    return tuple(
        p.node.id for p in trees.places(document) if isinstance(p.node, Op) and p.node.target == name
    )


def kinds_of(item: Any) -> tuple[OpKind, ...]:
    """The kinds of op, works apart, that can have ``item`` as their target; None: that can do without one."""
    if item is None:
        return tuple(kind for kind in OpKind if kind not in TARGET_OF)
    if isinstance(item, PipelineGroup):
        return OWN_OPS[item.mode]
    if isinstance(item, NamedBarrier):
        return TARGETS["named barrier"]
    if isinstance(item, Mbarrier):
        return TARGETS["mbarrier"]
    if isinstance(item, AsyncGroup):
        reads = item.kind is Engine.BULK_STORE
        return tuple(k for k in TARGETS["async group"] if reads or k is not OpKind.GROUP_WAIT_READ)
    kinds = _PIPELINE if item.pipeline is not None else ()
    return kinds + _OF_SPACE.get(item.space, ())
