"""What a schedule computes: tensors, parameters, trip counts, launch and reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import document
from ..expressions import Integer
from .errors import refuse
from .works import plain


def GmemTensor(
    name: str,
    shape: Sequence[Integer],
    dtype: Any,
    order: Sequence[int] | None = None,
    role: str = "in",
) -> document.Tensor:
    """A global tensor: ``shape`` over symbols, ``dtype`` a type's name or that of a kernel parameter.

    ``order``: the dimensions from slowest to fastest (default: the last is contiguous); ``role``: "in" or "out".
    """
    if role not in ("in", "out"):
        raise refuse(f'role of tensor {name!r} is "in" or "out", not {role!r}')
    given = tuple(range(len(shape))) if order is None else tuple(int(d) for d in order)
    if sorted(given) != list(range(len(shape))):
        raise refuse(
            f"order of tensor {name!r} must name each of its {len(shape)} dimensions once, not {given}"
        )
    return document.Tensor(name, tuple(shape), str(plain(dtype)), given, role)


def Kernel(
    name: str,
    tensors: Sequence[document.Tensor] = (),
    parameters: Mapping[str, Any] | None = None,
    symbols: Mapping[str, Integer] | None = None,
    grid: Integer = 1,
    reference: str = "",
    sizes: Mapping[str, int] | None = None,
    small_sizes: Mapping[str, int] | None = None,
) -> document.Kernel:
    """The kernel of a schedule. ``symbols`` gives each of its trip counts as an expression over sizes; of a tile count also
    over ``symbol("grid")``, the number of CTAs launched. Other fields as `document.Kernel` says."""
    return document.Kernel(
        name=name,
        tensors=tuple(tensors),
        parameters=tuple((key, plain(value)) for key, value in (parameters or {}).items()),
        trip_counts=tuple((symbols or {}).items()),
        grid=grid,
        reference=reference,
        sizes=tuple((sizes or {}).items()),
        small_sizes=tuple((small_sizes or {}).items()),
    )
