"""sm90.wgmma: one k tile of a matrix product, accumulated in registers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from warpdraft.core.document import Op, OpKind, Resource, Token
from warpdraft.core.footprints import target_work
from warpdraft.core.occupancy import ctas_per_sm
from warpdraft.core.registers import entry_registers
from warpdraft.core.tree import ops_of

from ....vocabulary import INSTRUCTION_BYTES, INSTRUCTION_M, StockError, warpgroups_over
from ...errors import LoweringError
from ...syntax import Expression, Line, Statement, assign, binary, call, expression, index
from ...task import TaskBuilder
from ..body import WorkCall
from .operands import accumulates, viewed

WARPGROUP = 128  # threads
ADDS = "sm90.add_fragment"
BESIDE = 26  # registers that ptxas wants at launch beside one instruction's accumulator (its error C7602; CUDA 13.0)


@dataclass(frozen=True, slots=True)
class Mma:
    """A task's tiled wgmma: its accumulator tile, the warpgroups along m and n, and the variables of its set-up."""

    tile: tuple[int, int, int]
    warpgroups: tuple[int, int, int]
    operands: tuple[tuple[str, str], tuple[str, str]]  # type and major mode of A and of B
    instruction: str
    tiled: str
    slice: str
    acc: str


@dataclass(frozen=True, slots=True)
class Wgmma:
    """Parameters: ``a``, ``b``: parts of the viewed stage (or the arguments whose views are whole tiles); ``tile`` =
    (m, n, k) of all the task's warpgroups together; ``overwrite``: "first_iter" (of the innermost domain loop; with
    ``period``, of every so many of its iterations), "always" or "never".
    """

    name: str = "sm90.wgmma"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``op.wgmma(id, instruction, warpgroups, acc, a stage, b stage, accumulate, step)``"""
        task, op = call.task, call.op
        m, n, k = tile = call.parameter("tile")
        mma = find_mma(task, call.resource, op)
        if mma.tile[:2] != tile[:2] or mma.operands != operands(call):
            raise call.fail(f"{call.resource.name} is filled by products of different kinds")
        a = self._operand(call, mma, "a", (m, k))
        b = self._operand(call, mma, "b", (n, k))
        line = task.operation("wgmma", op, mma.instruction, mma.warpgroups, mma.acc, a, b, accumulates(call))
        return (Line(line, op=op.id),)

    def _operand(self, work: WorkCall, mma: Mma, which: str, tile: tuple[int, int]) -> Expression:
        task = work.task
        view, part = viewed(work, which)
        smem = task.module.storage.view(view.resource, part, tile, work.op.id)

        def make() -> str:
            side = which.upper()
            value = call(
                f"{mma.tiled}.make_fragment_{side}", call(f"{mma.slice}.partition_{side}", smem.name)
            )
            return task.declare(f"{which}_frag", value)

        fragment = task.once(("operand", mma.tiled, which, smem.key), make)
        return index(fragment, None, None, None, view.stage)


def operands(work: WorkCall) -> tuple[tuple[str, str], tuple[str, str]]:
    """The constant with the type, and the major mode, of A and of B. Raises LoweringError for what wgmma does not take."""
    storage, found = work.task.module.storage, []
    for which in "ab":
        resource, part = _resource_of(work, which)
        typed, by_columns = storage.content(resource, part, work.op.id)
        if typed.bytes > 2 or (
            typed.bytes == 1 and by_columns
        ):  # PTX ISA, wgmma.mma_async: .f16, .bf16, .e4m3
            how = " with columns contiguous" if by_columns else ""
            raise work.fail(f"does not take {typed.dtype.name}{how}")
        found.append((typed, "MN" if by_columns else "K"))
    (a, a_major), (b, b_major) = found
    if a.dtype.bytes != b.dtype.bytes or (a.bytes == 2 and a.constant != b.constant):
        raise work.fail(f"does not multiply {a.dtype.name} by {b.dtype.name}")
    return (a.constant, a_major), (b.constant, b_major)


def _resource_of(work: WorkCall, which: str) -> tuple[Resource, str]:
    """The resource and the part that operand ``which`` is read from."""
    name, document = work.parameter(which), work.task.document
    arguments = dict(work.op.args)
    tokens = [arguments[name]] if isinstance(arguments.get(name), Token) else list(arguments.values())
    for op in ops_of(work.task.task):
        if any(isinstance(t, Token) and t.name in op.results for t in tokens):
            named = target_work(document, op) if op.kind is OpKind.WORK else None
            if named and named[1].view:
                return named[0], "" if isinstance(arguments.get(name), Token) else name
    raise work.fail(f"operand {which} is no view of a stage")


def _declare(task: TaskBuilder, accumulator: Resource, work: WorkCall) -> Mma:
    m, n, _ = tile = work.parameter("tile")
    (a, a_major), (b, b_major) = of = operands(work)
    narrow = task.module.bytes_of(a) == 1
    warpgroups = _arrange(work, tile, task.module.bytes_of(a))
    wide = n // warpgroups[1]
    _fits_at_launch(task, wide, work.op)
    instruction = task.declare(
        "wgmma_op",
        call(
            "warpgroup.MmaF8Op" if narrow else "warpgroup.MmaF16BF16Op",
            *((a, b) if narrow else (a,)),
            "cutlass.Float32",
            (INSTRUCTION_M, wide, INSTRUCTION_BYTES // task.module.bytes_of(a)),
            "warpgroup.OperandSource.SMEM",
            f"OperandMajorMode.{a_major}",
            f"OperandMajorMode.{b_major}",
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
    return Mma(tile, warpgroups, of, instruction, tiled, part, acc)


def _arrange(work: WorkCall, tile: tuple[int, int, int], nbytes: int) -> tuple[int, int, int]:
    """The warpgroups along m, or along n where m is too short. Raises LoweringError where the tile fits neither way."""
    task = work.task
    if task.warp is not None:
        raise LoweringError("wgmma needs all warps of whole, aligned warpgroups", work.op.id)
    try:
        return *warpgroups_over(task.task.warp_idx, task.task.num_warps, tile, nbytes), 1
    except StockError as error:
        raise LoweringError(str(error), work.op.id) from None


def _fits_at_launch(task: TaskBuilder, wide: int, op: Op) -> None:
    """Raises LoweringError where the compiler would refuse the instruction. It does not count what setmaxnreg adds."""
    threads, ctas = 32 * task.module.warps, ctas_per_sm(task.document)
    needed, entry = INSTRUCTION_M * wide // WARPGROUP + BESIDE, entry_registers(threads, ctas)
    if needed > entry:
        raise LoweringError(
            f"a wgmma of {INSTRUCTION_M} x {wide} needs {needed} registers a thread at launch; "
            f"{ctas} CTA(s) of {threads} threads on a multiprocessor start with {entry}",
            op.id,
        )


def _declare_sum(task: TaskBuilder, total: Resource, add: Op) -> Mma:
    """Registers beside those of the accumulator whose fragments ``add`` adds, spread over the threads alike."""
    added = dict(add.args).get("fragment")
    for op in ops_of(task.task):
        named = target_work(task.document, op) if op.kind is OpKind.WORK else None
        if named and isinstance(added, Token) and added.name in op.results and named[0].name != total.name:
            mma = find_mma(task, named[0], op)
            name = task.declare(
                total.name, call("cute.make_rmem_tensor", f"{mma.acc}.shape", "cutlass.Float32")
            )
            return replace(mma, acc=name)
    raise LoweringError(f"{ADDS}: argument 'fragment' is not a fragment of an accumulator", add.id)


def find_mma(task: TaskBuilder, accumulator: Resource, op: Op) -> Mma:
    """The set-up of an accumulator that some wgmma of this task fills, wherever that stands, or of a sum of such."""
    for other in ops_of(task.task):
        named = target_work(task.document, other) if other.kind is OpKind.WORK else None
        if named and named[0].name == accumulator.name and named[1].body == Wgmma().name:
            work = WorkCall(task, other, *named)
            return task.once(("mma", accumulator.name), partial(_declare, task, accumulator, work))
    for other in ops_of(task.task):
        named = target_work(task.document, other) if other.kind is OpKind.WORK else None
        if named and named[0].name == accumulator.name and named[1].body == ADDS:
            return task.once(("mma", accumulator.name), partial(_declare_sum, task, accumulator, other))
    raise LoweringError(f"no wgmma of task {task.task.name} fills {accumulator.name}", op.id)
