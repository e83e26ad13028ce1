"""sm90.wgmma: accumulator += A B^T, operands from the viewed stage, read when the instruction completes.

Parameters: ``a``, ``b`` (parts of the stage, or arguments whose views are whole tiles), ``tile`` (m, n, k), ``overwrite``
("first_iter": the first iteration of the domain loop overwrites the accumulator). Warpgroups share the tile's blocks of 64
rows in turn, or its columns; each warp keeps 16 rows of every block of its warpgroup (PTX ISA, wgmma register fragments:
warp w % 4 holds rows 16 (w % 4) to 16 (w % 4) + 15).
"""

from __future__ import annotations

import numpy as np

from warpdraft.core.document import Token

from ... import vocabulary
from ..call import Body, Call, Registers
from ..dtypes import Dtype, decode


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
    down, across = call.stock(vocabulary.warpgroups_over, call.task.warp_idx, call.task.num_warps, tile)
    dtype = _operand_type(call)
    a, b = (decode(_operand(call, name, (s, k), dtype), dtype) for name, s in (("a", m), ("b", n)))
    rows, wide = rows_of(call.warp, down, m), n // across
    left = wide * (call.warp // 4 % across)
    with np.errstate(invalid="ignore", over="ignore"):  # what nobody wrote is NaN, or anything
        product = a[rows] @ b[left : left + wide].T
    key = (call.resource.name, call.stage)
    before, overwrite = call.state.registers.get(key), call.parameter("overwrite")
    if before is not None and (before.height, before.width) != (m, n):
        raise call.error(f"fills a tile of {m} x {n}, which is {before.height} x {before.width} elsewhere")
    if overwrite == "always" or (overwrite == "first_iter" and call.first_iteration()):
        data = product
    elif before is None:
        data = np.full_like(product, np.nan)
    else:
        data = before.data + product
    call.state.registers[key] = Registers(data, rows, left, m, n)


def _operand(call: Call, name: str, shape: tuple[int, int], dtype: Dtype) -> np.ndarray:
    """Operand ``name``: the view that an argument of that name is, or the part of that name of the only view."""
    part = call.parameter(name)
    if isinstance(dict(call.op.args).get(part), Token):
        return call.matrix(call.view(part), "", shape, dtype)
    return call.matrix(call.view(), part, shape, dtype)


def _operand_type(call: Call) -> Dtype:
    """The type of the first input tensor: that of the operands in shared memory."""
    for tensor in call.launch.tensors.values():
        if tensor.role == "in":
            return tensor.dtype
    raise call.error("has no input tensor to take its operands' type from")


BODY = Body("sm90.wgmma", run)
