"""Places of a document as layouts that Task Scheduling's allocators compute.

They are told an order and which allocations take turns, and find the places by themselves: larger alignments first, then in
order, groups behind what stands alone; the phases of a group start at one place. So a document that holds places is asked
which order and which groups give them.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

from warpdraft.core.document import Document, Resource, Space, Storage
from warpdraft.core.schedulers import has_slots

MEMORIES = {Space.SMEM: "smem", Space.TMEM: "tmem"}


@dataclass(frozen=True, slots=True)
class Piece:
    """Allocation ``index`` of a resource: ``size`` bytes (columns) at ``offset``."""

    resource: str
    index: int
    size: int
    alignment: int
    offset: int

    @property
    def end(self) -> int:
        """Behind its last byte."""
        return self.offset + self.size


Group = tuple[tuple[Piece, ...], ...]  # of phases


@dataclass(frozen=True, slots=True)
class Plan:
    """The resources in the order in which an allocator is told of them, and what takes turns."""

    order: tuple[str, ...]
    groups: tuple[Group, ...] = ()

    def turn_of(self, resource: str, count: int) -> tuple[int, int] | None:
        """The group and phase that hold all ``count`` allocations of ``resource``; None where no single one does."""
        for number, group in enumerate(self.groups):
            for phase, pieces in enumerate(group):
                if sum(p.resource == resource for p in pieces) == count:
                    return number, phase
        return None


def plans(document: Document) -> dict[Space, Plan]:
    """The plan of each memory whose allocations all have places in ``document``, if there is one."""
    found = {space: _plan(document, space) for space in MEMORIES}
    return {space: plan for space, plan in found.items() if plan is not None}


def stored_in(document: Document, space: Space) -> list[Resource]:
    """The resources whose storage an allocator of ``space`` is told of."""
    return [
        r
        for r in document.resources
        if r.storage
        and (r.space is space or (space is Space.SMEM and r.space is Space.QUEUE and has_slots(r)))
    ]


def is_apart(storage: Storage) -> bool:
    """Whether its parts lie in places of their own."""
    return any(p.place is not None for p in storage.parts)


def is_ranged(resource: Resource) -> bool:
    """Whether a resource of a planned memory says itself where it lies: one that takes turns with none by name."""
    return resource.space in MEMORIES and not is_apart(resource.storage) and not resource.storage.alias


def with_turns(document: Document, found: dict[Space, Plan], apart: Container[str]) -> Document:
    """``document`` with the alias groups that an import reads from these plans; those in ``apart`` have none."""

    def turned(resource: Resource) -> Resource:
        plan = found.get(resource.space)
        if plan is None or resource.storage is None:
            return resource
        count = len(list(_pieces(resource)))
        turn = None if resource.name in apart else plan.turn_of(resource.name, count)
        group, phase = turn or (None, 0)
        alias = "" if group is None else f"{MEMORIES[resource.space]}_alias_{group}"
        return replace(resource, storage=replace(resource.storage, alias=alias, phase=phase))

    return replace(document, resources=tuple(map(turned, document.resources)))


def _plan(document: Document, space: Space) -> Plan | None:
    stored = stored_in(document, space)
    pieces = [p for r in stored for p in _pieces(r)]
    if not pieces or len({p.resource for p in pieces}) < len(stored):
        return None
    late = [r.name for r in stored if r.space is Space.QUEUE]
    said = [*(r.name for r in stored if r.name not in late), *late]
    sorted_ = list(dict.fromkeys(p.resource for p in sorted(pieces, key=lambda p: p.offset)))
    ranged = {r.name for r in stored if is_ranged(r)}
    for groups, free in _groupings(pieces, ranged):
        for order in (said, sorted_):
            found = _layout(order, pieces, groups)
            if all(found[p] == p.offset for p in pieces if p not in free):
                return Plan(tuple(order), groups)
    return None


def _pieces(resource: Resource) -> Iterator[Piece]:
    """The allocations of ``resource``; none where its places are not all known."""
    storage = resource.storage
    alignment = storage.alignment if resource.space is not Space.TMEM else 1
    if is_apart(storage):
        for i, part in enumerate(storage.parts):
            if part.place is not None:
                yield Piece(resource.name, i, part.bytes * storage.stages, alignment, part.place)
    elif storage.offset is not None and len(storage.parts) < 2:
        yield Piece(resource.name, 0, storage.bytes * storage.stages, alignment, storage.offset)


def _groupings(
    pieces: Sequence[Piece], ranged: Container[str]
) -> Iterator[tuple[tuple[Group, ...], frozenset[Piece]]]:
    """Groups of the allocations that share bytes: alone, with those of the same resources that follow directly, and with
    what lies across others at a place that it says itself (the second of the pair) anywhere among them."""
    components = list(_overlapping(pieces))
    yield tuple(map(_phases, components)), frozenset()
    taken = {p for several in components for p in several}
    groups = []
    for several in components:
        alone = [p for p in pieces if p not in taken]
        groups.append(tuple(_followed(phase, alone) for phase in _phases(several)))
        taken |= {p for phase in groups[-1] for p in phase}
    yield tuple(groups), frozenset()
    across = frozenset(p for several in components for p in several if p.resource in ranged)
    groups = []
    for several in components:
        rows = _phases([p for p in several if p not in across])
        groups.append((*rows, *((p,) for p in several if p in across)))
    yield tuple(groups), across


def _overlapping(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """The allocations that share bytes with each other, directly or through others, from the lowest on."""
    run: list[Piece] = []
    for piece in sorted(pieces, key=lambda p: (p.offset, -p.size)):
        if run and piece.offset >= max(p.end for p in run):
            if len(run) > 1:
                yield run
            run = []
        run.append(piece)
    if len(run) > 1:
        yield run


def _phases(several: Sequence[Piece]) -> Group:
    """Rows of allocations, each behind the one before."""
    rows: list[list[Piece]] = []
    for piece in several:
        row = next((r for r in rows if _aligned(r[-1].end, piece.alignment) == piece.offset), None)
        if row is None:
            rows.append([piece])
        else:
            row.append(piece)
    return tuple(map(tuple, rows))


def _followed(phase: tuple[Piece, ...], alone: Sequence[Piece]) -> tuple[Piece, ...]:
    """``phase`` with what follows directly and belongs to one of its resources."""
    owners = {p.resource for p in phase}
    for piece in sorted(alone, key=lambda p: p.offset):
        if piece.resource in owners and _aligned(phase[-1].end, piece.alignment) == piece.offset:
            phase = (*phase, piece)
    return phase


def _layout(order: Sequence[str], pieces: Sequence[Piece], groups: Sequence[Group]) -> dict[Piece, int]:
    """Where an allocator puts everything (Task Scheduling 4.8.1, `compute_layout`)."""
    grouped = {p for group in groups for phase in group for p in phase}
    blocks: list[tuple[int, Group]] = []
    for name in order:
        blocks += [(p.alignment, ((p,),)) for p in pieces if p.resource == name and p not in grouped]
    blocks += [(max(p.alignment for phase in g for p in phase), g) for g in groups]
    places, cursor = {}, 0
    for alignment, phases in sorted(blocks, key=lambda b: -b[0]):
        base = end = _aligned(cursor, alignment)
        for phase in phases:
            at = base
            for p in phase:
                places[p] = at = _aligned(at, p.alignment)
                at += p.size
            end = max(end, at)
        cursor = end
    return places


def _aligned(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment
