"""Tensor memory in a module: who holds the address of which columns, and where a task may read it.

`tcgen05.alloc` writes the address of what it got to shared memory; whoever uses the columns reads it from there, behind a
barrier that the allocating warp has come to (PTX ISA, tcgen05.alloc). A task reads it once, in front of its first use that
stands at the top of its schedule (or of the loop that the use is in).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from warpdraft.core.allocations import columns, held
from warpdraft.core.document import Document, Node, Op, OpKind, Resource, Space, Task
from warpdraft.core.layout import layout
from warpdraft.core.tree import find_resource, walk

from .errors import LoweringError
from .syntax import Expression, Statement, assign, binary, call
from .task import TaskBuilder

MEETINGS = (OpKind.BARRIER_SYNC, OpKind.CLUSTER_SYNC, OpKind.CLUSTER_WAIT)
JOINS = (*MEETINGS, OpKind.BARRIER_ARRIVE, OpKind.CLUSTER_ARRIVE)
CLUSTER = "the cluster's barrier"


def pointer(task: TaskBuilder, resource: Resource, stage: Expression, op: Op) -> Expression:
    """The first column of ``stage`` of ``resource``. Raises LoweringError where nobody allocates it."""
    target, offset = _allocation(task.document, resource, op)
    columns = resource.storage.bytes
    first = stage.value * columns if isinstance(stage, ast.Constant) else binary(stage, "*", columns)
    place = offset + first if isinstance(first, int) else binary(offset, "+", first)
    return binary(address(task, target, op), "+", place)


def address(task: TaskBuilder, target: str, op: Op) -> str:
    """The variable with the address of what the allocation of ``target`` got."""
    return task.once(("columns", target), lambda: _read(task, target, op))


def _read(task: TaskBuilder, target: str, op: Op) -> str:
    name = task.names.new(f"{target}_columns" if target else "tensor_memory")
    place = task.module.storage.addresses[target]
    value = call("cute.arch.retrieve_tmem_ptr", "cutlass.Float32", 16, place)
    task.reads.append((target, op, assign(name, value)))
    return name


def _allocation(document: Document, resource: Resource, op: Op) -> tuple[str, int]:
    """What was allocated around ``resource``, and the columns from its start to stage 0."""
    if resource.space is not Space.TMEM or resource.storage is None:
        raise LoweringError(f"{resource.name} has no columns of tensor memory", op.id)
    places = layout(document)
    first = places.offsets[resource.name]
    for target in places.addresses:
        owner = find_resource(document, target)
        low = places.offsets[target] if owner else 0
        high = low + (held(owner) if owner else _whole(document))
        if low <= first and first + held(resource) <= high:
            return target, first - low
    raise LoweringError(f"nobody allocates the columns of {resource.name}: tmem_alloc() does", op.id)


def _whole(document: Document) -> int:
    """Columns that the allocation without a resource takes."""
    ops = (n for t in document.tasks for n in walk(t.body) if isinstance(n, Op))
    return max(columns(document, None, o) for o in ops if o.kind is OpKind.TMEM_ALLOC and not o.target)


# -- where the address is read
def reads_before(task: TaskBuilder, met: set[str]) -> Iterator[Statement]:
    """The reads that what was just lowered needs in front of it; ``met``: the barriers that the task has come to before.
    Raises LoweringError where the address may not be there yet."""
    for target, op, read in task.reads:
        _check_published(task, target, op, met)
        yield read
    task.reads.clear()


def meetings(node: Node, kinds: tuple[OpKind, ...] = MEETINGS) -> Iterator[str]:
    """The barrier that ``node`` is about, if it is one of ``kinds``."""
    if isinstance(node, Op) and node.kind in kinds:
        yield node.target or CLUSTER


def _check_published(task: TaskBuilder, target: str, op: Op, met: set[str]) -> None:
    """Raises LoweringError unless the task has met whoever writes the address, at the top of both schedules."""
    for owner in task.document.tasks:
        position = _position(owner, target)
        if position is None:
            continue
        own = owner is task.task and owner.num_warps == 1
        behind = {m for node in owner.body[position + 1 :] for m in meetings(node, JOINS)}
        if own or met & behind:
            return
    raise LoweringError(
        "the address of tensor memory is not known here: a barrier between tmem_alloc() and the loops of whoever uses it "
        "hands it on",
        op.id,
    )


def _position(owner: Task, target: str) -> int | None:
    """Where in its schedule a task allocates ``target``."""
    for position, node in enumerate(owner.body):
        if any(
            isinstance(o, Op) and o.kind is OpKind.TMEM_ALLOC and o.target == target for o in walk((node,))
        ):
            return position
    return None
