"""sm90.tma_load: a bulk tensor copy of one tile into a stage (or its part), zero where the tile leaves the tensor.

Parameters: ``tensor``, ``part``, ``tile`` (rows, columns), ``coords`` (the arguments that count tiles along each dimension).
"""

from __future__ import annotations

import numpy as np

from ..call import Body, Call, View


def run(call: Call) -> None:
    name = call.parameter("tensor")
    tensor = call.launch.tensors.get(name)
    if tensor is None:
        raise call.error(f"copies from tensor {name}, which the kernel does not have")
    tile = call.parameter("tile")
    coords = [call.arg(c) for c in call.parameter("coords")]
    offset, size = call.place(View(call.resource.name, call.stage), call.parameter("part", ""))
    block = np.zeros(tile, tensor.dtype.storage)
    if block.nbytes > size:
        raise call.error(f"copies {block.nbytes} bytes into {size}")
    starts = [c * extent for c, extent in zip(coords, tile, strict=True)]
    inside = tensor.data[tuple(slice(s, s + extent) for s, extent in zip(starts, tile, strict=True))]
    block[tuple(slice(0, extent) for extent in inside.shape)] = inside
    call.memory.write_async(offset, block)


BODY = Body("sm90.tma_load", run)
