"""sm100.tcgen05_mma_scaled: one k tile of a product of fp8 operands with scale factors, accumulated in tensor memory."""

from __future__ import annotations

from dataclasses import dataclass

from ....vocabulary import check_scaled
from ...operations import led
from ...syntax import Expression, Line, Statement, call
from ...tensor_memory import pointer
from ..body import WorkCall
from ..sm90.operands import accumulates
from .tcgen05_mma import Tcgen05Mma, type_of

UMMA_K = 32  # PTX ISA, tcgen05.mma, kind::mxf8f6f4


@dataclass(frozen=True, slots=True)
class Tcgen05MmaScaled(Tcgen05Mma):
    """As `Tcgen05Mma`, of fp8 operands whose blocks of 32 along K share a scale factor: ``sfa`` and ``sfb`` are the
    arguments whose views are the factors in tensor memory."""

    name: str = "sm100.tcgen05_mma_scaled"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``op.mma_scaled(id, instruction, columns, a stage, b stage, a's factors, b's factors, accumulate, step)``"""
        task, op = call.task, call.op
        m, n, k = tile = call.parameter("tile")
        call.stock(check_scaled, tile)
        a, b = self.operand(call, "a", (m, k)), self.operand(call, "b", (n, k))
        columns = pointer(task, call.resource, task.stage(call.resource, "producer", op), op)
        factors = [self._factors(call, which) for which in ("sfa", "sfb")]
        instruction = task.once(("scaled", tile[:2]), lambda: task.declare("mma_op", _scaled(call, tile)))
        line = task.operation("mma_scaled", op, instruction, columns, a, b, *factors, accumulates(call))
        return (led(task, Line(line, op=op.id)),)

    def _factors(self, work: WorkCall, which: str) -> Expression:
        view = work.task.stage_view(work.op, work.parameter(which))
        return pointer(work.task, view.resource, view.stage, work.op)


def _scaled(work: WorkCall, tile: tuple[int, int, int]) -> Expression:
    typed = type_of(work, (tile[0], tile[2]))
    if typed.dtype.name != "e4m3":
        raise work.fail(f"scaled operands are e4m3, not {typed.dtype.name}")
    return call(
        "tcgen05.MmaMXF8F6F4Op",
        typed.constant,
        typed.constant,
        (*tile[:2], UMMA_K),
        "tcgen05.CtaGroup.ONE",
        "tcgen05.OperandSource.SMEM",
        "OperandMajorMode.K",
        "OperandMajorMode.K",
    )
