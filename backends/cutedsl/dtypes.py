"""The element types that the stock bodies for Hopper take."""

from __future__ import annotations

from dataclasses import dataclass

from warpdraft.core.document import Kernel

from .errors import LoweringError


@dataclass(frozen=True, slots=True)
class DType:
    """``name`` as `run --param dtype=` takes it, ``cutlass`` as the DSL calls it, ``bytes`` of one element."""

    name: str
    cutlass: str
    bytes: int


DTYPES = (DType("fp16", "Float16", 2), DType("bf16", "BFloat16", 2))
SPELLINGS = {"float16": "fp16", "half": "fp16", "f16": "fp16", "bfloat16": "bf16"}


def kernel_dtype(kernel: Kernel) -> DType:
    """The one element type of the kernel's tensors. Raises LoweringError where they differ or are not supported."""
    parameters = dict(kernel.parameters)
    found = {str(parameters.get(tensor.dtype, tensor.dtype)) for tensor in kernel.tensors}
    if not found:
        found = {str(parameters.get("dtype", "fp16"))}
    names = {SPELLINGS.get(name.lower(), name) for name in found}
    if len(names) > 1:
        raise LoweringError(f"tensors of different element types are not lowered: {', '.join(sorted(names))}")
    name = names.pop()
    for dtype in DTYPES:
        if dtype.name == name:
            return dtype
    raise LoweringError(f"element type {name!r} is not lowered, only {', '.join(d.name for d in DTYPES)}")
