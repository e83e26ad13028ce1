"""Who holds which columns of tensor memory, in an execution: allocation, use, and freeing.

Only columns that the schedule allocates itself are looked at (`allocated`); others are taken to be there. PTX ISA,
"tcgen05.alloc, dealloc, relinquish_alloc_permit": an allocation is made by one warp, its address is handed on through
memory, all of it is freed before the kernel ends, and none is made after the permit was given up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .document import Document, Op, OpKind, Resource, Space
from .layout import LEAST_COLUMNS, layout
from .program import Access, Event, in_cta
from .tensor_memory import QUARTERS, part_of
from .tree import made_once, ops_of

if TYPE_CHECKING:
    from .clocks import Execution
    from .races import Record

ALLOCATES = (OpKind.TMEM_ALLOC, OpKind.TMEM_DEALLOC)
LIFETIME = (*ALLOCATES, OpKind.TMEM_RELINQUISH)
POOL = "tmem"  # the space of placed columns
NOWHERE = Access(False, "", 0, 0, "", 0)


def lifetime_ops(document: Document) -> list[Op]:
    """The ops that allocate and free."""
    return [op for task in document.tasks for op in ops_of(task) if op.kind in LIFETIME]


def cta_group(op: Op) -> int:
    """How many CTAs an op is for: 1, or the 2 of a pair."""
    value = dict(op.args).get("cta_group", 1)
    return value if isinstance(value, int) else 1


def columns(document: Document, resource: Resource | None, op: Op) -> int:
    """The columns of an allocation: as given, else as many as it needs, rounded up to what can be allocated."""
    if op.count is not None:
        return op.count
    needed = layout(document).tmem_columns if resource is None else held(resource)
    fits = LEAST_COLUMNS
    while fits < needed:
        fits *= 2
    return fits


def held(resource: Resource) -> int:
    """Columns that all stages of a resource take."""
    return resource.storage.bytes * resource.storage.stages if resource.storage else 0


def places(document: Document, op: Op) -> list[tuple[str, int, int]]:
    """The columns [low, high) that an allocation covers, each with its space: its resource's own, or, without one, the
    first columns of tensor memory and whatever has no place."""
    found = [r for r in document.resources if r.space is Space.TMEM]
    if op.target:
        resource = next((r for r in found if r.name == op.target), None)
        if resource is None:
            return []
        given = op.count if op.count is not None else 1 << 30
        if resource.storage is None:
            return [(resource.name, 0, 1 << 30)]
        low = layout(document).offsets[resource.name]
        return [(POOL, low, low + min(given, held(resource)))]
    end = columns(document, None, op)
    return [(POOL, 0, end), *((r.name, 0, 1 << 30) for r in found if r.storage is None)]


def column_accesses(document: Document, op: Op, cta: int, lanes: bool) -> tuple[Access, ...]:
    """The same as accesses in CTA ``cta``, by quarter of the lanes where they are told apart."""
    if op.kind is OpKind.TMEM_RELINQUISH:
        return ()
    parts = range(QUARTERS) if lanes else (-1,)
    return tuple(
        Access(True, in_cta(part_of(space, number), cta), low, high, "", 0, cta)
        for space, low, high in places(document, op)
        for number in parts
    )


@made_once
def allocated(document: Document) -> frozenset[str]:
    """The resources whose columns the schedule allocates itself: those that it names and what lies over them, or all
    where it allocates without a name."""
    stated = [op for op in lifetime_ops(document) if op.kind in ALLOCATES]
    if not stated:
        return frozenset()
    if not all(op.target for op in stated):
        return frozenset(r.name for r in document.resources if r.space is Space.TMEM)
    offsets = layout(document).offsets
    ranges = [place for op in stated for place in places(document, op)]

    def touched(resource: Resource) -> bool:
        if resource.storage is None:
            return any(space == resource.name for space, _, _ in ranges)
        low = offsets[resource.name]
        return any(space == POOL and a < low + held(resource) and low < b for space, a, b in ranges)

    return frozenset(r.name for r in document.resources if r.space is Space.TMEM and touched(r))


class Misuse(NamedTuple):
    """``record`` meets columns in a state that it must not: "missing" (nobody has allocated them), "freed", "unpublished"
    (their allocation, ``other``, may come later), "taken" (they are allocated), "used" (``other`` may still use them),
    "relinquished" (the permit may be given up already), "left" (never freed), "unpaired" (the other CTA of the pair may not
    have allocated yet)."""

    kind: str
    record: Record
    other: Record | None = None


class Allocations:
    """The state of every segment, and what went wrong (each pair of ops once)."""

    def __init__(self, watched: frozenset[str], execution: Execution) -> None:
        self.watched, self.execution = watched, execution
        self.live: dict[int, Record] = {}  # segment -> its allocation
        self.freed: dict[int, Record] = {}  # segment -> what freed it last
        self.last: dict[int, Record] = {}  # stream -> its last allocation
        self.relinquished: dict[int, Record] = {}  # CTA -> what gave its permit up first
        self.found: dict[tuple[str, str, str], Misuse] = {}

    # -- accesses -----------------------------------------------------------------------------------------------------
    def use(self, record: Record, segments: tuple[int, ...]) -> None:
        """An access of watched columns."""
        for segment in segments:
            allocation = self.live.get(segment)
            if allocation is None:
                freed = self.freed.get(segment)
                self._note("freed" if freed else "missing", record, freed)
            elif not self._before(allocation, record):
                self._note("unpublished", record, allocation)

    # -- events -------------------------------------------------------------------------------------------------------
    def alloc(self, w: int, j: int, e: Event) -> bool:
        for record, segments in self._records(w, j, e):
            if (given_up := self.relinquished.get(self._cta(w))) is not None:
                self._note("relinquished", record, given_up)
            for segment in segments:
                freed = self.freed.pop(segment, None)
                if segment in self.live:
                    self._note("taken", record, self.live[segment])
                elif freed is not None and not self._before(freed, record):
                    self._note("used", record, freed)
                self.live[segment] = record
            self.last[w] = record
        return True

    def dealloc(self, w: int, j: int, e: Event) -> bool:
        races = self.execution.races
        for record, segments in self._records(w, j, e):
            for segment in segments:
                allocation = self.live.pop(segment, None)
                if allocation is None:
                    freed = self.freed.get(segment)
                    self._note("freed" if freed else "missing", record, freed)
                    continue
                if not self._before(allocation, record):
                    self._note("unpublished", record, allocation)
                last = races.write[segment]
                for access in (*([last] if last else []), *races.reads[segment].values()):
                    if not self._before(access, record):
                        self._note("used", record, access)
                self.freed[segment] = record
        if e.number == 2:
            self._check_pair(w, self._record(w, j, e))
        return True

    def _check_pair(self, w: int, record: Record) -> None:
        """A pair frees together: this CTA must know that the other one has allocated. CTAs that never meet are looked at
        alone, and know nothing of each other."""
        streams = self.execution.program.streams
        theirs = [x for u, x in self.last.items() if streams[u].cta == streams[w].cta ^ 1]
        if not any(self._before(x, record) for x in theirs):
            self._note("unpaired", record, theirs[0] if theirs else None)

    def relinquish(self, w: int, j: int, e: Event) -> bool:
        record = self._record(w, j, e)
        for u, allocation in self.last.items():
            if self._cta(u) == self._cta(w) and not self._before(allocation, record):
                self._note("relinquished", allocation, record)
        self.relinquished.setdefault(self._cta(w), record)
        return True

    def finish(self) -> None:
        """The execution has ended: nothing may be left."""
        if self.execution.blocked or self.execution.stopped:
            return
        for record in self.live.values():
            self._note("left", record, None)

    def _cta(self, w: int) -> int:
        return self.execution.program.streams[w].cta

    # -- helpers ------------------------------------------------------------------------------------------------------
    def _record(self, w: int, j: int, e: Event) -> Record:
        from .races import SYNC, Record

        access = e.accesses[0] if e.accesses else NOWHERE
        return Record(w, j, SYNC, 0, self.execution.base[w], e, access)

    def _records(self, w: int, j: int, e: Event):
        record = self._record(w, j, e)
        for access, segments, _ in self.execution.races.plans.get(id(e.accesses), ()):
            yield record._replace(access=access), segments

    def _before(self, x: Record, y: Record) -> bool:
        return self.execution.races.finished(x, y.stream, y.index, y.base)

    def _note(self, kind: str, record: Record, other: Record | None) -> None:
        key = kind, record.event.op, other.event.op if other else ""
        self.found.setdefault(key, Misuse(kind, record, other))
