"""sm90.wgmma: accumulator += A B^T, operands from the viewed stage, read when the instruction completes.

Parameters: ``a``, ``b`` (parts of the stage, or arguments whose views are whole tiles), ``tile`` (m, n, k), ``overwrite``
("first_iter": the first iteration of the domain loop overwrites the accumulator). Warpgroups share the tile's blocks of 64
rows in turn, or its columns; each warp keeps 16 rows of every block of its warpgroup (PTX ISA, wgmma register fragments:
warp w % 4 holds rows 16 (w % 4) to 16 (w % 4) + 15).
"""

from __future__ import annotations

import numpy as np

from ... import vocabulary
from ..call import Body, Call, Registers
from .operands import operand, operand_type, overwrites


def rows_of(warp: int, groups: int, m: int) -> np.ndarray:
    """The rows of an accumulator of ``m`` rows, shared by ``groups`` warpgroups in turn, that ``warp`` of a task holds.

    >>> rows_of(5, 2, 128)[[0, -1]].tolist()
    [80, 95]
    """
    group = warp // 4 % groups
    firsts = range(64 * group + 16 * (warp % 4), m, 64 * groups)
    return np.concatenate([np.arange(first, first + 16) for first in firsts])


def run(call: Call) -> None:
    tile = m, n, k = call.parameter("tile")
    warps = call.task.warp_idx, call.task.num_warps
    down, across = call.stock(vocabulary.warpgroups_over, *warps, tile, operand_type(call).bytes)
    a, b = operand(call, "a", (m, k)), operand(call, "b", (n, k))
    rows, wide = rows_of(call.warp, down, m), n // across
    left = wide * (call.warp // 4 % across)
    with np.errstate(invalid="ignore", over="ignore"):  # what nobody wrote is NaN, or anything
        product = a[rows] @ b[left : left + wide].T
    key = (call.resource.name, call.stage)
    before = call.state.registers.get(key)
    if before is not None and (before.height, before.width) != (m, n):
        raise call.error(f"fills a tile of {m} x {n}, which is {before.height} x {before.width} elsewhere")
    if overwrites(call):
        data = product
    elif before is None:
        data = np.full_like(product, np.nan)
    else:
        data = before.data + product
    call.state.registers[key] = Registers(data, rows, left, m, n)


BODY = Body("sm90.wgmma", run)
