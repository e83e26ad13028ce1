"""sm100.tcgen05_mma_scaled: as sm100.tcgen05_mma, of fp8 operands with a scale factor for each 32 elements along K.

Parameters ``sfa`` and ``sfb``: the arguments whose views are the factors in tensor memory: byte s of column q in lane r is
that of row 32 q + r in block s (PTX ISA, tcgen05.mma, .block_scale with .block32).
"""

from __future__ import annotations

import numpy as np

from ... import vocabulary
from ..call import Body, Call
from ..dtypes import E4M3, UE8M0, decode
from .operands import operand, operand_type, overwrites


def run(call: Call) -> None:
    m, n, k = tile = call.parameter("tile")
    call.stock(vocabulary.check_scaled, tile)
    if operand_type(call) is not E4M3:
        raise call.fail(f"scaled operands are e4m3, not {operand_type(call).name}")
    a = operand(call, "a", (m, k)) * _factors(call, "sfa", m)
    b = operand(call, "b", (n, k)) * _factors(call, "sfb", n)
    columns = call.columns(call.resource.name, call.stage, n)
    with np.errstate(invalid="ignore", over="ignore"):
        product = a @ b.T
        columns[:] = product if overwrites(call) else columns + product


def _factors(call: Call, which: str, rows: int) -> np.ndarray:
    """A factor for each row and column of an operand's tile."""
    view = call.view(call.parameter(which))
    wide = vocabulary.scale_columns(rows)
    cells = call.columns(view.resource, view.stage, wide)[:32]
    stored = np.ascontiguousarray(cells).view(np.uint8).reshape(32, wide, 4)  # lane, column, block
    return decode(stored.transpose(1, 0, 2).reshape(rows, 4), UE8M0).repeat(32, axis=1)


BODY = Body("sm100.tcgen05_mma_scaled", run)
