"""WD602  tmem-capacity: tensor memory that cannot be allocated."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Resource, Space, Storage
from ..findings import Finding
from ..layout import layout, tmem_capacity
from .base import Hazard, error
from .examples import document

CODE, NAME = "WD602", "tmem-capacity"
LEAST = 32  # columns of one tcgen05.alloc (PTX ISA)


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
    for r in stored:
        for columns in _allocations(r):
            if columns < LEAST or columns & (columns - 1):
                yield _size(r, columns)


def _allocations(resource: Resource) -> Iterator[int]:
    """Columns of the resource's own allocations; what lies over or inside another one is allocated with that."""
    storage = resource.storage
    if storage is None or storage.alias or storage.offset is not None:
        return
    if storage.parts:
        yield from (part.bytes * storage.stages for part in storage.parts)
    else:
        yield storage.bytes * storage.stages


def _size(resource: Resource, columns: int) -> Finding:
    fits = LEAST
    while fits < columns:
        fits *= 2
    return error(
        CODE,
        NAME,
        f"{resource.name} takes {columns} columns; an allocation has a power of two, at least {LEAST}",
        resources=(resource.name,),
        expected=f"{fits} columns",
        actual=f"{columns} columns",
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
)
