"""sm90.wgmma: one k tile of a matrix product, accumulated in registers."""

from __future__ import annotations

from dataclasses import dataclass

from warpdraft.core.document import Engine, Op, OpKind, Resource, Token, Work
from warpdraft.core.footprints import target_work
from warpdraft.core.tree import ops_of

from ...errors import LoweringError
from ...syntax import Expression, Line, Statement, assign, binary, call, compare, expression, index
from ...task import TaskBuilder
from ...tokens import StageView
from ..body import WorkCall

INSTRUCTION_M, INSTRUCTION_K = (
    64,
    16,
)  # PTX ISA, wgmma.mma_async: shape .m64nNk16 of .f16 and .bf16, N = 8, 16 .. 256
WARPGROUP = 128  # threads


@dataclass(frozen=True, slots=True)
class Mma:
    """A task's tiled wgmma: its accumulator tile, the warpgroups along m and n, and the variables of its set-up."""

    tile: tuple[int, int, int]
    warpgroups: tuple[int, int, int]
    instruction: str
    tiled: str
    slice: str
    acc: str


@dataclass(frozen=True, slots=True)
class Wgmma:
    """Parameters: ``a``, ``b``: parts of the viewed stage (or the arguments whose views are whole tiles); ``tile`` =
    (m, n, k) of all the task's warpgroups together; ``overwrite``: "first_iter" (of the innermost domain loop), "always"
    or "never".
    """

    name: str = "sm90.wgmma"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``op.wgmma(id, instruction, warpgroups, acc, a stage, b stage, accumulate, step)``"""
        task, op = call.task, call.op
        if call.work.engine is not Engine.WGMMA:
            raise call.fail("the work's engine must be wgmma")
        m, n, k = tile = call.numbers("tile", 3)
        if k % INSTRUCTION_K:
            raise call.fail(f"k = {k} is not a multiple of {INSTRUCTION_K}")
        mma = mma_of(task, call.resource, tile, op)
        a = self._operand(call, mma, "a", (m, k))
        b = self._operand(call, mma, "b", (n, k))
        line = task.operation(
            "wgmma", op, mma.instruction, mma.warpgroups, mma.acc, a, b, self._accumulate(call)
        )
        return (Line(line, op=op.id),)

    def _operand(self, work: WorkCall, mma: Mma, which: str, tile: tuple[int, int]) -> Expression:
        task, part = work.task, work.name(which)
        view, part = _viewed(work, part)
        smem = task.module.storage.view(view.resource, part, tile, work.op.id)

        def make() -> str:
            side = which.upper()
            value = call(
                f"{mma.tiled}.make_fragment_{side}", call(f"{mma.slice}.partition_{side}", smem.name)
            )
            return task.declare(f"{which}_frag", value)

        fragment = task.once(("operand", mma.tiled, which, smem.key), make)
        return index(fragment, None, None, None, view.stage)

    def _accumulate(self, work: WorkCall) -> Expression:
        overwrite = work.name("overwrite", "never")
        if overwrite in ("always", "never"):
            return expression(overwrite == "never")
        if overwrite != "first_iter":
            raise work.fail(f"overwrite={overwrite!r} is not 'first_iter', 'always' or 'never'")
        loop = work.task.innermost("domain")
        return expression(False) if loop is None else compare(loop.index, ">", 0)


def _viewed(work: WorkCall, name: str) -> tuple[StageView, str]:
    """The view and the part in it that ``name`` means."""
    argument = dict(work.op.args).get(name)
    if isinstance(argument, Token):
        return work.task.stage_view(work.op, name), ""
    return work.task.stage_view(work.op), name


def mma_of(task: TaskBuilder, accumulator: Resource, tile: tuple[int, int, int], op: Op) -> Mma:
    """The set-up of the accumulator ``accumulator`` of this task."""
    found: Mma = task.once(("mma", accumulator.name), lambda: _declare(task, accumulator, tile, op))
    if found.tile[:2] != tile[:2]:
        raise LoweringError(f"{accumulator.name} is {found.tile[:2]} elsewhere and {tile[:2]} here", op.id)
    return found


def _declare(task: TaskBuilder, accumulator: Resource, tile: tuple[int, int, int], op: Op) -> Mma:
    m, n, _ = tile
    warpgroups = _arrange(task, m, n, op)
    wide = n // warpgroups[1]
    instruction = task.declare(
        "wgmma_op",
        call(
            "warpgroup.MmaF16BF16Op",
            "DTYPE",
            "cutlass.Float32",
            (INSTRUCTION_M, wide, INSTRUCTION_K),
            "warpgroup.OperandSource.SMEM",
            "OperandMajorMode.K",
            "OperandMajorMode.K",
        ),
    )
    tiled = task.declare("mma", call("cute.make_tiled_mma", instruction, warpgroups))
    first: Expression = expression(0)
    if warpgroups != (1, 1, 1):  # descriptors are the same for a warpgroup: its first thread's
        group = call("cute.arch.make_warp_uniform", binary(task.thread, "//", WARPGROUP))
        first = binary(group, "*", WARPGROUP)
    part = task.declare("mma_slice", call(f"{tiled}.get_slice", first))
    shape = call(f"{tiled}.partition_shape_C", (m, n))
    acc = task.names.new(accumulator.name)
    task.set_up.append(assign(acc, call("cute.make_rmem_tensor", shape, "cutlass.Float32")))
    return Mma(tile, warpgroups, instruction, tiled, part, acc)


def _arrange(task: TaskBuilder, m: int, n: int, op: Op) -> tuple[int, int, int]:
    """The warpgroups along m, or along n where m is too short. Raises LoweringError where the tile fits neither way."""
    first, warps = task.task.warp_idx, task.task.num_warps
    if first % 4 or warps % 4 or task.warp is not None:
        raise LoweringError("wgmma needs all warps of whole, aligned warpgroups", op.id)
    groups = warps // 4
    arrangement = (groups, 1, 1) if m % (INSTRUCTION_M * groups) == 0 else (1, groups, 1)
    wide = n // arrangement[1]
    if m % (INSTRUCTION_M * arrangement[0]) or n % arrangement[1] or wide % 8 or not 8 <= wide <= 256:
        raise LoweringError(f"{groups} warpgroups cannot share a tile of {m} x {n}", op.id)
    return arrangement


def find_mma(task: TaskBuilder, accumulator: Resource, op: Op) -> Mma:
    """The set-up of an accumulator that some wgmma of this task fills, wherever that stands."""
    for other in ops_of(task.task):
        named = target_work(task.document, other) if other.kind is OpKind.WORK else None
        if named and named[0].name == accumulator.name and named[1].body == Wgmma().name:
            tile = WorkCall(task, other, *named).numbers("tile", 3)
            return mma_of(task, accumulator, tile, op)
    raise LoweringError(f"no wgmma of task {task.task.name} fills {accumulator.name}", op.id)


def output_tile(task: TaskBuilder, op: Op) -> tuple[int, int]:
    """Rows and columns of the accumulator tile of the document's wgmma."""
    found = {_tile(work) for r in task.document.resources for work in r.works if work.body == Wgmma().name}
    if len(found) != 1:
        raise LoweringError(f"subtiles need one accumulator tile, the document has {len(found)}", op.id)
    return found.pop()


def _tile(work: Work) -> tuple[int, int]:
    tile = dict(work.params).get("tile")
    return tile[:2] if isinstance(tile, tuple) and len(tile) == 3 else (0, 0)
