"""Where Task Scheduling has put each allocation, and what resources say of the memory that they occupy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from warpdraft.core.document import Document, Resource, Space, Storage
from warpdraft.core.layout import layout, smem_capacity
from warpdraft.core.schedulers import CLC, RESPONSE_BYTES

from .resources import Resources

SPACES = {"smem": Space.SMEM, "shared": Space.SMEM, "tmem": Space.TMEM}


def places(document: Document, resources: Resources) -> tuple[Document, list[str]]:
    """``document`` with the places that its layout would not choose anyway, and what of them cannot be represented."""
    gaps: list[str] = []
    declared = {resources[t].name: found for t in resources.theirs if (found := _ranges(t))}
    records = tuple(
        _declared(r, declared[r.name], gaps) if r.name in declared else r for r in document.resources
    )
    return replace(document, resources=records), gaps


def declares_places(resources: Resources) -> bool:
    """Whether some resource says where in shared memory it lies: then all places count."""
    return any(SPACES.get(space) is Space.SMEM for t in resources.theirs for space, _, _ in _ranges(t))


def response_of(queue: Any, manager: Any) -> Any:
    """The allocation that holds the responses to a dynamic queue: the only one of their size that no resource owns. None
    where Task Scheduling is not told of it."""
    allocator, config = manager._smem_allocator, queue.pipeline_config
    if allocator is None or config is None or config.pipeline_type.value != CLC:
        return None
    owned = {id(a) for r in manager.resources for a in r.get_smem_requirements()}
    loose = [a for a in allocator._allocations if id(a) not in owned and a.alignment >= RESPONSE_BYTES]
    found = [a for a in loose if int(a.size_bytes) == RESPONSE_BYTES * int(config.num_stages)]
    return found[0] if len(found) == 1 else None


def needs_their_places(document: Document, allocator: Any) -> bool:
    """Whether a layout of our own does not fit, and that of ``allocator``, which the kernel has, may."""
    if allocator is None or not allocator._layout_computed:
        return False
    return layout(document).smem_bytes > smem_capacity(document) >= int(allocator.total_smem_bytes)


def _ranges(theirs: Any) -> list[tuple[str, int, int]]:
    """What the resource says it occupies: (space, first, end), in bytes or columns."""
    return [(str(space).lower(), int(low), int(high)) for space, low, high in theirs.physical_ranges()]


def _declared(record: Resource, ranges: list[tuple[str, int, int]], gaps: list[str]) -> Resource:
    """``record`` at the place that its ``physical_ranges`` name."""
    (space, low, high), *more = sorted(ranges, key=lambda r: r[1:])
    for other, first, end in more:
        if other != space or first > high:
            gaps.append(f"{record.name} occupies several ranges of memory")
            return record
        high = max(high, end)
    known = SPACES.get(space)
    if known is None:
        gaps.append(f"{record.name} occupies {space!r}, which is no memory that is known")
        return record
    stages = record.pipeline.stages if record.pipeline else record.storage.stages if record.storage else 1
    if (high - low) % stages:
        gaps.append(
            f"{record.name} occupies {high - low} of {space}, which {stages} stages cannot share equally"
        )
        return record
    size = (high - low) // stages
    storage = record.storage or Storage(size, stages, 1)
    if storage.bytes != size:
        storage = replace(storage, bytes=size, parts=())
    return replace(
        record, space=known, storage=replace(storage, stages=stages, offset=low, alias="", phase=0)
    )
