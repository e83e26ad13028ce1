"""sm90.bulk_store: a staged subtile to global memory, clipped at the tensor's edge; the stage is read on completion.

Parameters: ``tensor``, ``tile`` (rows, columns), ``coords`` (the arguments that count tiles along each dimension). With an
argument ``subtile``, the column coordinate counts the kernel's output tiles, and ``subtile`` the tiles within one of them.
"""

from __future__ import annotations

from ..call import Body, Call


def run(call: Call) -> None:
    name = call.parameter("tensor")
    tensor = call.launch.tensors.get(name)
    if tensor is None:
        raise call.error(f"stores to tensor {name}, which the kernel does not have")
    rows, columns = call.parameter("tile")
    down, across = (call.arg(c) for c in call.parameter("coords"))
    subtile = call.args.get("subtile")
    top, left = down * rows, across * columns
    if subtile is not None:
        left = across * (call.launch.tile() or (rows, columns))[1] + subtile * columns
    staged = call.matrix(call.view(), call.parameter("part", ""), (rows, columns), tensor.dtype)
    target = tensor.data[top : top + rows, left : left + columns]
    target[:] = staged[: target.shape[0], : target.shape[1]]


BODY = Body("sm90.bulk_store", run)
