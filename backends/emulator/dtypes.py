"""Element types in NumPy: how values are stored, and how they are rounded.

NumPy has no bfloat16: it is kept as its upper 16 bits of a float32, rounded to nearest even (IEEE 754, roundTiesToEven).
Nor has it e4m3 (OCP 8-bit floating point: no infinities, 448 is the largest value): it is kept as its byte.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .outcome import EmulationError


@dataclass(frozen=True)
class Dtype:
    """An element type: its NumPy storage, and the relative error that a result in it may show.

    Limits: of the order of the type's unit roundoff (fp16 2^-11, bf16 2^-8, fp32 2^-24 with sums over K), far below what one
    wrong operand tile makes (about 1).
    """

    name: str
    storage: type[np.generic]
    limit: float

    @property
    def bytes(self) -> int:
        """Bytes of one element."""
        return np.dtype(self.storage).itemsize


FP16 = Dtype("fp16", np.float16, 1e-3)
BF16 = Dtype("bf16", np.uint16, 8e-3)
E4M3 = Dtype("e4m3", np.uint8, 2e-3)
FP32 = Dtype("fp32", np.float32, 1e-4)
UE8M0 = Dtype("ue8m0", np.uint8, 1.0)  # scale factors: a power of two, bias 127 (OCP microscaling formats)
NAMES = {
    **dict.fromkeys(("fp16", "f16", "float16", "Float16"), FP16),
    **dict.fromkeys(("bf16", "bfloat16", "BFloat16"), BF16),
    **dict.fromkeys(("e4m3", "float8_e4m3fn", "Float8E4M3FN"), E4M3),
    **dict.fromkeys(("ue8m0", "float8_e8m0fnu", "Float8E8M0FNU"), UE8M0),
    **dict.fromkeys(("fp32", "f32", "float32", "Float32"), FP32),
}


def dtype_of(name: object) -> Dtype:
    """The type called ``name``; EmulationError for one that is not emulated."""
    found = NAMES.get(str(name))
    if found is None:
        raise EmulationError(f"element type {name} is not emulated; these are: fp16, bf16, e4m3, fp32, ue8m0")
    return found


def encode(values: np.ndarray, dtype: Dtype) -> np.ndarray:
    """float32 ``values`` in their stored form, rounded to nearest even.

    >>> hex(encode(np.array([1.00390625], np.float32), BF16)[0])  # halfway between 0x3f80 and 0x3f81: to even
    '0x3f80'
    """
    if dtype is E4M3:
        return _to_e4m3(values)
    if dtype is UE8M0:
        return np.round(np.log2(np.abs(values)) + 127).clip(0, 254).astype(np.uint8)
    if dtype is not BF16:
        with np.errstate(over="ignore"):
            return values.astype(dtype.storage)
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)


def decode(stored: np.ndarray, dtype: Dtype) -> np.ndarray:
    """Stored elements as float32.

    >>> float(decode(np.array([0x3F80], np.uint16), BF16)[0])
    1.0
    """
    if dtype is E4M3:
        return VALUES_OF_E4M3[stored]
    if dtype is UE8M0:
        with np.errstate(over="ignore"):  # of the byte that is no number
            powers = np.exp2(stored.astype(np.float32) - 127)
        return np.where(stored == 255, np.float32(np.nan), powers)
    if dtype is BF16:
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype(np.float32)


def _e4m3(byte: int) -> float:
    exponent, mantissa = byte >> 3 & 15, byte & 7
    if byte & 127 == 127:
        return float("nan")
    size = mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)
    return -size if byte & 128 else size


VALUES_OF_E4M3 = np.array([_e4m3(byte) for byte in range(256)], np.float32)


def _to_e4m3(values: np.ndarray) -> np.ndarray:
    """The nearest of the 127 sizes, of two equally near ones the even; what is larger than all is the largest."""
    sizes = VALUES_OF_E4M3[:127]
    between = (sizes[1:] + sizes[:-1]) / 2
    size = np.abs(values)
    above = np.searchsorted(between, size, side="left")
    tie = (above < 126) & (size == between[np.minimum(above, 125)]) & (above % 2 == 1)
    byte = (above + tie).astype(np.uint8)
    return np.where(np.isnan(values), np.uint8(127), byte | (np.signbit(values) * np.uint8(128)))
