"""What all products share: their operands, and whether they overwrite the accumulator."""

from __future__ import annotations

import numpy as np

from warpdraft.core.document import Token

from ..call import Call
from ..dtypes import Dtype, decode


def operand(call: Call, name: str, shape: tuple[int, int]) -> np.ndarray:
    """Operand ``name`` in float32, as it is now: the view that an argument of that name is, or the part of that name of the
    only view."""
    part, dtype = call.parameter(name), operand_type(call)
    if isinstance(dict(call.op.args).get(part), Token):
        return decode(call.matrix(call.view(part), "", shape, dtype), dtype)
    return decode(call.matrix(call.view(), part, shape, dtype), dtype)


def overwrites(call: Call) -> bool:
    """Whether the product takes the place of what is there, by parameters ``overwrite`` and ``period``."""
    overwrite = call.parameter("overwrite")
    return overwrite == "always" or (
        overwrite == "first_iter" and call.first_iteration(call.parameter("period"))
    )


def operand_type(call: Call) -> Dtype:
    """The type of the first input tensor: that of the operands in shared memory."""
    for tensor in call.launch.tensors.values():
        if tensor.role == "in":
            return tensor.dtype
    raise call.error("has no input tensor to take its operands' type from")
