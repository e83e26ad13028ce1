"""Where allocators have put what resources allocate, as storage of the document.

A document lays memory out by itself; it takes over the places of an allocator where that matters: columns of tensor memory,
which are parts of one allocation, and shared memory of which some allocations of a resource share bytes with others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .. import document
from .errors import ScheduleError
from .memory import LayoutAllocator, SmemAllocator
from .resources import MemoryResource

Group = tuple[str, int]  # alias group, phase


def with_places(
    records: Sequence[document.Resource],
    owners: Mapping[str, MemoryResource],
    allocators: Sequence[LayoutAllocator[Any]],
) -> list[document.Resource]:
    """``records`` with alias groups, and with the places of allocators that have computed theirs. Raises ScheduleError."""
    groups = _groups(allocators)
    placed = {id(a): a.offset for x in allocators if _explicit(x, records, owners, groups) for a in _all(x)}
    changed = []
    for record in records:
        owner = owners.get(record.name)
        mine = [] if owner is None else [*owner.smem_allocations(), *owner.tmem_allocations()]
        hooks = owner is not None and not (
            owner.smem or owner.tmem
        )  # sizes are totals, as in Task Scheduling
        if record.storage and mine and hooks and all(id(a) in placed for a in mine):
            record = replace(record, storage=_placed(record.storage, [placed[id(a)] for a in mine]))
        found = {groups.get(id(a)) for a in mine} or {None}
        if len(found) > 1:
            if not (hooks and all(id(a) in placed for a in mine)):
                raise ScheduleError(
                    f"{owner.source}: only some allocations of {record.name!r} are in an alias group, or in different ones; "
                    "call compute_layout(), or make them resources of their own"
                )
        elif (group := next(iter(found))) and record.storage:
            record = replace(record, storage=replace(record.storage, alias=group[0], phase=group[1]))
        changed.append(record)
    return changed


def holds_places(
    allocator: LayoutAllocator[Any],
    records: Sequence[document.Resource],
    owners: Mapping[str, MemoryResource],
    allocators: Sequence[LayoutAllocator[Any]],
) -> bool:
    """Whether the document holds the places of ``allocator``."""
    return _explicit(allocator, records, owners, _groups(allocators))


def _groups(allocators: Sequence[LayoutAllocator[Any]]) -> dict[int, Group]:
    found: dict[int, Group] = {}
    for allocator in allocators:
        memory = "smem" if isinstance(allocator, SmemAllocator) else "tmem"
        for number, group in enumerate(allocator.alias_groups):
            found |= {id(a): (f"{memory}_alias_{number}", p) for p, phase in enumerate(group) for a in phase}
    return found


def _all(allocator: LayoutAllocator[Any]) -> list[Any]:
    grouped = [a for group in allocator.alias_groups for phase in group for a in phase]
    return list({id(a): a for a in (*allocator.allocations, *grouped)}.values())


def _explicit(
    allocator: LayoutAllocator[Any],
    records: Sequence[document.Resource],
    owners: Mapping[str, MemoryResource],
    groups: Mapping[int, Group],
) -> bool:
    if not allocator.computed:
        return False
    if allocator.fixed or not isinstance(allocator, SmemAllocator):
        return True
    owned = (owners[r.name].smem_allocations() for r in records if r.name in owners)
    return any(len({groups.get(id(a)) for a in mine}) > 1 for mine in owned)


def _placed(storage: document.Storage, offsets: list[int]) -> document.Storage:
    """``storage`` at ``offsets``, one for each of its allocations, whose stages follow each other there."""
    if len(offsets) == 1:
        return replace(storage, offset=offsets[0])
    parts = tuple(replace(p, place=o) for p, o in zip(storage.parts, offsets, strict=True))
    return replace(storage, parts=parts, offset=min(offsets))
