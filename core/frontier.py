"""The state of an execution at a cut: everything that the rest of it, its checks and its race pass depend on.

What all warps know is left out where it can make no difference any more: a clock only grows, so an access that has ended
before whatever any warp does next never races again, and a contribution that all know is never missed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

from .async_arrivals import arrivals_of, covering, telling
from .audience import Askers, Audience
from .clocks import Execution
from .counterparts import KNOWN
from .cuts import Cut
from .document import Engine
from .incidents import Clock, Entry, joined
from .program import EventKind
from .races import BY_ARRIVAL, GENERIC, SYNC, Record


class Frontier:
    """A copy of what matters at ``cut`` of a running execution."""

    def __init__(
        self,
        execution: Execution,
        cut: Cut,
        waiters: list[frozenset[int]],
        askers: Askers | None = None,
        audience: Audience | None = None,
    ) -> None:
        """``waiters``: the streams that may wait for each barrier; ``askers`` and ``audience``: see `core.audience`; None:
        all."""
        e = execution
        self.cut, self.at, self.base = cut, list(e.at), list(e.base)
        self.groups, self.state, self.inside = dict(e.groups), list(e.state), dict(e.inside)
        self.parked = [tuple(p) for p in e.parked]
        self.passed, self.landing, self.ahead = dict(e.passed), dict(e.landing), list(e.ahead)
        self.active = frozenset(
            w for w, s in enumerate(e.program.streams) if w in cut.marks or e.at[w] < len(s.events)
        )
        # each knows all that it has done itself
        self.knows = [(*base[:w], KNOWN, *base[w + 1 :]) for w, base in enumerate(self.base)]
        self.lows = lows = dict[frozenset[int], Sequence[int]]()
        self.askers = askers
        self.low = lows[self.active] = self._low(self.active)
        self.cumul, self.last, self.before, self.heeded = list(e.cumul), [], [], []
        for b, who in enumerate(waiters):
            who &= self.active
            if who not in lows:
                lows[who] = self._low(who)
            low = lows[who]  # what all who may still wait for it know
            self.heeded.append(low if who else None)
            # asked for only where a warp does not know the phase before (all phases) complete
            done, known = e.state[b].completed, e.n + b
            asked = bool(who) and low[known] < done - 1
            self.before.append(self._unknown(e.before[b], low) if asked else {})
            low = self._low_of(askers.barriers[b] if askers else None)  # what all who may arrive at it know
            self.last.append(self._unknown(e.last[b], low) if low[known] < done else {})
        # contributions of engines that those places stand for, by (stream, place): the phases that each completes
        self.arrived = {
            ((-u - 1) % e.n, k): tuple(arrivals_of(e, (-u - 1) % e.n, k))
            for of in (*self.last, *self.before)
            for u, k in of.items()
            if u < -e.n
        }
        self.waited = {w: g for w, g in e.waited.items() if w in self.active}
        self.notes = tuple(e.notes)
        self.noted: dict[
            tuple[int, str], int
        ] = {}  # stream and op of works that rules look at: the first place
        for note in e.notes:
            self.noted.setdefault((note.stream, note.op), note.index)
        self.heard = [self._heard(e, w) for w in range(e.n)] if e.notes else []
        self.log = [_unordered(log) for log in e.log]
        self.waits = [_ends(waits) for waits in e.waits]
        self.parities = {
            key: (len(passes), frozenset(done - turn for turn, (_, done) in enumerate(passes)))
            for key, passes in e.parities.items()
        }
        self.entering = [w for w in self.active if e.fencing.enters[w]]
        self.fences = {
            ("", w): e.fencing.after[w] for w in self.entering if w in e.fencing.after
        } | e.maps.fences
        self.touched = {w: since for w, since in e.fencing.touched.items() if w in self.active}
        self.copying = frozenset(e.races.copying)
        self.holds = [self._holding(e, s) for s in range(len(e.races.write))] if e.allocations.watched else []
        self.allocations = {w: self._record(e, x) for w, x in e.allocations.last.items()}
        self.relinquished = frozenset(e.allocations.relinquished)
        self.writes = [self._record(e, x) for x in e.races.write]
        self.written = [x is not None for x in e.races.write]
        self.use = list(e.races.use)
        self.used_as = [x and x.access[4:] for x in e.races.write]
        self.reads = [
            {key: made for key, x in reads.items() if (made := self._record(e, x))} for reads in e.races.reads
        ]
        if audience is not None:
            self._raise(e, audience)
        # no shift changes how many accesses are remembered
        kept = sum(x is not None for x in self.writes), sum(map(len, self.reads))
        self.amounts = amounts(e)
        self.counts = *self.amounts, *kept, sum(map(len, self.waits))

    @cached_property
    def ranks(self) -> list[list[int]]:
        """Of each stream, in which order the others know of it. From then on clocks know only places, and those of barriers
        what all know who may still wait for them."""
        n = len(self.at)
        known = [low or [KNOWN] * len(self.base[0]) for low in self.heeded]
        self.cumul = [joined(clock, low) for clock, low in zip(self.cumul, known, strict=True)]
        self._forget(n)
        return [_ranks([base[u] for w, base in enumerate(self.base) if w != u]) for u in range(n)]

    def _raise(self, e: Execution, audience: Audience) -> None:
        """Raises every clock to what all know who may ever compare it."""
        streams, barriers = audience.streams, audience.barriers
        comparing = [
            *streams,
            *barriers,
            *([frozenset()] * (len(self.base[0]) - len(streams) - len(barriers))),
        ]
        for (w, _), c in e.channel.items():
            comparing[c] = comparing[c + 1] = streams[w]
        known = []
        for c, who in enumerate(comparing):
            others = [e.base[w][c] for w in (who & self.active or who) if w != c]
            known.append(min(others, default=KNOWN))
        self.base = [
            tuple(b if c == w else max(b, k) for c, (b, k) in enumerate(zip(base, known, strict=True)))
            for w, base in enumerate(self.base)
        ]
        self.cumul = [joined(clock, known) for clock in self.cumul]
        self.log = [[x._replace(base=joined(x.base, known)) for x in log] for log in self.log]

    def _forget(self, n: int) -> None:
        """Takes from the clocks what no later step can tell of: how far a stream is between two of the places that clocks
        are compared with. A clock is only compared, and joined with others; places still to come are later than all."""
        places: list[set[int]] = [{-1, KNOWN} for _ in range(n)]
        for b in range(len(self.log)):
            for of in (self.last[b], self.before[b]):
                for u, k in of.items():
                    places[u if u >= 0 else (-u - 1) % n].add(k)
            for entry in self.log[b]:
                places[entry.stream].add(entry.index)
            for w, (first, last, _) in self.waits[b].items():
                places[w] |= {first, last}
        for (_, w), (j, _) in self.fences.items():
            places[w].add(j)
        for (w, _), j in self.noted.items():
            places[w].add(j)
        held = (*(x for _, x in self.holds), *self.allocations.values())
        for x in (*self.writes, *(x for reads in self.reads for x in reads.values()), *held):
            if x is not None:
                places[x[0]] |= {x[1], x[1] if x[4] is None else x[4]}
        ordered = [sorted(of) for of in places]
        made: dict[Clock, Clock] = {}  # many barriers have the same

        def coarse(clock: Clock) -> Clock:
            own = clock[:n]
            if own not in made:
                made[own] = tuple([of[bisect_right(of, k) - 1] for of, k in zip(ordered, own, strict=True)])
            return made[own] + clock[n:]

        self.base = [coarse(clock) for clock in self.base]
        self.cumul = [coarse(clock) for clock in self.cumul]
        self.fences = {key: (j, coarse(clock)) for key, (j, clock) in self.fences.items()}
        self.log = [[entry._replace(base=coarse(entry.base)) for entry in log] for log in self.log]

    def _heard(self, e: Execution, w: int) -> frozenset[str]:
        """The noted ops of which stream ``w`` knows that some warp has done them."""
        first = self.noted.items()
        return frozenset(op for (u, op), j in first if (e.at[w] if u == w else e.base[w][u]) >= j)

    def _low(self, streams: Collection[int]) -> Sequence[int]:
        """What every one of ``streams`` knows of each component."""
        known = [self.knows[w] for w in streams]
        if len(known) > 1:
            return list(map(min, *known))
        return known[0] if known else [KNOWN] * len(self.base[0])

    @staticmethod
    def _unknown(places: dict[int, int], low: Sequence[int]) -> dict[int, int]:
        return {u: k for u, k in places.items() if u < 0 or low[u] < k}

    def _holding(self, e: Execution, segment: int) -> tuple[str, tuple | None]:
        """Whether a segment of tensor memory is allocated or freed, and by what, as far as that can make a difference."""
        for state, records in (("live", e.allocations.live), ("freed", e.allocations.freed)):
            if segment in records:
                return state, self._record(e, records[segment])
        return "", None

    def _low_of(self, streams: frozenset[int] | None) -> Sequence[int]:
        """What all active ones of ``streams`` know (of all, where there are none)."""
        if not streams:
            return self.low
        found = self.lows.get(streams)
        if found is None:
            who = streams & self.active or self.active
            if who not in self.lows:
                self.lows[who] = self._low(who)
            found = self.lows[streams] = self.lows[who]
        return found

    def _record(self, e: Execution, x: Record | None) -> tuple | None:
        """An access as far as a later one can tell; None if it cannot."""
        if x is None:
            return None
        low = self._low_of(self.askers.resources.get(x.access.resource) if self.askers else None)
        index, untold = x.index, False
        if x.component == SYNC and x.access.write and x.stream in self.copying:
            index = telling(e, x, e.at[x.stream]) or index
            untold = index == x.index
        fence: int | None = KNOWN
        if x.event.engine in GENERIC and x.access.resource in e.races.proxied:
            fence = e.races.fence_after(x)
        watched = x.access.resource in e.races.tensor
        if watched and e.fencing.must_leave(x):
            fence = e.fencing.left(x)
        copies = x.event.engine is Engine.CP_ASYNC
        # of arrivals on one barrier the first is known first
        commits = tuple(sorted(covering(e, x))) if x.component in BY_ARRIVAL or copies else ()
        done = (
            (x.component >= 0 and low[x.component] >= x.value)
            or (x.component == SYNC and low[x.stream] >= index and not untold)
            or any(low[e.n + b] >= g for b, g in commits)
        )
        done = done and not (
            watched and any(not e.fencing.entered(x, w) for w in self.entering if w != x.stream)
        )
        if done and x.access.resource in e.races.maps:
            done = False  # a copy to come may still lack a fence behind it
        if done and fence is not None and (fence == KNOWN or low[x.stream] >= fence):
            return None
        late = copies or x.access.resource in e.races.outside
        behind = e.races.fenced_behind(x) if late and fence != KNOWN else frozenset()
        what = x.event.op, x.event.engine, x.access.write, x.access.resource, x.event.lane, behind, untold
        return x.stream, index, x.component, x.value, fence, commits, what


def amounts(e: Execution) -> tuple[int, ...]:
    """What no shift changes, and states that are the same have in common: how many barriers are fresh, how many pieces of
    memory are written, and how many contributions are made to open phases."""
    fresh = sum(state.completed == 0 for state in e.state)
    return fresh, sum(x is not None for x in e.races.write), sum(map(len, e.log))


def _unordered(log: list[Entry]) -> list[Entry]:
    """The contributions to an open generation. Plain arrivals are counted and their clocks joined: what comes of them does
    not depend on the order between streams, only on which of a stream's own is its last."""
    if all(entry.kind is EventKind.ARRIVE for entry in log):
        return sorted(log, key=lambda entry: entry.stream)
    return list(log)


def _ranks(values: list[int]) -> list[int]:
    """The place of each value among all: what is left of them under any increasing map."""
    places = {value: place for place, value in enumerate(sorted(set(values)))}
    return [places[value] for value in values]


def _ends(waits: Iterable[tuple]) -> dict[int, tuple[int, int, bool]]:
    """By stream, its first and its last wait: whether one has been seen, and whether all have."""
    found: dict[int, tuple[int, int, bool]] = {}
    for w, j, _, again in waits:
        found[w] = found[w][0] if w in found else j, j, again
    return found
