"""sm100.tcgen05_mma: one k tile of a matrix product, accumulated in tensor memory."""

from __future__ import annotations

from dataclasses import dataclass

from warpdraft.core.footprints import stage_bytes

from ....vocabulary import UMMA_K, check_umma
from ...operations import led
from ...syntax import Expression, Line, Statement, call, index
from ...task import TaskBuilder
from ...tensor_memory import pointer
from ..body import WorkCall
from ..sm90.operands import accumulates, viewed


@dataclass(frozen=True, slots=True)
class Tcgen05Mma:
    """Parameters: ``a``, ``b``: parts of the viewed stage (or the arguments whose views are whole tiles); ``tile`` =
    (m, n, k); ``overwrite``: "first_iter" (of the innermost domain loop), "always" or "never". One thread issues it.
    """

    name: str = "sm100.tcgen05_mma"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``op.mma(id, instruction, columns, a stage, b stage, accumulate, step)``"""
        task, op = call.task, call.op
        m, n, k = tile = call.parameter("tile")
        call.stock(check_umma, tile)
        if stage_bytes(call.resource) < n:
            raise call.fail(f"{n} columns do not fit into a stage of {call.resource.name}")
        a, b = self._operand(call, "a", (m, k)), self._operand(call, "b", (n, k))
        stage = task.stage(call.resource, "producer", op)
        columns = pointer(task, call.resource, stage, op)
        line = task.operation("mma", op, _instruction(task, tile), columns, a, b, accumulates(call))
        return (led(task, Line(line, op=op.id)),)

    def _operand(self, work: WorkCall, which: str, tile: tuple[int, int]) -> Expression:
        task = work.task
        view, part = viewed(work, which)
        smem = task.module.storage.view(view.resource, part, tile, work.op.id)
        fragment = task.once(
            ("descriptors", smem.key), lambda: task.declare(f"{which}_desc", call("descriptors", smem.name))
        )
        return index(fragment, None, None, None, view.stage)


def _instruction(task: TaskBuilder, tile: tuple[int, int, int]) -> str:
    value = call(
        "tcgen05.MmaF16BF16Op",
        "DTYPE",
        "cutlass.Float32",
        (*tile[:2], UMMA_K),
        "tcgen05.CtaGroup.ONE",
        "tcgen05.OperandSource.SMEM",
        "OperandMajorMode.K",
        "OperandMajorMode.K",
    )
    return task.once(("instruction", tile[:2]), lambda: task.declare("mma_op", value))
