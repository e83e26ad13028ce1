"""The race pass: for each byte segment the last write and the reads since, checked as the execution goes.

Exact for existence: until the first race the writes of a segment are totally ordered, so older accesses are covered
transitively (FastTrack, PLDI 2009). A synchronous access ends with its event; an asynchronous one when its barrier's phase
or group is known complete. The same pass sees missing proxy fences: a generic access of shared memory and a later one
through the async proxy need a fence.proxy.async by whoever made the first, after it (PTX ISA, "Proxies"). And it sees reads
that find nothing, or the bytes of another use of the stage than the one that their wait is for (I2).
"""

from __future__ import annotations

from bisect import bisect_right
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from .async_arrivals import covering, ended, told
from .document import Engine
from .program import Access, Event, Program
from .tensor_core import in_order

if TYPE_CHECKING:
    from .clocks import Execution
    from .fencing import Judged
    from .incidents import Clock, Note

# Instead of a clock component: done with the event, never known, or by an arrival that the engine makes (one for each
# engine, since the last read by one says nothing of the order of the others).
SYNC, NEVER = -1, -2
ARRIVING = {Engine.TCGEN05: -3, Engine.TCGEN05_CP: -4, Engine.TCGEN05_SHIFT: -5, Engine.CP_ASYNC: -6}
BY_ARRIVAL = frozenset(ARRIVING.values())
GENERIC = (None, Engine.WARP, Engine.CP_ASYNC)  # engines of the generic proxy


class Record(NamedTuple):
    """One access: event ``index`` (1-based) of ``stream``, done when clock component ``component`` has reached ``value``."""

    stream: int
    index: int
    component: int
    value: int
    base: Clock
    event: Event
    access: Access


RECORD = partial(tuple.__new__, Record)  # of all its fields, as they are made by the thousand


class Pair(NamedTuple):
    """Two accesses that are unordered (a race) or ordered without the proxy fence between them."""

    first: Record
    second: Record


class Misread(NamedTuple):
    """A read of bytes [low, high) that nobody has written (``last`` None; ``partly``: others that it reads have been), or
    that were written for use ``found`` of the stage and not for ``meant``."""

    read: Record
    low: int
    high: int
    last: Record | None
    partly: bool
    found: int
    meant: int


class Races:
    """The state of every segment, the races found, the fences missed and the reads that find something else than meant
    (each pair of ops once)."""

    def __init__(self, program: Program, judged: Judged, execution: Execution) -> None:
        self.execution, self.proxied, self.outside = execution, judged.proxied, judged.outside
        self.held, self.maps = judged.allocated, judged.descriptors
        self.tensor = judged.tensor if judged.after or judged.before else frozenset()
        self.found: dict[tuple, Pair] = {}
        self.unfenced: dict[tuple, Pair] = {}
        self.misread: dict[tuple, Misread] = {}
        self.plans: dict[int, list[tuple[Access, tuple[int, ...], int]]] = {}
        distinct = {
            id(e.accesses): (e.accesses, s.cta) for s in program.streams for e in s.events if e.accesses
        }
        self.pieces, self.bounds = _segments({a[1:4] for accesses, _ in distinct.values() for a in accesses})
        count = len(self.bounds)
        self.gates = {
            (n, b.side, b.stage, b.cta): i for i, b in enumerate(program.barriers) for n in b.pipelines
        }
        self.planned: list[tuple[Access, ...]] = []  # kept alive: plans go by identity
        # by segment, the (resource, stage, CTA, space) that it is part of; and the other way round
        self.owners: list[set[tuple[str, int, int, str]]] = [set() for _ in self.bounds]
        self.places: dict[tuple[str, int, int], int] = {}
        for accesses, cta in distinct.values():
            self.plan(accesses, cta)
        self.write: list[Record | None] = [None] * count
        self.use: list[int | None] = [
            None
        ] * count  # for which use of its stage the last write was; None: unknown
        self.reads: list[dict[tuple[int, int], Record]] = [{} for _ in range(count)]
        self.copying: set[int] = set()  # streams with arrivals that speak for their cp.async copies alone
        # segments where the use of one stage was held against that of another, which lies over it, in any execution that
        # branches off; and those where states were compared (`core.subsumption`) as if that were never done
        self.crossed: set[int] = set()
        self.apart: set[int] = set()

    def plan(self, accesses: tuple[Access, ...], cta: int) -> bool:
        """Looks up the segments of ``accesses`` by CTA ``cta``; whether all are known."""
        if any(a[1:4] not in self.pieces for a in accesses):
            return False
        # the barrier whose wait opens the stage for this access: its phase tells which use of the stage is meant
        sides = [(a, "empty" if a.write else "full") for a in accesses]
        plan = [(a, self.pieces[a[1:4]], self.gates.get((a.resource, s, a.stage, cta), -1)) for a, s in sides]
        self.plans[id(accesses)] = sorted(
            plan, key=lambda item: item[0].write
        )  # its reads come before its writes
        self.planned.append(accesses)
        for access, segments, _ in plan:
            for i in segments if access.resource else ():  # an allocation is nobody's stage
                self.owners[i].add((access.resource, access.stage, access.cta, access.space))
                self.places[access.space, *self.bounds[i]] = i
        return True

    def touch(self, w: int, j: int, base: Clock, event: Event, component: int, value: int) -> None:
        """Event ``j`` of stream ``w`` accesses memory, under clock ``base``, until ``component`` reaches ``value``."""
        writes, reads_of = self.write, self.reads
        for access, segments, gate in self.plans[id(event.accesses)]:
            use = self.execution.passed.get((w, gate)) if gate >= 0 else None
            record = RECORD((w, j, component, value, base, event, access))
            if not access.write and component >= 0 and event.engine is Engine.BULK_STORE:
                record = record._replace(component=component + 1)  # its source is free once read
            if access.resource in self.held:
                self.execution.allocations.use(record, segments)
            for segment in segments:
                last = writes[segment]
                if last is not None and (last[0] != w or last[2] != SYNC or component != SYNC):
                    self._check(last, record, segment)
                if not access.write:
                    found = self.use[segment]
                    if access.resource in self.outside:
                        pass  # another kernel may have written it
                    elif last is None:
                        self._misread(record, segments, segment, found, use)
                    elif found is not None and use is not None:
                        if last.access[4:] != access[4:]:
                            self.crossed.add(segment)
                        if found != use - 1:
                            self._misread(record, segments, segment, found, use)
                    reads_of[segment][w, component] = record
                else:
                    for read in reads_of[segment].values():
                        self._check(read, record)
                    writes[segment] = record
                    if access.resource in self.maps:
                        self.execution.maps.updated(record)
                    reads_of[segment] = {}
                    self.use[segment] = use

    def _check(self, x: Record, y: Record, segment: int = -1) -> None:
        if not self.finished(x, y.stream, y.index, y.base):
            if x.stream == y.stream and (x.index == y.index or self._pipelined(x, y, segment)):
                return
            self._note(self.found, x, y)
        elif x.access.resource in self.tensor and y.access.resource in self.tensor and x.stream != y.stream:
            self.execution.fencing.look(Pair(x, y))
        elif x.access.resource in self.maps and x.access.write and not y.access.write:
            self.execution.maps.look(Pair(x, y))
        elif (
            y.component != SYNC
            and y.access.resource in self.proxied
            and y.event.engine not in GENERIC
            and x.event.engine in GENERIC
            and not self.fenced(x, y)
        ):
            self._note(self.unfenced, x, y)

    def _pipelined(self, x: Record, y: Record, segment: int) -> bool:
        """Whether the engines of one warp keep the two in order, perhaps by what came between on the same bytes: the next
        scale factors are copied in after the MMA that reads the last ones, which comes after their copy."""
        if in_order(x.event.engine, x.access, y.event.engine, y.access):
            return True
        between = self.reads[segment].values() if segment >= 0 else ()
        return any(
            r.stream == x.stream
            and in_order(x.event.engine, x.access, r.event.engine, r.access)
            and in_order(r.event.engine, r.access, y.event.engine, y.access)
            for r in between
        )

    def _misread(
        self, read: Record, segments: tuple[int, ...], at: int, found: int | None, use: int | None
    ) -> None:
        (low, high), last = self.bounds[at], self.write[at]
        key = read.event.op, read.access.resource, last is None
        known = self.misread.get(key)
        if known is None:
            partly = any(self.write[s] is not None for s in segments)
            found, meant = -1 if found is None else found, -1 if use is None else use - 1
            self.misread[key] = Misread(read, low, high, last, partly, found, meant)
        elif known.read[:2] == read[:2] and known.high == low:
            self.misread[key] = known._replace(high=high)

    @staticmethod
    def _note(pairs: dict[tuple, Pair], x: Record, y: Record) -> None:
        pairs.setdefault(
            (x.event.op, y.event.op, x.access.resource, y.access.resource, x.access.write), Pair(x, y)
        )

    def finished(self, x: Record | Note, w: int, j: int, base: Clock) -> bool:
        """Whether the end of ``x`` happens before event ``j`` of stream ``w``, whose clock is ``base``."""
        if x.component >= 0 and base[x.component] >= x.value:
            return True
        if x.component == SYNC:
            if base[x.stream] >= x.index:
                return x.stream not in self.copying or x.stream == w or told(self.execution, x, base)
            return x.stream == w and x.index < j
        return x.component != NEVER and ended(self.execution, x, base)

    def fenced(self, x: Record, y: Record) -> bool:
        """Whether the stream of ``x`` fenced after ``x`` was done, and that fence happens before ``y``. Copies whose end
        only their mbarrier tells are fenced behind its wait, by the stream of ``y``; global memory may be."""
        index = self.fence_after(x)
        if index is not None and (y.base[x.stream] >= index or (x.stream == y.stream and index < y.index)):
            return True
        return y.stream in self.fenced_behind(x, y.index)

    def fenced_behind(self, x: Record, before: int = 1 << 60) -> frozenset[int]:
        """The streams that have fenced behind the end of ``x``, a copy that arrives on an mbarrier or an access of global
        memory (at events earlier than ``before``)."""
        copies = x.event.engine is Engine.CP_ASYNC and any(covering(self.execution, x))
        outside = x.access.resource in self.outside
        if not copies and not outside:
            return frozenset()

        def behind(w: int, i: int, base: Clock) -> bool:
            return self.finished(x, w, i, base) if outside else ended(self.execution, x, base)

        return frozenset(
            w
            for w, fences in enumerate(self.execution.fenced)
            if any(i < before and behind(w, i, base) for i, base, _ in reversed(fences))
        )

    def fence_after(self, x: Record) -> int | None:
        """The first proxy fence that covers ``x``: by its warp, by every lane that made it, once it was done."""
        fences = self.execution.fenced[x.stream]
        for place in range(bisect_right(fences, (x.index, ())), len(fences)):
            index, base, one_lane = fences[place]
            # a copy must be known complete at the fence
            known = x.component == SYNC or self.finished(x, x.stream, index, base)
            if known and (x.event.lane or not one_lane):
                return index
        return None


def _segments(
    ranges: set[tuple[str, int, int]],
) -> tuple[dict[tuple, tuple[int, ...]], list[tuple[int, int]]]:
    """Cuts each space at the ends of all its ranges; gives the numbers of the pieces in each range, and their bounds."""
    ends: dict[str, list[int]] = {}
    for space, low, high in ranges:
        ends.setdefault(space, []).extend((low, high))
    bounds: list[tuple[int, int]] = []
    places: dict[str, dict[int, int]] = {}
    for space, found in ends.items():
        cuts = sorted(set(found))
        places[space] = {cut: len(bounds) + i for i, cut in enumerate(cuts)}
        bounds += pairwise(cuts)
    return {
        (space, low, high): tuple(range(places[space][low], places[space][high]))
        for space, low, high in ranges
    }, bounds
