"""sm100.tmem_load: columns of the accumulator to registers, one lane for each thread."""

from __future__ import annotations

from dataclasses import dataclass

from ....vocabulary import loaded_columns
from ...syntax import Line, Statement, binary, call, expression, index
from ...task import TaskBuilder
from ...tensor_memory import pointer
from ...tokens import Fragment
from ..body import WorkCall

LANES = 128


@dataclass(frozen=True, slots=True)
class TmemLoad:
    """Parameter ``subtiles`` (default 1): equal parts that the columns of the MMA's tile are cut into. Argument ``subtile``
    (a constant, default 0): which of them is loaded. The values are there once the warp has waited for its loads
    (`tcgen05_wait_ld`)."""

    name: str = "sm100.tmem_load"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``fragment = op.tmem_load(id, copy, lane, columns, step)``"""
        task, op = call.task, call.op
        subtile = dict(op.args).get("subtile", 0)
        columns = call.stock(loaded_columns, call.resource, call.work, subtile, task.task)
        start = pointer(task, call.resource, task.stage(call.resource, "consumer", op), op)
        place = binary(start, "+", subtile * columns)
        value = task.operation("tmem_load", op, loads(task, columns), lane_of(task), place, columns)
        for result in op.results:
            if result in task.hoisted:
                raise call.fail("a fragment can only be used inside the loop or guard that reads it")
            held = Fragment(call.resource.name, task.variable(result), subtile, call.parameter("subtiles"))
            task.bind(result, held)
        targets = tuple(expression(task.variable(result)) for result in op.results)
        return (Line(value, targets, op.id),)


def loads(task: TaskBuilder, columns: int) -> str:
    """The variable of the tiled copy that loads so many columns."""
    value = call("tmem_loads", columns)
    return task.once(("tmem_loads", columns), lambda: task.declare("tmem_copy", value))


def lane_of(task: TaskBuilder) -> str:
    """The variable with the lane of tensor memory that is this thread's: warp w reaches those from 32 (w % 4) on."""
    position = binary(index(call("cute.arch.thread_idx"), 0), "%", LANES)
    return task.once("lane", lambda: task.declare("lane", position))
