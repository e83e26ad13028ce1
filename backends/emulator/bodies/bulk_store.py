"""sm90.bulk_store: a staged subtile to global memory, clipped at the tensor's edge; the stage is read on completion.

Parameters: ``tensor``, ``part``, ``tile`` (rows, columns), ``coords`` (the arguments that count tiles along each dimension).
With an argument ``subtile``, the column coordinate counts accumulator tiles, and ``subtile`` the tiles within one of them.
"""

from __future__ import annotations

from ..call import Body, Call
from ..dtypes import decode, encode


def run(call: Call) -> None:
    tensor = call.tensor()
    rows, columns = call.parameter("tile")
    top, left = call.corner(tensor)
    staged = call.matrix(call.view(), call.parameter("part"), (rows, columns), tensor.dtype)
    target = call.plane(tensor)[top : top + rows, left : left + columns]
    inside = staged[: target.shape[0], : target.shape[1]]
    if call.parameter("reduce"):
        inside = encode(decode(target, tensor.dtype) + decode(inside, tensor.dtype), tensor.dtype)
    target[:] = inside


BODY = Body("sm90.bulk_store", run)
