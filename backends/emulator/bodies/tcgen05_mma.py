"""sm100.tcgen05_mma: columns of tensor memory += A B^T, operands from the viewed stage, read when the instruction completes.

Parameters: ``a``, ``b`` (parts of the stage, or arguments whose views are whole tiles), ``tile`` (m, n, k), ``overwrite``
("first_iter": the first iteration of the domain loop overwrites the accumulator). Row i of the tile is in lane i, column j
in column j of the stage (PTX ISA, tcgen05 data path layout D: M = 128, one CTA).
"""

from __future__ import annotations

import numpy as np

from ... import vocabulary
from ..call import Body, Call
from .operands import operand, overwrites


def run(call: Call) -> None:
    m, n, k = tile = call.parameter("tile")
    call.stock(vocabulary.check_umma, tile)
    a, b = operand(call, "a", (m, k)), operand(call, "b", (n, k))
    columns = call.columns(call.resource.name, call.stage, n)
    with np.errstate(invalid="ignore", over="ignore"):  # what nobody wrote is NaN, or anything
        product = a @ b.T
        columns[:] = product if overwrites(call) else columns + product


BODY = Body("sm100.tcgen05_mma", run)
