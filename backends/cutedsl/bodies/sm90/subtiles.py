"""How an accumulator tile is cut for its way out."""

from __future__ import annotations

from warpdraft.core.document import OpKind, Token
from warpdraft.core.footprints import stage_bytes, target_work
from warpdraft.core.tree import ops_of

from ....vocabulary import STORE
from ..body import WorkCall


def staged_tile(work: WorkCall, rows: int) -> tuple[int, int]:
    """Rows and columns of one stage of the resource that a fragment is stored in: all rows of the accumulator tile."""
    typed, _ = work.task.module.storage.content(work.resource, "", work.op.id)
    size, row = stage_bytes(work.resource), rows * typed.bytes
    if size % row:
        raise work.fail(f"a stage of {work.resource.name} ({size} bytes) does not hold {rows} equal rows")
    return rows, size // row


def subtiles_of(work: WorkCall, tile: tuple[int, int, int]) -> int:
    """Into how many parts the columns of ``tile`` are cut: by parameter ``subtiles``, or to fit what stores them."""
    given = work.parameter("subtiles")
    if given is not None:
        count = given
    else:
        columns = _stored_columns(work, tile[0])
        count = tile[1] // columns if columns and tile[1] % columns == 0 else 0
    if not count or tile[1] % count or (tile[1] // count) % 16:
        raise work.fail(f"{tile[1]} columns cannot be cut as asked (subtiles of a multiple of 16 columns)")
    return count


def _stored_columns(work: WorkCall, rows: int) -> int:
    """Columns of the stage that the fragment of this op goes to, itself or what is made of it; 0 where nothing stores it."""
    ops = [op for op in ops_of(work.task.task) if op.kind is OpKind.WORK]
    made = set(work.op.results)
    for op in ops[ops.index(work.op) :]:
        if any(isinstance(v, Token) and v.name in made for _, v in op.args):
            named = target_work(work.task.document, op)
            if named and named[1].body in STORE:
                return staged_tile(WorkCall(work.task, op, *named), rows)[1]
            made |= set(op.results)
    return 0
