"""sm100.tmem_store: a fragment, or zeros, to columns of tensor memory, one lane from each thread."""

from __future__ import annotations

from dataclasses import dataclass

from warpdraft.core.tree import find_resource

from ....vocabulary import check_stored, stored_columns
from ...syntax import Expression, Line, Statement, binary, call
from ...task import TaskBuilder
from ...tensor_memory import pointer
from ..body import WorkCall
from .tmem_load import lane_of


@dataclass(frozen=True, slots=True)
class TmemStore:
    """Parameter ``subtiles`` (default 1): equal parts that a stage's columns are cut into. Arguments: ``subtile`` (a
    constant, default 0), and ``fragment``, without which zeros are stored. They are there once the warp has waited for its
    stores (`tcgen05_wait_st`)."""

    name: str = "sm100.tmem_store"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``op.tmem_store(id, copy, lane, fragment, columns, count, step)`` or ``op.tmem_clear(id, lane, columns, count,
        step)``"""
        task, op, arguments = call.task, call.op, dict(call.op.args)
        subtile = arguments.get("subtile", 0)
        columns = call.stock(stored_columns, call.resource, call.work, subtile, task.task)
        start = pointer(task, call.resource, task.stage(call.resource, "producer", op), op)
        place = binary(start, "+", subtile * columns)
        if "fragment" not in arguments:
            return (Line(task.operation("tmem_clear", op, lane_of(task), place, columns), op=op.id),)
        fragment = task.fragment(op, "fragment")
        accumulator = find_resource(task.document, fragment.accumulator)
        call.stock(check_stored, accumulator, fragment.subtiles, columns)
        value = task.operation(
            "tmem_store", op, stores(task, columns), lane_of(task), fragment.name, place, columns
        )
        return (Line(value, op=op.id),)


def stores(task: TaskBuilder, columns: int) -> Expression | str:
    """The variable of the tiled copy that stores so many columns."""
    value = call("tmem_stores", columns)
    return task.once(("tmem_stores", columns), lambda: task.declare("tmem_store_copy", value))
