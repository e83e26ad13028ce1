"""What a schedule computes: tensors, parameters, trip counts, launch and reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import document
from ..expressions import Integer
from .errors import refuse
from .given import listed, mapping, shown, text
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
    text("name of a tensor", name)
    if role not in ("in", "out"):
        raise refuse(f'role of tensor {name!r} is "in" or "out", not {role!r}')
    if not isinstance(shape, tuple | list):
        raise refuse(f"shape of tensor {name!r} must be a tuple of sizes, not {shape!r}")
    dimensions = range(len(shape)) if order is None else order
    if not isinstance(dimensions, range | tuple | list):
        raise refuse(f"order of tensor {name!r} must be a tuple of dimensions, not {shown(order)}")
    given = tuple(integer(f"order of tensor {name!r}", d) for d in dimensions)
    if sorted(given) != list(range(len(shape))):
        raise refuse(
            f"order of tensor {name!r} must name each of its {len(shape)} dimensions once, not {given}"
        )
    extents = tuple(size(f"an extent of tensor {name!r}", extent) for extent in shape)
    return document.Tensor(name, extents, str(_plain(f"dtype of tensor {name!r}", dtype)), given, role)


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
        name=text("name of a kernel", name),
        tensors=tuple(listed("tensors", tensors, document.Tensor, "GmemTensors")),
        parameters=tuple(
            (key, _plain(f"parameter {key!r}", value))
            for key, value in mapping("parameters", parameters).items()
        ),
        trip_counts=tuple(
            (key, size(f"symbol {key!r}", value)) for key, value in mapping("symbols", symbols).items()
        ),
        grid=size("grid", grid),
        reference=text("reference", reference),
        sizes=_sizes("sizes", sizes),
        small_sizes=_sizes("small_sizes", small_sizes),
    )


def _sizes(what: str, sizes: Mapping[str, int] | None) -> tuple[tuple[str, int], ...]:
    return tuple((name, integer(f"size {name!r}", value)) for name, value in mapping(what, sizes).items())


def _plain(what: str, value: Any) -> document.Value:
    try:
        return plain(value)
    except ValueError as error:
        raise refuse(f"{what}: {error}") from None
