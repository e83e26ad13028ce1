"""Allocators as source for Task Scheduling: what they are told of, in which order, and what takes turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from warpdraft.core.document import Document, Resource, Space
from warpdraft.core.python_text import Imports, Lines, literal

from .places import MEMORIES, Piece, Plan, stored_in
from .stated import is_loose

KINDS = {Space.SMEM: "SmemAllocator", Space.TMEM: "TmemAllocator"}


def write_allocators(
    lines: Lines,
    imports: Imports,
    document: Document,
    objects: Mapping[str, str],
    plans: Mapping[Space, Plan],
) -> None:
    """The allocators of ``document``; ``objects``: the variables of its resources and groups."""
    for space in MEMORIES:
        if stored_in(document, space):
            _Allocator(lines, imports, document, objects, space, plans.get(space)).write()


@dataclass
class _Allocator:
    lines: Lines
    imports: Imports
    document: Document
    objects: Mapping[str, str]
    space: Space
    plan: Plan | None

    def write(self) -> None:
        """All of it."""
        word = MEMORIES[self.space]
        self.lines.add(f"{word} = {self.imports(KINDS[self.space])}()")
        for resource in self.told():
            self.add(word, resource)
        if self.space is Space.SMEM:
            for group in self.document.pipeline_groups:
                self.lines.add(f"{word}.add_pipeline_group({self.objects[group.name]})")
        for phases in self.turns():
            self.lines.add_call(f"{word}.add_alias_group", [f"[{', '.join(phases)}]"])
        self.lines.add(f"{word}.compute_layout()")

    def told(self) -> list[Resource]:
        """The resources that it is told of, in order: those with storage, and for their barriers those with a pipeline."""
        stored = stored_in(self.document, self.space)
        piped = [r for r in self.document.resources if r.pipeline is not None and self.space is Space.SMEM]
        every = [r for r in self.document.resources if r in stored or r in piped]
        if self.plan is None:
            return sorted(every, key=lambda r: r in stored and r.space is Space.QUEUE)
        place = {name: i for i, name in enumerate(self.plan.order)}
        return sorted(every, key=lambda r: place.get(r.name, len(place)))

    def add(self, word: str, resource: Resource) -> None:
        """One resource, one allocation that no resource owns, or a queue with the slots of its responses."""
        if is_loose(self.document, resource):
            self.lines.add(f"{word}.add({self.objects[resource.name]})")
            return
        self.lines.add(f"{word}.add_resource({self.objects[resource.name]})")
        if resource.space is Space.QUEUE and resource.storage is not None:
            name, storage = literal(f"{resource.name}_responses"), resource.storage
            size, alignment = storage.bytes * storage.stages, storage.alignment
            made = f"{self.imports('SmemAllocation')}({name}, size_bytes={size}, alignment={alignment})"
            self.lines.add_call(f"{word}.add", [made])

    def turns(self) -> Iterator[list[str]]:
        """The phases of each alias group."""
        if self.plan is not None:
            yield from ([self.phase(phase) for phase in group] for group in self.plan.groups)
            return
        stored = [r for r in self.document.resources if r.storage and r.space is self.space]
        for alias in dict.fromkeys(r.storage.alias for r in stored if r.storage.alias):
            members = [r for r in stored if r.storage.alias == alias]
            yield [
                f"[{', '.join(self.all_of(m) for m in members if m.storage.phase == p)}]"
                for p in sorted({m.storage.phase for m in members})
            ]

    def all_of(self, resource: Resource) -> str:
        """Every allocation of ``resource``."""
        name = self.objects[resource.name]
        return name if is_loose(self.document, resource) else f"*{name}.allocations"

    def phase(self, pieces: Sequence[Piece]) -> str:
        """A list of allocations."""
        by_name = {r.name: r for r in self.document.resources}
        found = []
        for piece in pieces:
            name = self.objects[piece.resource]
            loose = is_loose(self.document, by_name[piece.resource])
            found.append(name if loose else f"{name}.allocations[{piece.index}]")
        return f"[{', '.join(found)}]"
