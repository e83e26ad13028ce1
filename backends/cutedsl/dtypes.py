"""The element types that the stock bodies take, and the constants that a module has them in."""

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


@dataclass(frozen=True, slots=True)
class Typed:
    """A type as a module has it: in the ``constant``, which the kernel parameter ``parameter`` sets."""

    dtype: DType
    constant: str
    parameter: str

    @property
    def bytes(self) -> int:
        """Bytes of one element."""
        return self.dtype.bytes


DTYPES = (
    DType("fp16", "Float16", 2),
    DType("bf16", "BFloat16", 2),
    DType("e4m3", "Float8E4M3FN", 1),
    DType("fp32", "Float32", 4),
    DType("ue8m0", "Float8E8M0FNU", 1),  # scale factors: powers of two
)
SPELLINGS = {
    "float16": "fp16",
    "half": "fp16",
    "f16": "fp16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "e4m3",
    "float8_e8m0fnu": "ue8m0",
    "float32": "fp32",
    "f32": "fp32",
}


def types_of(kernel: Kernel) -> dict[str, Typed]:
    """The type of each of the kernel's tensors. A type that no parameter names is in the constant of ``dtype``, where it is
    the only one. Raises LoweringError for types that are not supported."""
    parameters = dict(kernel.parameters)
    plain = {t.dtype for t in kernel.tensors if t.dtype not in parameters}
    if len(plain) > 1 or (plain and len({t.dtype for t in kernel.tensors}) > 1):
        raise LoweringError(
            f"name each element type by a parameter of the kernel: {', '.join(sorted(plain))} are given directly"
        )
    found = {}
    for tensor in kernel.tensors:
        parameter = tensor.dtype if tensor.dtype in parameters else "dtype"
        found[tensor.name] = Typed(
            _dtype(str(parameters.get(tensor.dtype, tensor.dtype))), parameter.upper(), parameter
        )
    return found


def _dtype(given: str) -> DType:
    name = SPELLINGS.get(given.lower(), given)
    for dtype in DTYPES:
        if dtype.name == name:
            return dtype
    raise LoweringError(f"element type {name!r} is not lowered, only {', '.join(d.name for d in DTYPES)}")
