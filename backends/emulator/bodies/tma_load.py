"""sm90.tma_load: a bulk tensor copy of one tile into a stage (or its part), zero where the tile leaves the tensor.

Parameters: ``tensor``, ``part``, ``tile`` (rows, columns), ``coords`` (the arguments that count tiles along each dimension).
"""

from __future__ import annotations

import numpy as np

from ..call import Body, Call, View


def run(call: Call) -> None:
    tensor = call.tensor()
    rows, columns = call.parameter("tile")
    top, left = call.corner(tensor)
    if call.parameter("split"):  # this CTA's half of what a pair shares
        top = top * 2 + call.cta % 2 * rows
    offset, size = call.place(View(call.resource.name, call.stage), call.parameter("part"))
    if rows * columns * tensor.dtype.bytes != size:
        raise call.error(f"copies {rows * columns * tensor.dtype.bytes} bytes into {size}")
    block = np.zeros((rows, columns), tensor.dtype.storage)
    inside = call.plane(tensor)[top : top + rows, left : left + columns]
    block[: inside.shape[0], : inside.shape[1]] = inside
    if call.window is None:
        call.memory.write_async(offset, block)
        return
    low, high = call.window  # this CTA brings a part of the tile to one of several CTAs
    stored = block.view(np.uint8).reshape(-1)[max(0, low - offset) : max(0, high - offset)]
    call.memory.write_async(max(low, offset), stored)


BODY = Body("sm90.tma_load", run)
