"""Pipeline groups: pipelines that hand their stages on together, and share the mbarriers of the side that does so.

========== ============================== ======================= =====================================================
mode       who                            shared                  ops of the group
========== ============================== ======================= =====================================================
Merge      several producers, one task    empty                   release: one arrival frees the stage of every member
           consumes all members
Fork       one task fills all members,    full                    commit: one arrival hands the stage on to every
           several consumers                                      consumer; the first member's acquire arms it
FusedMerge as Merge                       full and empty          wait, try_wait, release; full counts every member's
                                                                  arrivals and bytes
========== ============================== ======================= =====================================================

All other ops are of one member. (Task Scheduling 4.8.1, `PipelineGroup`.) Everything that reads a schedule sees an op of a
group spelled out: one op of each member, with the same id, of which the first member's makes the events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .document import Document, Node, Op, OpKind, PipelineGroup, PipelineGroupMode, Resource, Task
from .tree import find_resource, ops_of

OWN_OPS: Mapping[str, tuple[OpKind, ...]] = {
    PipelineGroupMode.Merge: (OpKind.RELEASE,),
    PipelineGroupMode.Fork: (OpKind.COMMIT,),
    PipelineGroupMode.FusedMerge: (OpKind.TRY_WAIT, OpKind.WAIT, OpKind.RELEASE),
}
SHARED: Mapping[str, tuple[str, ...]] = {
    PipelineGroupMode.Merge: ("empty",),
    PipelineGroupMode.Fork: ("full",),
    PipelineGroupMode.FusedMerge: ("full", "empty"),
}
# What is done once for all members, by the first: the group's ops, and arming a shared full barrier.
ONCE = {
    PipelineGroupMode.Merge: ("release",),
    PipelineGroupMode.Fork: ("commit", "arm"),
    PipelineGroupMode.FusedMerge: ("wait", "try_wait", "release"),
}


def find_group(document: Document, name: str) -> PipelineGroup | None:
    """The pipeline group called ``name``, if there is one."""
    return next((g for g in document.pipeline_groups if g.name == name), None)


def group_of(document: Document, resource: str) -> PipelineGroup | None:
    """The group that ``resource`` is a member of, if any."""
    return next((g for g in document.pipeline_groups if resource in g.members), None)


def members_of(document: Document, group: PipelineGroup) -> tuple[Resource, ...]:
    """The members of ``group`` that have a pipeline."""
    found = (find_resource(document, name) for name in group.members)
    return tuple(r for r in found if r is not None and r.pipeline is not None)


def sharers(document: Document, resource: Resource, side: str) -> tuple[Resource, ...]:
    """The resources that use the ``side`` ("full" or "empty") barriers of ``resource``, in the order of their group."""
    group = group_of(document, resource.name)
    return members_of(document, group) if group and side in SHARED[group.mode] else (resource,)


def arriving(document: Document, resource: Resource, side: str) -> tuple[Resource, ...]:
    """The resources whose ops arrive on the ``side`` barriers of ``resource``."""
    found = sharers(document, resource, side)
    group = group_of(document, resource.name)
    return found if group and (group.mode, side) == (PipelineGroupMode.FusedMerge, "full") else found[:1]


def filled_with(document: Document, resource: Resource) -> tuple[Resource, ...]:
    """The resources whose copies complete the bytes that acquires of ``resource`` arm: none where another member arms."""
    group = group_of(document, resource.name)
    if group is None or group.mode != PipelineGroupMode.Fork:
        return (resource,)
    members = members_of(document, group)
    return members if members[0].name == resource.name else ()


def names_of(document: Document, resource: Resource) -> tuple[str, ...]:
    """What ops on ``resource`` may name as their target."""
    group = group_of(document, resource.name)
    return (resource.name, group.name) if group else (resource.name,)


def done_once(document: Document) -> frozenset[tuple[str, str]]:
    """The (member, op) that only move the member's cursor: the first member does them for all. "arm" is part of acquire."""
    return frozenset(
        (member.name, what)
        for group in document.pipeline_groups
        for member in members_of(document, group)[1:]
        for what in ONCE[group.mode]
    )


def spelled_out(document: Document) -> Document:
    """``document`` with each op of a pipeline group as one of each member, in their order; they share its id."""
    groups = {g.name: tuple(m.name for m in members_of(document, g)) for g in document.pipeline_groups}
    if not groups or not any(o.target in groups for t in document.tasks for o in ops_of(t)):
        return document
    tasks = (replace(t, body=spelled_nodes(t.body, groups)) for t in document.tasks)
    return replace(document, tasks=tuple(tasks))


def spelled_nodes(nodes: Sequence[Node], groups: Mapping[str, Sequence[str]]) -> tuple[Node, ...]:
    """``nodes`` with each op on one of ``groups`` as one of each of its members."""
    found: list[Node] = []
    for node in nodes:
        if not isinstance(node, Op):
            found.append(replace(node, body=spelled_nodes(node.body, groups)))
        elif node.target in groups:
            found += [replace(node, target=member) for member in groups[node.target]]
        else:
            found.append(node)
    return tuple(found)


def spoken_for(document: Document, task: Task) -> dict[str, tuple[str, ...]]:
    """By id, the targets of the ops of a spelled-out ``task`` that share it."""
    found: dict[str, tuple[str, ...]] = {}
    for op in ops_of(task):
        found[op.id] = (*found.get(op.id, ()), op.target)
    return found
