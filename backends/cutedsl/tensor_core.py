"""Lowers the ops of Blackwell's tensor core that are no works: waits, fences, commits, and the life of tensor memory."""

from __future__ import annotations

from collections.abc import Callable

from warpdraft.core.allocations import columns, cta_group
from warpdraft.core.clusters import cluster_layout
from warpdraft.core.document import Document, Op, OpKind
from warpdraft.core.tree import find_resource

from .syntax import Line, Operand, Statement
from .task import TaskBuilder
from .tensor_memory import address


def pairs(document: Document) -> bool:
    """Whether tcgen05 instructions are for pairs of CTAs: all of a kernel are, or none (PTX ISA, .cta_group)."""
    return cluster_layout(document)[0] == 2


Lowered = tuple[Statement, ...]


def _alloc(task: TaskBuilder, op: Op) -> Lowered:
    place = task.module.storage.addresses[op.target]
    return _line(task, "tmem_alloc", op, _columns(task, op), place, cta_group(op) == 2)


def _dealloc(task: TaskBuilder, op: Op) -> Lowered:
    return _line(
        task, "tmem_dealloc", op, _columns(task, op), address(task, op.target, op), cta_group(op) == 2
    )


def _relinquish(task: TaskBuilder, op: Op) -> Lowered:
    return _line(task, "tmem_relinquish", op, cta_group(op) == 2)


def _columns(task: TaskBuilder, op: Op) -> int:
    return columns(task.document, find_resource(task.document, op.target), op)


def _simple(method: str) -> Callable[[TaskBuilder, Op], Lowered]:
    return lambda task, op: _line(task, method, op)


def _line(task: TaskBuilder, method: str, op: Op, *arguments: Operand) -> Lowered:
    return (Line(task.operation(method, op, *arguments), op=op.id),)


TENSOR_CORE: dict[OpKind, Callable[[TaskBuilder, Op], Lowered]] = {
    OpKind.TCGEN05_WAIT_LD: _simple("wait_tmem_loads"),
    OpKind.TCGEN05_WAIT_ST: _simple("wait_tmem_stores"),
    OpKind.TCGEN05_FENCE_BEFORE: _simple("tcgen05_fence_before"),
    OpKind.TCGEN05_FENCE_AFTER: _simple("tcgen05_fence_after"),
    OpKind.TMEM_ALLOC: _alloc,
    OpKind.TMEM_DEALLOC: _dealloc,
    OpKind.TMEM_RELINQUISH: _relinquish,
}
