"""Allocations of shared and tensor memory, and the allocators that lay them out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ..limits import MAX_BYTES
from .errors import refuse
from .given import listed
from .given import name as checked_name
from .integers import integer

A = TypeVar("A", "SmemAllocation", "TmemAllocation")


@dataclass(eq=False)
class SmemAllocation:
    """``size_bytes`` of shared memory, or ``count`` elements of ``dtype`` (anything with a ``.width`` in bits)."""

    name: str
    size_bytes: int = 0
    alignment: int = 128
    dtype: Any = None
    count: int = 1
    offset: int = field(init=False, default=0)
    copies: int = field(init=False, default=1)  # stages, where the size is that of one stage

    def __post_init__(self) -> None:
        checked_name("name of an allocation", self.name)
        if self.dtype is not None and self.size_bytes == 0:
            count = integer(f"count of {self.name!r}", self.count, 0)
            self.size_bytes = count * int(self.dtype.width) // 8
        self.size_bytes = integer(f"size_bytes of {self.name!r}", self.size_bytes, 0, MAX_BYTES)
        self.alignment = integer(f"alignment of {self.name!r}", self.alignment, 1, MAX_BYTES)


@dataclass(eq=False)
class TmemAllocation:
    """``num_columns`` columns of tensor memory."""

    name: str
    num_columns: int
    offset: int = field(init=False, default=0)
    copies: int = field(init=False, default=1)
    owner: Any = field(init=False, default=None, repr=False)  # the resource that it is given to

    def __post_init__(self) -> None:
        checked_name("name of an allocation", self.name)
        self.num_columns = integer(f"num_columns of {self.name!r}", self.num_columns, 0, MAX_BYTES)


class LayoutAllocator(Generic[A]):
    """Collects allocations and groups of them that share bytes."""

    fixed = False  # whether a document holds the places even where it would find its own

    def __init__(self) -> None:
        self.allocations: list[A] = []
        self.alias_groups: list[list[list[A]]] = []
        self._total: int | None = None

    def _size(self, allocation: A) -> int:
        raise NotImplementedError

    def _alignment(self, allocation: A) -> int:
        raise NotImplementedError

    def _required_by(self, resource: Any) -> Sequence[A]:
        raise NotImplementedError

    def add(self, allocation: A) -> A:
        """Register one allocation; it shares its bytes with no other unless an alias group names it."""
        if not isinstance(allocation, SmemAllocation | TmemAllocation):
            raise refuse(f"add() takes an allocation, not {allocation!r:.60}")
        self.allocations.append(allocation)
        return allocation

    def add_resource(self, resource: Any) -> None:
        """Register what a resource allocates."""
        if not hasattr(type(resource), "smem_allocations"):
            raise refuse(f"add_resource() takes a resource, not {resource!r:.60}")
        for allocation in self._required_by(resource):
            self.add(allocation)

    def add_alias_group(self, phases: Sequence[Sequence[A]]) -> None:
        """Let ``phases`` (lists of allocations that are used at one time) start at the same place."""
        phases = listed("phases of an alias group", phases, (list, tuple), "lists of allocations")
        if len(phases) < 2:
            raise refuse("an alias group needs at least two phases")
        self.alias_groups.append([list(phase) for phase in phases])

    def compute_layout(self) -> None:
        """Give each allocation its ``offset``: larger alignments first, the phases of an alias group from one place."""
        blocks: list[tuple[int, Callable[[int], int]]] = []
        aliased = {id(a) for group in self.alias_groups for phase in group for a in phase}
        for allocation in self.allocations:
            if id(allocation) not in aliased:
                blocks.append((self._alignment(allocation), lambda base, a=allocation: self._row(base, [a])))
        for group in self.alias_groups:
            alignment = max(self._alignment(a) for phase in group for a in phase)
            blocks.append((alignment, lambda base, g=group: max(self._row(base, phase) for phase in g)))
        cursor = 0
        for alignment, place in sorted(blocks, key=lambda block: -block[0]):
            cursor = place(-(-cursor // alignment) * alignment)
        self._total = cursor

    def _row(self, base: int, allocations: Sequence[A]) -> int:
        for allocation in allocations:
            alignment = self._alignment(allocation)
            allocation.offset = -(-base // alignment) * alignment
            base = allocation.offset + self._size(allocation)
        return base

    @property
    def computed(self) -> bool:
        """Whether every allocation has its offset."""
        return self._total is not None

    def place(self, total: int) -> None:
        """Take the offsets that the allocations have as the layout; they end at ``total``."""
        self._total = total

    @property
    def total(self) -> int:
        """Bytes (columns) in all. Raises ScheduleError before `compute_layout`."""
        if self._total is None:
            raise refuse("call compute_layout() first")
        return self._total


class SmemAllocator(LayoutAllocator[SmemAllocation]):
    """Shared memory of a kernel; barriers are allocated by the pipelines themselves."""

    def _size(self, allocation: SmemAllocation) -> int:
        return allocation.size_bytes * allocation.copies

    def _alignment(self, allocation: SmemAllocation) -> int:
        return allocation.alignment

    def _required_by(self, resource: Any) -> Sequence[SmemAllocation]:
        return resource.smem_allocations()

    def add_pipeline_group(self, group: Any) -> None:
        """Nothing to register: the members' own pipelines allocate their barriers."""
        if not getattr(type(group), "is_pipeline_group", False):
            raise refuse(f"add_pipeline_group() takes a PipelineGroup, not {group!r:.60}")

    def add_tmem_ptr(self, allocation: SmemAllocation) -> SmemAllocation:
        """Register the word that receives the base address of tensor memory."""
        return self.add(allocation)

    @property
    def total_smem_bytes(self) -> int:
        """Bytes of data in all."""
        return self.total


class TmemAllocator(LayoutAllocator[TmemAllocation]):
    """Tensor memory of a kernel, in columns."""

    def _size(self, allocation: TmemAllocation) -> int:
        return allocation.num_columns * allocation.copies

    def _alignment(self, allocation: TmemAllocation) -> int:
        return 1

    def _required_by(self, resource: Any) -> Sequence[TmemAllocation]:
        return resource.tmem_allocations()

    @property
    def total_tmem_columns(self) -> int:
        """Columns in all."""
        return self.total
