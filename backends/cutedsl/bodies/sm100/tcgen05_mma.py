"""sm100.tcgen05_mma: one k tile of a matrix product, accumulated in tensor memory."""

from __future__ import annotations

from dataclasses import dataclass

from warpdraft.core.footprints import stage_bytes

from ....vocabulary import UMMA_K, check_umma
from ...dtypes import Typed
from ...operations import led
from ...syntax import Expression, Line, Statement, call, index
from ...tensor_memory import pointer
from ..body import WorkCall
from ..sm90.operands import accumulates, viewed


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
        a, b = self.operand(call, "a", (m, k)), self.operand(call, "b", (n // group, k))
        stage = task.stage(call.resource, "producer", op)
        columns = pointer(task, call.resource, stage, op)
        line = task.operation("mma", op, _instruction(call, tile, group), columns, a, b, accumulates(call))
        return (led(task, Line(line, op=op.id)),)

    def operand(self, work: WorkCall, which: str, tile: tuple[int, int]) -> Expression:
        task = work.task
        view, part = viewed(work, which)
        smem = task.module.storage.view(view.resource, part, tile, work.op.id)
        fragment = task.once(
            ("descriptors", smem.key), lambda: task.declare(f"{which}_desc", call("descriptors", smem.name))
        )
        return index(fragment, None, None, None, view.stage)


def _instruction(work: WorkCall, tile: tuple[int, int, int], group: int) -> str:
    task, typed = work.task, type_of(work, (tile[0], tile[2]))
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


def type_of(work: WorkCall, tile: tuple[int, int]) -> Typed:
    """The type of the operands: that of A."""
    view, part = viewed(work, "a")
    smem = work.task.module.storage.view(view.resource, part, tile, work.op.id)
    if smem.by_columns:
        raise work.fail("operands have their rows contiguous")
    return smem.type
