"""sm90.wgmma: accumulator += A B^T, operands from the viewed stage, read when the instruction completes.

Parameters: ``a``, ``b`` (parts of the stage), ``tile`` (m, n, k), ``overwrite`` ("first_iter": the first iteration of the
domain loop overwrites the accumulator). Each warp keeps 16 rows of every 64-row block of its warpgroup (PTX ISA, wgmma
register fragments: warp w % 4 holds rows 16 (w % 4) to 16 (w % 4) + 15).
"""

from __future__ import annotations

import numpy as np

from ..call import Body, Call, Registers
from ..dtypes import decode


def rows_of(warp: int, warps: int, m: int) -> np.ndarray:
    """The rows of an accumulator of ``m`` rows that ``warp`` of a task of ``warps`` holds.

    >>> rows_of(5, 8, 128)[[0, -1]].tolist()
    [80, 95]
    """
    blocks = m // 64 // (warps // 4)
    first = 64 * blocks * (warp // 4) + 16 * (warp % 4)
    return np.concatenate([np.arange(first + 64 * b, first + 64 * b + 16) for b in range(blocks)])


def run(call: Call) -> None:
    m, n, k = call.parameter("tile")
    warps = call.task.num_warps
    if warps % 4 or m % (64 * (warps // 4)):
        raise call.error(f"cannot share {m} rows among {warps} warps: each warpgroup takes blocks of 64")
    view = call.view()
    dtype = _operand_type(call)
    a = decode(call.matrix(view, call.parameter("a"), (m, k), dtype), dtype)
    b = decode(call.matrix(view, call.parameter("b"), (n, k), dtype), dtype)
    rows = rows_of(call.warp, warps, m)
    product = a[rows] @ b.T
    key = (call.resource.name, call.stage)
    before = call.state.registers.get(key)
    if call.parameter("overwrite", "") == "first_iter" and call.first_iteration():
        data = product
    elif before is None:
        data = np.full_like(product, np.nan)
    else:
        data = before.data + product
    call.state.registers[key] = Registers(data, rows, m)


def _operand_type(call: Call):
    """The type of the first input tensor: that of the operands in shared memory."""
    for tensor in call.launch.tensors.values():
        if tensor.role == "in":
            return tensor.dtype
    raise call.error("has no input tensor to take its operands' type from")


BODY = Body("sm90.wgmma", run)
