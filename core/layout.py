"""Where each resource lies in shared memory (bytes) and tensor memory (columns)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .document import Document, OpKind, Resource, Space
from .occupancy import ctas_per_sm, smem_share
from .pipeline_groups import sharers
from .schedulers import RESPONSE_BYTES, has_slots
from .tree import ops_of

MBARRIER_BYTES = 8  # PTX ISA, mbarrier: a 64-bit object
ADDRESS_BYTES = (
    8  # for the 32-bit address that tcgen05.alloc writes to shared memory; as an mbarrier, to keep alignment
)
TMEM_CAPACITY = 512  # columns
LEAST_COLUMNS = 32  # of one tcgen05.alloc, which takes a power of two (PTX ISA)


@dataclass(frozen=True, slots=True)
class Layout:
    """First byte (column) of each stored resource, the bytes of the mbarriers in front of them, and the totals.

    ``addresses``: by the target of each allocation of tensor memory ("" for all of it), the byte that its address is
    written to; ``responses``: by dynamic queue, the first byte of its slots."""

    offsets: dict[str, int]
    barrier_bytes: int
    smem_bytes: int
    tmem_columns: int
    addresses: dict[str, int] = field(default_factory=dict)
    responses: dict[str, int] = field(default_factory=dict)


def smem_capacity(document: Document) -> int:
    """Bytes of shared memory that a CTA may use: its share of the target's, or the lower limit that the document sets."""
    share = smem_share(document)
    return share if document.smem_capacity is None else min(share, document.smem_capacity)


def tmem_capacity(document: Document) -> int:
    """Columns of tensor memory that a CTA may use, by the same rule."""
    share = TMEM_CAPACITY // ctas_per_sm(document)
    return share if document.tmem_capacity is None else min(share, document.tmem_capacity)


def layout(document: Document) -> Layout:
    """Mbarriers first, then addresses of tensor memory and responses to dynamic queues, then resources in document order,
    each aligned; the phases of an alias group overlap."""
    barriers = sum(
        r.pipeline.stages
        for r in document.resources
        for side in (("full", "empty") if r.pipeline else ())
        if sharers(document, r, side)[0] is r
    )
    barriers += sum(m.stages for m in document.mbarriers)
    offsets: dict[str, int] = {}
    front = barriers * MBARRIER_BYTES
    addresses = {target: front + ADDRESS_BYTES * i for i, target in enumerate(_allocations(document))}
    end, responses = front + ADDRESS_BYTES * len(addresses), {}
    for resource in document.resources:
        if has_slots(resource) and resource.storage is None:
            responses[resource.name] = _align(end, RESPONSE_BYTES)
            end = responses[resource.name] + RESPONSE_BYTES * resource.pipeline.stages
    smem = _place(document, Space.SMEM, end, offsets)
    tmem = _place(document, Space.TMEM, 0, offsets)
    return Layout(offsets, front, smem, tmem, addresses, responses)


def _allocations(document: Document) -> list[str]:
    """What the schedule allocates of tensor memory, each once."""
    ops = (op for task in document.tasks for op in ops_of(task))
    return list(dict.fromkeys(op.target for op in ops if op.kind is OpKind.TMEM_ALLOC))


def _place(document: Document, space: Space, base: int, offsets: dict[str, int]) -> int:
    stored = [r for r in document.resources if r.storage and r.space is space]
    cursor, end = base, base
    done: set[str] = set()
    for resource in stored:
        group = resource.storage.alias
        if group in done:
            continue
        if not group:
            cursor = _one(resource, cursor, space, offsets)
        else:
            done.add(group)
            members = [r for r in stored if r.storage.alias == group]
            start = (
                _align(cursor, max(r.storage.alignment for r in members)) if space is Space.SMEM else cursor
            )
            ends = []
            for phase in sorted({r.storage.phase for r in members}):
                at = start
                for member in members:
                    if member.storage.phase == phase:
                        at = _one(member, at, space, offsets)
                ends.append(at)
            cursor = max(ends)
        end = max(end, cursor)
    fixed = [_end(r, offsets) for r in stored if r.storage.offset is not None]
    room = base if any(r.storage.offset is not None and r.storage.offset < base for r in stored) else 0
    return max([end, *(at + room for at in fixed)])


def _end(resource: Resource, offsets: dict[str, int]) -> int:
    storage = resource.storage
    apart = [p.place + p.bytes * storage.stages for p in storage.parts if p.place is not None]
    return max([offsets[resource.name] + _size(resource)] if not apart else apart)


def pieces(resource: Resource, stage: int, low: int, high: int) -> Iterator[tuple[int, int]]:
    """Where bytes [low, high) of a stage lie whose parts have places of their own."""
    for part in (p for p in resource.storage.parts if p.place is not None):
        start, stop = max(low, part.offset), min(high, part.offset + part.bytes)
        if start < stop:
            base = part.place + stage * part.bytes - part.offset
            yield base + start, base + stop


def _one(resource: Resource, cursor: int, space: Space, offsets: dict[str, int]) -> int:
    storage = resource.storage
    if storage.offset is not None:  # a fixed place does not move what follows
        offsets[resource.name] = storage.offset
        return cursor
    start = _align(cursor, storage.alignment) if space is Space.SMEM else cursor
    offsets[resource.name] = start
    return start + _size(resource)


def _size(resource: Resource) -> int:
    return resource.storage.bytes * resource.storage.stages


def _align(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment if alignment > 0 else value
