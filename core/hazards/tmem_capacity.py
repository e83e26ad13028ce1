"""WD602  tmem-capacity: tensor memory that cannot be allocated."""

from __future__ import annotations

from collections.abc import Iterator

from ..allocations import allocated, columns, lifetime_ops
from ..document import Document, OpKind, Resource, Space, Storage
from ..findings import Finding, Fix
from ..layout import LEAST_COLUMNS, layout, tmem_capacity
from ..tree import find_resource
from .base import Hazard, error
from .examples import document
from .shrinking import fewer_stages

CODE, NAME = "WD602", "tmem-capacity"


def check(document: Document) -> Iterator[Finding]:
    """The total of columns, and the size of each allocation."""
    stored = [r for r in document.resources if r.storage and r.space is Space.TMEM]
    used, capacity = layout(document).tmem_columns, tmem_capacity(document)
    if used > capacity:
        yield error(
            CODE,
            NAME,
            f"{used} columns of tensor memory do not fit into {capacity}",
            resources=tuple(r.name for r in stored),
            expected=f"at most {capacity} columns",
            actual=f"{used} columns",
            notes=tuple(
                f"{r.name}: {r.storage.stages} x {r.storage.bytes} columns" for r in stored if r.storage
            ),
        )
    mine = allocated(document)
    for r in stored:
        for size in _allocations(r) if r.name not in mine else ():
            if _odd(size):
                yield _size(r.name, size)
    yield from _stated(document, capacity)


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """As many stages of a pipeline as fit."""
    return fewer_stages(document, finding, check)


def _odd(size: int) -> bool:
    return size < LEAST_COLUMNS or bool(size & (size - 1))


def _stated(document: Document, capacity: int) -> Iterator[Finding]:
    """The allocations that the schedule states: the size of each, and of all together."""
    sizes: dict[str, int] = {}
    for o in lifetime_ops(document):
        if o.kind is OpKind.TMEM_ALLOC:
            size = columns(document, find_resource(document, o.target), o)
            sizes[o.target] = max(size, sizes.get(o.target, 0))
            if _odd(size):
                yield _size(o.target or o.id, size, (o.id,))
    if sum(sizes.values()) > capacity:
        yield error(
            CODE,
            NAME,
            f"{sum(sizes.values())} columns of tensor memory are allocated, and there are {capacity}",
            resources=tuple(name for name in sizes if name),
            expected=f"at most {capacity} columns",
            actual=f"{sum(sizes.values())} columns",
            notes=tuple(f"{name or 'without a resource'}: {size} columns" for name, size in sizes.items()),
        )


def _allocations(resource: Resource) -> Iterator[int]:
    """Columns of the resource's own allocations; what lies over or inside another one is allocated with that. Columns
    without a name are a part of what the kernel allocates for all."""
    storage = resource.storage
    if storage is None or storage.alias or storage.offset is not None:
        return
    yield from (part.bytes * storage.stages for part in storage.parts)


def _size(name: str, size: int, ops: tuple[str, ...] = ()) -> Finding:
    fits = LEAST_COLUMNS
    while fits < size:
        fits *= 2
    return error(
        CODE,
        NAME,
        f"{name} takes {size} columns; an allocation has a power of two, at least {LEAST_COLUMNS}",
        ops=ops,
        resources=() if ops else (name,),
        expected=f"{fits} columns",
        actual=f"{size} columns",
    )


def _columns(*sizes: int):
    resources = tuple(
        Resource(f"acc{i}", Space.TMEM, storage=Storage(columns)) for i, columns in enumerate(sizes)
    )
    return document(f"{sum(sizes)} columns", resources=resources, symbols=())


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="At most 512 columns of tensor memory; each allocation a power of two, 32 or more.",
    why="tcgen05.alloc blocks until the columns are free: for ever, if there are not so many.",
    bad=_columns(512, 64),
    good=_columns(256, 64),
    check=check,
    repair=repair,
)
