"""What a schedule computes: tensors, parameters, trip counts, launch and reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import document
from ..expressions import Integer
from .errors import refuse
from .integers import integer, size
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
    if not isinstance(shape, tuple | list):
        raise refuse(f"shape of tensor {name!r} must be a tuple of sizes, not {shape!r}")
    given = tuple(range(len(shape))) if order is None else tuple(int(d) for d in order)
    if sorted(given) != list(range(len(shape))):
        raise refuse(
            f"order of tensor {name!r} must name each of its {len(shape)} dimensions once, not {given}"
        )
    extents = tuple(size(f"an extent of tensor {name!r}", extent) for extent in shape)
    return document.Tensor(name, extents, str(plain(dtype)), given, role)


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
        trip_counts=tuple((key, size(f"symbol {key!r}", value)) for key, value in (symbols or {}).items()),
        grid=size("grid", grid),
        reference=reference,
        sizes=_sizes(sizes),
        small_sizes=_sizes(small_sizes),
    )


def _sizes(sizes: Mapping[str, int] | None) -> tuple[tuple[str, int], ...]:
    return tuple((name, integer(f"size {name!r}", value)) for name, value in (sizes or {}).items())
