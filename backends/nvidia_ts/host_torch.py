"""Stands in for torch on a machine that has none: tensors with a shape, a type and no values.

A tensor says to the DSL what it is through DLPack (dmlc/dlpack, `dlpack.h`), as those of torch do; what is computed with it
keeps its shape, what is compared is taken to be equal. Anything else of the module is an object that accepts everything.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from math import prod
from typing import Any

from .host_cuda import Anything, answers

CUDA_DEVICE = 2  # DLDeviceType kDLCUDA: nobody reads through the address
ADDRESS = 1 << 20  # aligned to anything
# DLDataTypeCode and bits.
TYPES = {
    "bool": (6, 8),
    "uint8": (1, 8),
    "uint16": (1, 16),
    "uint32": (1, 32),
    "int8": (0, 8),
    "int16": (0, 16),
    "int32": (0, 32),
    "int64": (0, 64),
    "float16": (2, 16),
    "bfloat16": (4, 16),
    "float32": (2, 32),
    "float64": (2, 64),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e8m0fnu": (14, 8),
    "float4_e2m1fn_x2": (1, 8),
}
SHORT = {"half": "float16", "float": "float32", "double": "float64", "int": "int32", "long": "int64"}
FILLED = ("randn", "rand", "empty", "zeros", "ones")
LIKE = ("zeros_like", "ones_like", "empty_like", "randn_like", "rand_like", "full_like")


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _DLManagedTensor(ctypes.Structure):
    _fields_ = (("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_kept: list[Any] = []  # what capsules point to lives as long as the process


class dtype:
    """A type of elements."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.itemsize = TYPES[name][1] // 8
        self.is_floating_point = "float" in name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


DTYPES = {name: dtype(name) for name in TYPES}


class Tensor:
    """A shape, strides and a type; ``values`` only where it was made from them."""

    def __init__(self, shape: Any, type_: dtype, strides: Any = None, values: Any = None) -> None:
        self.shape = Size(int(n) for n in shape)
        self.dtype = type_
        self.strides = tuple(strides) if strides is not None else _compact(self.shape)
        self.values = values
        self.device = types.SimpleNamespace(type="cuda", index=0)
        self.is_cuda = True
        self.requires_grad = False
        self.grad = None

    ndim = property(lambda self: len(self.shape))
    T = property(lambda self: self.permute(*reversed(range(self.ndim))))

    def size(self, place: int | None = None) -> Any:
        """Its extents, or one of them."""
        return self.shape if place is None else self.shape[place]

    def stride(self, place: int | None = None) -> Any:
        """Its strides in elements, or one of them."""
        return self.strides if place is None else self.strides[place]

    def dim(self) -> int:
        """How many extents it has."""
        return len(self.shape)

    def numel(self) -> int:
        """How many elements it has."""
        return prod(self.shape)

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """An address that nobody may read."""
        return ADDRESS

    def item(self) -> Any:
        """A number."""
        return self.values if isinstance(self.values, int | float) else 0

    def tolist(self) -> Any:
        """The values that it was made from, else zeros."""
        return self.values if self.values is not None else [0] * (self.shape[0] if self.shape else 1)

    def to(self, *args: Any, **options: Any) -> Tensor:
        """The same with another type."""
        kinds = [a for a in (*args, *options.values()) if isinstance(a, dtype)]
        return Tensor(self.shape, kinds[0] if kinds else self.dtype, self.strides, self.values)

    def type(self, kind: Any = None) -> Any:
        """The same with another type."""
        return self.to(kind)

    def permute(self, *order: Any) -> Tensor:
        """The same with its extents in another order."""
        order = order[0] if order and isinstance(order[0], tuple | list) else order
        return Tensor([self.shape[i] for i in order], self.dtype, [self.strides[i] for i in order])

    def transpose(self, a: int, b: int) -> Tensor:
        """The same with two extents exchanged."""
        order = list(range(self.ndim))
        order[a], order[b] = order[b], order[a]
        return self.permute(*order)

    def view(self, *shape: Any) -> Tensor:
        """The same elements in another shape, or as another type."""
        if shape and isinstance(shape[0], dtype):
            return self.to(shape[0])
        shape = shape[0] if shape and isinstance(shape[0], tuple | list) else shape
        known = prod(n for n in shape if n != -1)
        return Tensor([self.numel() // max(1, known) if n == -1 else n for n in shape], self.dtype)

    reshape = view

    def unsqueeze(self, place: int) -> Tensor:
        """The same with an extent of 1 more."""
        shape = list(self.shape)
        shape.insert(place if place >= 0 else place + self.ndim + 1, 1)
        return Tensor(shape, self.dtype)

    def squeeze(self, *_: Any) -> Tensor:
        """The same without extents of 1."""
        kept = [(n, s) for n, s in zip(self.shape, self.strides, strict=True) if n != 1]
        return Tensor([n for n, _ in kept], self.dtype, [s for _, s in kept])

    def contiguous(self, *_: Any, **__: Any) -> Tensor:
        """The same, compact."""
        return Tensor(self.shape, self.dtype, None, self.values)

    def __getitem__(self, _: Any) -> Tensor:
        return Tensor(self.shape[1:] or (1,), self.dtype)

    def __setitem__(self, *_: Any) -> None:
        return None

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 0

    def __bool__(self) -> bool:
        return True

    def __int__(self) -> int:
        return int(self.item())

    __index__ = __int__

    def __float__(self) -> float:
        return float(self.item())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in DTYPES or name in SHORT:
            return lambda: self.to(DTYPES[SHORT.get(name, name)])
        return lambda *_, **__: self

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA_DEVICE, 0

    def __dlpack__(self, **_: Any) -> Any:
        count, (code, bits) = len(self.shape), TYPES[self.dtype.name]
        shape, strides = (ctypes.c_int64 * count)(*self.shape), (ctypes.c_int64 * count)(*self.strides)
        tensor = _DLTensor(ADDRESS, CUDA_DEVICE, 0, count, code, bits, 1, shape, strides, 0)
        managed = _DLManagedTensor(tensor, None, None)
        _kept.extend((shape, strides, managed))
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(managed), b"dltensor", None)


class Size(tuple):
    """A shape."""

    def numel(self) -> int:
        """How many elements."""
        return prod(self)


def _same(self: Tensor, *_: Any) -> Tensor:
    return Tensor(self.shape, self.dtype)


for (
    _name
) in "add radd sub rsub mul rmul truediv rtruediv floordiv mod pow neg abs lt le gt ge and or matmul".split():
    setattr(Tensor, f"__{_name}__", _same)


def _compact(shape: Size) -> tuple[int, ...]:
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


def _extents(args: Any, options: dict[str, Any]) -> Any:
    given = options.get("size", args[0] if args and isinstance(args[0], tuple | list) else args)
    return [n for n in given if isinstance(n, int)]


def _filled(*args: Any, **options: Any) -> Tensor:
    return Tensor(_extents(args, options), options.get("dtype") or DTYPES["float32"])


def _integers(*args: Any, **options: Any) -> Tensor:
    shape = options.get("size") or next((a for a in args if isinstance(a, tuple | list)), ())
    return Tensor(shape, options.get("dtype") or DTYPES["int64"])


def _full(shape: Any, *_: Any, **options: Any) -> Tensor:
    return Tensor(shape, options.get("dtype") or DTYPES["float32"])


def _like(other: Tensor, *_: Any, **options: Any) -> Tensor:
    return Tensor(other.shape, options.get("dtype") or other.dtype)


def _tensor(values: Any, **options: Any) -> Tensor:
    shape, inner = [], values
    while isinstance(inner, list | tuple):
        shape.append(len(inner))
        inner = inner[0] if inner else 0
    kind = options.get("dtype") or DTYPES["float32" if isinstance(inner, float) else "int64"]
    return Tensor(shape, kind, None, values)


def _range(*args: Any, **options: Any) -> Tensor:
    values = list(range(*(int(a) for a in args)))
    return Tensor([len(values)], options.get("dtype") or DTYPES["int64"], None, values)


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every submodule of torch."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.split(".")[0] != "torch":
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__name__ == "torch":
            vars(module).update(_namespace())
        elif module.__name__ == "torch.cuda":
            vars(module).update(answers())


def _namespace() -> dict[str, Any]:
    found: dict[str, Any] = {
        "Tensor": Tensor,
        "dtype": dtype,
        "Size": Size,
        "tensor": _tensor,
        "arange": _range,
    }
    found |= DTYPES | {short: DTYPES[name] for short, name in SHORT.items()}
    found |= dict.fromkeys(FILLED, _filled) | dict.fromkeys(LIKE, _like)
    found |= {
        "randint": _integers,
        "full": _full,
        "as_tensor": _tensor,
        "__version__": "0",
        "allclose": lambda *_, **__: True,
    }
    for name in (
        "relu",
        "abs",
        "einsum",
        "matmul",
        "mm",
        "bmm",
        "cat",
        "stack",
        "sort",
        "sum",
        "max",
        "softmax",
    ):
        found[name] = lambda *args, **_: next((a for a in args if isinstance(a, Tensor)), Anything())
    return found


def install() -> None:
    """Makes ``import torch`` find this."""
    sys.meta_path.append(_Finder())
    importlib.import_module("torch.cuda")  # an attribute of torch in any case
