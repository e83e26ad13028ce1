"""Edits of what a schedule computes: the kernel's tensors, sizes, trip counts and parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..document import Document, Kernel, Tensor
from ..expressions import Expression
from .base import Edit, EditError, check_new_name
from .checks import need, pairs, text, whole


def _integer(value: Any) -> bool:
    return isinstance(value, Expression | int) and not isinstance(value, bool)


def _counts(value: Any) -> bool:
    return pairs(value) and all(_integer(count) for _, count in value)


def _sizes(value: Any) -> bool:
    return pairs(value) and all(whole(size, 1) for _, size in value)


# What may be set, and what each value must be: the check, and the words for it.
KERNEL_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "name": (lambda v: text(v) and v.isidentifier(), "an identifier"),
    "parameters": (pairs, "pairs of a name and a value, each name once"),
    "trip_counts": (_counts, "pairs of a symbol and an expression over sizes, each symbol once"),
    "grid": (_integer, "a number of CTAs or an expression over sizes"),
    "reference": (text, "a reference's name, or empty"),
    "sizes": (_sizes, "pairs of a name and a number above 0, each name once"),
    "small_sizes": (_sizes, "pairs of a name and a number above 0, each name once"),
}
TENSOR_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "shape": (
        lambda v: isinstance(v, tuple) and all(map(_integer, v)),
        "extents, each a size or an expression",
    ),
    "dtype": (lambda v: text(v) and bool(v), "a type's name, or that of a parameter"),
    "order": (lambda v: isinstance(v, tuple) and all(map(whole, v)), "the dimensions' numbers"),
    "role": (lambda v: v in ("in", "out"), "in or out"),
}


def _kernel(document: Document) -> Kernel:
    if document.kernel is None:
        raise EditError("the document has no kernel")
    return document.kernel


def _tensor(document: Document, name: str) -> Tensor:
    for tensor in _kernel(document).tensors:
        if tensor.name == name:
            return tensor
    raise EditError(f"the kernel has no tensor {name}")


@dataclass(frozen=True, slots=True)
class AddKernel(Edit):
    """Say that the schedule is that of a kernel; what it computes is set then.

    before: no kernel; after ``AddKernel("gemm")``: ``kernel gemm, no tensors``
    """

    name: str

    def apply(self, document: Document) -> Document:
        if document.kernel is not None:
            raise EditError(f"the document already has the kernel {document.kernel.name}")
        check_new_name(self.name, (), "kernel")
        return replace(document, kernel=Kernel(self.name))


@dataclass(frozen=True, slots=True)
class RemoveKernel(Edit):
    """Leave the schedule alone, without a kernel: it can be checked, but not lowered.

    before: ``kernel gemm``; after ``RemoveKernel()``: no kernel
    """

    def apply(self, document: Document) -> Document:
        _kernel(document)
        return replace(document, kernel=None)


@dataclass(frozen=True, slots=True)
class SetKernel(Edit):
    """Set a field of the kernel, its tensors apart.

    before: ``sizes M = 4096``; after ``SetKernel("sizes", (("M", 8192),))``: ``sizes M = 8192``
    """

    field: str
    value: Any

    def apply(self, document: Document) -> Document:
        kernel = _kernel(document)
        if self.field not in KERNEL_FIELDS:
            raise EditError(f"a kernel has no field {self.field} that can be set")
        fits, words = KERNEL_FIELDS[self.field]
        need(fits(self.value), f"{self.field} of the kernel", words, self.value)
        return replace(document, kernel=replace(kernel, **{self.field: self.value}))


@dataclass(frozen=True, slots=True)
class AddTensor(Edit):
    """Give the kernel one more tensor.

    before: ``tensors: a, b``; after ``AddTensor(Tensor("c", (M, N), "fp16", (0, 1), "out"))``: ``tensors: a, b, c``
    """

    tensor: Tensor

    def apply(self, document: Document) -> Document:
        kernel = _kernel(document)
        check_new_name(self.tensor.name, (t.name for t in kernel.tensors), "tensor")
        return replace(document, kernel=replace(kernel, tensors=(*kernel.tensors, self.tensor)))


@dataclass(frozen=True, slots=True)
class RemoveTensor(Edit):
    """Take a tensor from the kernel.

    before: ``tensors: a, b, c``; after ``RemoveTensor("c")``: ``tensors: a, b``
    """

    name: str

    def apply(self, document: Document) -> Document:
        gone = _tensor(document, self.name)
        kernel = _kernel(document)
        return replace(
            document, kernel=replace(kernel, tensors=tuple(t for t in kernel.tensors if t is not gone))
        )


@dataclass(frozen=True, slots=True)
class SetTensor(Edit):
    """Set a field of a tensor, its name included; a new shape keeps the order where it still fits.

    before: ``b: (N, K)``; after ``SetTensor("b", "order", (1, 0))``: ``b: (N, K), columns first``
    """

    name: str
    field: str
    value: Any

    def apply(self, document: Document) -> Document:
        tensor, kernel = _tensor(document, self.name), _kernel(document)
        what = f"{self.field} of {self.name}"
        if self.field == "name":
            check_new_name(self.value, (t.name for t in kernel.tensors if t is not tensor), "tensor")
        elif self.field in TENSOR_FIELDS:
            fits, words = TENSOR_FIELDS[self.field]
            need(fits(self.value), what, words, self.value)
        else:
            raise EditError(f"a tensor has no field {self.field} that can be set")
        changed = replace(tensor, **{self.field: self.value})
        if self.field == "shape" and len(self.value) != len(tensor.order):
            changed = replace(changed, order=tuple(range(len(self.value))))
        rank = len(changed.shape)
        need(sorted(changed.order) == list(range(rank)), what, f"each of 0 to {rank - 1} once", self.value)
        tensors = tuple(changed if t is tensor else t for t in kernel.tensors)
        return replace(document, kernel=replace(kernel, tensors=tensors))
