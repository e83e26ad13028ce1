"""Whether the warps of one state know no more than those of another that is the same but for a shift (`core.shift`).

What a warp knows is what happens before its next event. Every check asks for that: that a contribution, a wait or the end
of an access is before an event. More of it leaves fewer executions, and nothing that one of them does wrong is new. So where
all that may follow a state is fine, all that may follow one whose warps know at least as much is, too.

Whoever asks compares a clock with a *place*: of an access, arrival, wait or fence that is remembered. Each place of the one
state has a counterpart in the other, and each clock of the other must know the counterparts of all places that its own
counterpart knows, but for those that all know already who may ever ask. Joins keep that, and places to come are later than
all clocks, so it holds from then on. That a phase is over is asked for only to save looking for its contributions, whose
places are there. What is no clock must be the same but for the shift; accesses that all know to be over need no counterpart.
One rule finds fault with knowledge: whoever knows that no tile is left must not request one (WD705). What warps know of what
is still to come is the same in both states, and of the reads of responses they must know the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from operator import or_

from .audience import Askers
from .clocks import Execution
from .counterparts import KNOWN, Different
from .cuts import Uses
from .frontier import Frontier
from .growth import Growth
from .incidents import Clock
from .machine import Machine
from .peeks import peeked_alike
from .races import SYNC
from .shift import Comparison

BY_CLOCKS: frozenset[int] = frozenset((-1,))  # who asks is no stream, but what was recorded of one
Ends = tuple[tuple[int, int], ...]  # component and value, any of which tells that an access is over


def covers(
    machine: Machine,
    growth: Growth,
    uses: Uses,
    askers: Askers,
    execution: Execution,
    one: Frontier,
    two: Frontier,
    other: Execution,
) -> bool:
    """Whether ``two``, of ``other``, is ``one``, of ``execution``, but for a shift, and for what its warps know beyond."""
    if one.amounts != two.amounts:
        return False
    if machine.peeks and not peeked_alike(machine, execution.program, one, two, other.program):
        return False
    try:
        _Coverage(askers, machine, growth, uses, execution, one, two, other).run()
    except Different:
        return False
    return True


class _Places:
    """What later events may ask about in the one state, with what they then ask about in the other: for each the components
    that tell of it, once they reach a value, and who may ask (None: all)."""

    def __init__(self, streams: int) -> None:
        self.streams = streams
        self.asking: frozenset[int] | None = None  # for the places that come up
        self.ends: dict[tuple[Ends, Ends, frozenset[int] | None], None] = {}

    def value(self, c: int, a: int, b: int) -> None:
        """Place ``a`` of stream ``c`` has counterpart ``b``. Of a barrier, it is the contributions to a phase that checks
        look for, which are places, too."""
        if c < self.streams:
            self.add(((c, a),), ((c, b),), self.asking)

    def ask(self, c: int, a: int) -> None:
        """Values to come are later than all places."""

    def add(self, ends: Ends, its: Ends, asking: frozenset[int] | None) -> None:
        """What one of ``ends`` tells of has a counterpart that one of ``its`` tells of."""
        self.ends[ends, its, asking] = None


class _Coverage(Comparison):
    """Collects clocks and places as a comparison goes through them, and holds them against each other in the end."""

    def __init__(self, askers: Askers, *args) -> None:
        super().__init__(*args)
        self.askers = askers
        self.places = _Places(self.n)
        self.value, self.ask = self.places.value, self.places.ask
        # pairs of clocks with their own component, and what all know who may still learn of the second one
        self.known: dict[tuple[int, ...], tuple[Clock, Clock, int, Sequence[int] | None]] = {}

    def clock(self, a: Clock, b: Clock, skip: int = -1) -> None:
        self.known[id(a), id(b), skip] = a, b, skip, None

    def cumulative(self, b: int, to: int) -> None:
        one, two, low = self.one.cumul[b], self.two.cumul[to], self.two.heeded[to]
        if low is not None:  # else nobody waits for it any more
            self.known[id(one), id(two), -1, id(low)] = one, two, -1, low

    def contributions(self, b: int, to: int) -> None:
        """Of the last phase, and of the one before: what a warp does is known by its place, what an engine does by the phase
        or by another one that the same commit completes."""
        done, its = self.one.state[b].completed, self.two.state[to].completed
        pairs = (self.one.last[b], self.two.last[to]), (self.one.before[b], self.two.before[to])
        for less, (one, two) in enumerate(pairs):
            self.need(two.keys() <= one.keys())
            for u, k in two.items():
                w = (-u - 1) % self.n
                if u >= 0:
                    self.value(u, one[u], k)
                    continue
                ends = ((b, done - less), *self.one.arrived.get((w, one[u]), ()))
                others = ((to, its - less), *self.two.arrived.get((w, k), ()))
                parts = (tuple([(self.n + c, g) for c, g in of]) for of in (ends, others))
                self.places.add(*parts, self.places.asking)

    def heard(self) -> None:
        self.need(self.one.noted.keys() == self.two.noted.keys())
        for (w, op), j in self.one.noted.items():
            self.value(w, j, self.two.noted[w, op])
        if self.machine.scheduled:  # who knows that no tile is left must not ask for one
            self.need(self.unheard(self.one) == self.unheard(self.two))

    def unheard(self, of: Frontier) -> Counter[tuple[int, int, str]]:
        """How many reads of responses whoever requests some does not know of, by reader and op: the newest ones."""
        known = self.machine.scheduled
        reads = {op for op, (_, reads) in known.items() if reads}
        asking = {w for w in of.active if not reads.issuperset(self.askers.ops[w] & known.keys())}
        return Counter(
            (w, x.stream, x.op)
            for x in of.notes
            if x.op in reads
            for w in asking - {x.stream}
            if of.base[w][x.stream] < x.index
        )

    def barrier(self, b: int, to: int) -> None:
        self.places.asking = self.askers.barriers[b]
        super().barrier(b, to)
        self.places.asking = None
        # the contributions to a phase are compared with each other, too
        for x, y in zip(self.one.log[b], self.two.log[to], strict=True):
            self.places.add(((x.stream, x.index),), ((y.stream, y.index),), BY_CLOCKS)
        if b in self.one.landing:  # whether the phase of the last copy is over
            (_, _, g), (_, _, h) = self.one.landing[b], self.two.landing[to]
            self.places.add(((self.n + b, g + 1),), ((self.n + to, h + 1),), None)

    def apart(self, segment: int) -> bool:
        """Where no read asks for a use of one and finds one of another: whoever compares sees to that in the end."""
        self.e.races.apart.add(segment)
        return True

    # -- accesses -------------------------------------------------------------------------------------------------------
    def kept(self, x: tuple | None, y: tuple | None) -> None:
        if y is not None:  # else all know its end
            if x is None:
                raise Different
            self.record(x, y)

    def reads(self, one: dict[tuple[int, int], tuple], two: dict[tuple[int, int], tuple]) -> None:
        left = len(two)
        for (w, c), x in one.items():
            y = two.get((w, self.component(c) if c >= 0 else c))
            left -= y is not None
            self.kept(x, y)
        self.need(not left)

    def record(self, x: tuple, y: tuple) -> None:
        component = self.component(x[2]) if x[2] >= 0 else x[2]
        if (x[0], component, x[6]) != (y[0], y[2], y[6]):
            raise Different
        ends, its = _ends(x, self.n), _ends(y, self.n)
        for c, a in ends:
            if self.pending(c, a):
                self.need(any(k == self.component(c) and self.as_soon(c, a, b) for k, b in its))
        asking = self.askers.resources.get(x[6][3])
        if ends:
            self.places.add(ends, its, asking)
        if x[4] is not None:  # the fence behind it; the other may have one where this has none
            self.need(y[4] is not None and (x[4] == KNOWN) == (y[4] == KNOWN))
            if x[4] != KNOWN:
                self.places.add(((x[0], x[4]),), ((y[0], y[4]),), asking)

    def pending(self, c: int, a: int) -> bool:
        """Whether value ``a`` of component ``c`` may be reached by what no clock knows yet."""
        return c >= self.n + len(self.barriers) or (c >= self.n and a > self.one.state[c - self.n].completed)

    def as_soon(self, c: int, a: int, b: int) -> bool:
        """Whether value ``b`` of the other state is reached by the time that ``a`` of component ``c`` is."""
        if c < self.n + len(self.barriers):
            done, its = self.one.state[c - self.n].completed, self.two.state[self.to[c - self.n]].completed
            return b - its <= a - done
        key = next(k for k, first in self.e.channel.items() if c in (first, first + 1))
        age, its = self.one.groups[key].committed - a, self.two.groups[key].committed - b
        return its >= min(age, self.of.newest.get(key, 0))

    # -- the end --------------------------------------------------------------------------------------------------------
    def zones(self) -> None:
        base, active, places = self.two.base, self.two.active, list(self.places.ends)
        told, its = _Told([ends for ends, _, _ in places]), _Told([ends for _, ends, _ in places])
        for key, (_, one) in self.one.fences.items():  # behind a fence counts what its warp knew then
            self.need(not told.by(one, key[1]) & ~its.by(self.two.fences[key][1], key[1]))
        lacks = 0  # all that some clock lacks
        for one, two, own, low in self.known.values():
            lacking = told.by(one, own)
            lacking &= ~its.by(two, own) if lacking else 0
            if lacking and low is not None:
                lacking &= ~its.by(low, -1)
            lacks |= lacking
        if not lacks:
            return
        knows = {w: its.by(base[w], w) for w in active}
        for i, (_, _, asking) in enumerate(places):  # only what all know who may ask for it may be lacking
            if lacks >> i & 1:
                who = active if asking is None else asking & active
                self.need(asking is not BY_CLOCKS and all(knows[w] >> i & 1 for w in who))


class _Told:
    """Which of several places clocks tell of, as bits of a number."""

    def __init__(self, places: Sequence[Ends]) -> None:
        values: dict[int, list[tuple[int, int]]] = {}
        for i, ends in enumerate(places):
            for c, v in ends:
                values.setdefault(c, []).append((v, 1 << i))
        # component, its least value, all of them, and the places that it tells of from none of them, one, two ... on
        self.tables = []
        self.all: dict[int, int] = {}  # and by component
        for c, found in values.items():
            found.sort()
            bits = list(accumulate((bit for _, bit in found), or_, initial=0))
            self.tables.append((c, found[0][0], [v for v, _ in found], bits))
            self.all[c] = bits[-1]

    def by(self, clock: Sequence[int], own: int) -> int:
        """Those that ``clock`` tells of; a stream knows all that it has done itself."""
        told = self.all.get(own, 0)
        for c, least, values, bits in self.tables:
            value = clock[c]
            if value >= least:
                told |= bits[bisect_right(values, value)]
        return told


def _ends(record: tuple, n: int) -> Ends:
    """The components that tell that an access is over, once they reach a value."""
    w, index, component, value, _, phases, _ = record
    own = ((w, index),) if component == SYNC else ((component, value),) if component >= 0 else ()
    return (*own, *[(n + b, g) for b, g in phases])
