"""sm100.tcgen05_mma: one k tile of a matrix product, accumulated in tensor memory."""

from __future__ import annotations

from dataclasses import dataclass

from warpdraft.core.footprints import stage_bytes

from ....vocabulary import UMMA_K, check_scaled, check_umma
from ...dtypes import Typed
from ...operations import led
from ...syntax import Expression, Line, Statement, call, index
from ...tensor_memory import pointer
from ..body import WorkCall
from ..sm90.operands import accumulates, viewed

SCALED_UMMA_K = 32  # PTX ISA, tcgen05.mma, kind::mxf8f6f4


@dataclass(frozen=True, slots=True)
class Tcgen05Mma:
    """Parameters: ``a``, ``b``: parts of the viewed stage (or the arguments whose views are whole tiles); ``tile`` =
    (m, n, k) that one CTA accumulates; ``overwrite``: "first_iter" (of the innermost domain loop), "always" or "never";
    ``cta_group``: 2 for a pair, whose leader issues it: each CTA then holds its own m rows of A and half of the n of B.
    """

    name: str = "sm100.tcgen05_mma"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``op.mma(id, instruction, columns, a stage, b stage, accumulate, step)``"""
        task, op = call.task, call.op
        m, n, k = tile = call.parameter("tile")
        group = call.parameter("cta_group")
        call.stock(check_umma, tile, group)
        if stage_bytes(call.resource) < n:
            raise call.fail(f"{n} columns do not fit into a stage of {call.resource.name}")
        a, b = self._operand(call, "a", (m, k)), self._operand(call, "b", (n // group, k))
        stage = task.stage(call.resource, "producer", op)
        columns = pointer(task, call.resource, stage, op)
        line = task.operation("mma", op, _instruction(call, tile, group), columns, a, b, accumulates(call))
        return (led(task, Line(line, op=op.id)),)

    def _operand(self, work: WorkCall, which: str, tile: tuple[int, int]) -> Expression:
        task = work.task
        view, part = viewed(work, which)
        smem = task.module.storage.view(view.resource, part, tile, work.op.id)
        fragment = task.once(
            ("descriptors", smem.key), lambda: task.declare(f"{which}_desc", call("descriptors", smem.name))
        )
        return index(fragment, None, None, None, view.stage)


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
        a, b = self._operand(call, "a", (m, k)), self._operand(call, "b", (n, k))
        columns = pointer(task, call.resource, task.stage(call.resource, "producer", op), op)
        factors = [self._factors(call, which) for which in ("sfa", "sfb")]
        instruction = task.once(("scaled", tile[:2]), lambda: task.declare("mma_op", _scaled(call, tile)))
        line = task.operation("mma_scaled", op, instruction, columns, a, b, *factors, accumulates(call))
        return (led(task, Line(line, op=op.id)),)

    def _factors(self, work: WorkCall, which: str) -> Expression:
        view = work.task.stage_view(work.op, work.parameter(which))
        return pointer(work.task, view.resource, view.stage, work.op)


def _scaled(work: WorkCall, tile: tuple[int, int, int]) -> Expression:
    typed = _type(work, (tile[0], tile[2]))
    if typed.dtype.name != "e4m3":
        raise work.fail(f"scaled operands are e4m3, not {typed.dtype.name}")
    return call(
        "tcgen05.MmaMXF8F6F4Op",
        typed.constant,
        typed.constant,
        (*tile[:2], SCALED_UMMA_K),
        "tcgen05.CtaGroup.ONE",
        "tcgen05.OperandSource.SMEM",
        "OperandMajorMode.K",
        "OperandMajorMode.K",
    )


def _instruction(work: WorkCall, tile: tuple[int, int, int], group: int) -> str:
    task, typed = work.task, _type(work, (tile[0], tile[2]))
    if typed.dtype.name not in ("fp16", "bf16"):
        raise work.fail(f"operands are fp16 or bf16, not {typed.dtype.name}")
    value = call(
        "tcgen05.MmaF16BF16Op",
        typed.constant,
        "cutlass.Float32",
        (tile[0] * group, tile[1], UMMA_K),
        f"tcgen05.CtaGroup.{'TWO' if group == 2 else 'ONE'}",
        "tcgen05.OperandSource.SMEM",
        "OperandMajorMode.K",
        "OperandMajorMode.K",
    )
    return task.once(("instruction", tile[:2], group), lambda: task.declare("mma_op", value))


def _type(work: WorkCall, tile: tuple[int, int]) -> Typed:
    """The type of the operands: that of A."""
    view, part = viewed(work, "a")
    smem = work.task.module.storage.view(view.resource, part, tile, work.op.id)
    if smem.by_columns:
        raise work.fail("operands have their rows contiguous")
    return smem.type
