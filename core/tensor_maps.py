"""Tensor maps that a schedule rewrites, in an execution: which updates a fence of the tensor map proxy has published.

A copy reads its descriptor through a proxy of its own: after an update, `fence.proxy.tensormap` stands before the first copy
that uses it, by the warp that issues the copy or on the way to it (PTX ISA, "fence.proxy.tensormap").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .document import Document, OpKind
from .program import Access, Event, in_cta
from .tree import ops_of

if TYPE_CHECKING:
    from .clocks import Execution
    from .incidents import Clock
    from .races import Pair, Record

SPACE = "tensormap"  # the space of descriptor "m" is "tensormap m"


def descriptors(document: Document) -> frozenset[str]:
    """The resources that some task rewrites as tensor maps."""
    ops = (op for task in document.tasks for op in ops_of(task))
    return frozenset(op.target for op in ops if op.kind is OpKind.TENSORMAP_UPDATE)


def descriptor(name: str, cta: int, write: bool) -> tuple[Access, ...]:
    """The access of a tensor map: each CTA has its own, in global memory."""
    return (Access(write, in_cta(f"{SPACE} {name}", cta), 0, 1, name, 0, cta),)


def is_descriptor(space: str) -> bool:
    """Whether a space is a tensor map's."""
    return space.partition(" ")[0] == SPACE


class TensorMaps:
    """The last update of each map, the fences since that know it done, and copies that lacked one (each pair once)."""

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        self.updates: dict[str, Record] = {}  # space -> its last update
        self.fences: dict[tuple[str, int], tuple[int, Clock]] = {}  # space, stream -> its first fence since
        self.missing: dict[tuple, Pair] = {}

    def updated(self, record: Record) -> None:
        """A write of a descriptor."""
        space = record.access.space
        self.updates[space] = record
        for key in [key for key in self.fences if key[0] == space]:
            del self.fences[key]

    def fence(self, w: int, j: int, e: Event) -> bool:
        """fence.proxy.tensormap of the maps ``e`` names (its accesses), or of all."""
        named = {a.space for a in e.accesses} or set(self.updates)
        base = self.execution.base[w]
        for space in named & set(self.updates):
            update = self.updates[space]
            if (space, w) not in self.fences and self.execution.races.finished(update, w, j, base):
                self.fences[space, w] = j, base
        return True

    def look(self, pair: Pair) -> None:
        """A copy that comes after an update."""
        x, y = pair
        for (space, w), (j, _) in self.fences.items():
            if space == x.access.space and (y.base[w] >= j or (w == y.stream and j < y.index)):
                return
        self.missing.setdefault((x.event.op, y.event.op, x.access.resource), pair)
