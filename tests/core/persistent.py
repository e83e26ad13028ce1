"""Steps that may be taken before all others: nothing that the rest can do without such a step depends on it.

A persistent set of one step (Godefroid, Partial-Order Methods for the Verification of Concurrent Systems, LNCS 1032,
chapter 4). What the rest can do is computed in each state, from above: with the step's process standing still, all others
run as far as barriers may let them, whatever the order. Every event happens once: there are no cycles to look after.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from warpdraft.core import phases
from warpdraft.core.program import BarrierKind, Event, EventKind

ARRIVALS = (EventKind.ARRIVE, EventKind.ARRIVE_EXPECT)
BEHIND = (EventKind.COMMIT_ARRIVE, EventKind.HELD_ARRIVE)
GROUP_WAITS = (EventKind.GROUP_WAIT, EventKind.GROUP_WAIT_READ, EventKind.DRAIN)
LOOKS = (EventKind.WAIT, EventKind.TRY)
JOINS = (EventKind.SYNC, EventKind.BAR_ARRIVE)


@dataclass
class Touched:
    """What the others may do to one barrier."""

    arrivals: int = 0  # of an mbarrier, or warps that join a named one, or registers taken from a pool
    armed: int = 0  # bytes that come with arrivals
    expected: int = 0  # bytes of expect_tx alone
    delivered: int = 0
    empty: bool = False  # a delivery of no bytes
    looked: bool = False  # a wait or peek that can tell two phases apart
    wild: bool = False  # initialised again, or held
    given: int = 0  # registers

    @property
    def quiet(self) -> bool:
        """Whether they do nothing that a contribution could meet."""
        return not (self.arrivals or self.armed or self.expected or self.delivered or self.empty or self.wild)


@dataclass
class Rest:
    """How far the others may come: where each stream stops, and the barriers that they touch."""

    at: list[int]
    touched: defaultdict[int, Touched] = field(default_factory=lambda: defaultdict(Touched))
    low: defaultdict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))
    joined: dict[int, int] = field(default_factory=dict)  # stream -> generations until it may leave
    ready: list[int] = field(default_factory=list)
    waiting: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def wake(self, b: int) -> None:
        """Something has happened to barrier ``b``: whoever stopped there may try again."""
        self.ready += self.waiting.pop(b, ())


class Alone:
    """Finds such steps for an explorer, whose rules on asynchronous ops it asks."""

    def __init__(self, explorer) -> None:
        self.explorer, self.events = explorer, explorer.events
        self.kinds = [b.kind for b in explorer.program.barriers]
        self.cluster = self.kinds.index(BarrierKind.CLUSTER) if BarrierKind.CLUSTER in self.kinds else -1
        self.clashes = _clashes(explorer, lambda a: True)
        self.written = _clashes(explorer, lambda a: a.write)  # those of a store that has read its source
        self.counts = [_next(events, _counts) for events in self.events]
        self.counts_or_waits = [
            _next(events, lambda e: _counts(e) or e.kind in GROUP_WAITS) for events in self.events
        ]
        self.known: dict[int, tuple] = {}  # stream -> a state and what the rest could do while it stood
        self.turn = 0  # the stream that made the last step: it goes on

    def successors(self, state) -> list:
        """What a step that may be taken alone leads to; if there is none, what all steps lead to."""
        explorer, n = self.explorer, len(self.events)
        harder = []
        for place, (w, i, stage) in enumerate(state.flying):
            after = [*explorer._complete(state, place, w, i, stage)]
            if after and self._meets_nothing(state, w, i, stage, self.events[w][i].barriers):
                return after
            if after:
                harder.append((-1, (w, i, stage), after))
        for w in ((self.turn + k) % n for k in range(n)):
            i = state.at[w]
            if i == len(self.events[w]):
                continue
            event = self.events[w][i]
            after = [*explorer._warp(state, w, i, event)]
            leaves = event.kind is EventKind.SYNC and state.inside[w] >= 0
            meets = not leaves and not self._meets_nothing(state, w, i, 0, self._effects(event))
            if after and not meets and not self._ends_write(state, w):
                self.turn = w
                return after
            if after:
                harder.append((w, None, after))
        for w, op, after in harder:
            if op is None and self._ends_write(state, w):
                continue
            if after != [None] and self._independent(state, w, op):
                self.turn = w if w >= 0 else self.turn
                return after
        return [state for _, _, after in harder for state in after]

    def _ends_write(self, state, w: int) -> bool:
        """Whether the next step of ``w`` tells of a write by threads that something to come could still meet."""
        if not self.explorer.tells(w, self.events[w][state.at[w]]):
            return False
        mine = (f for f in state.flying if f[0] == w and self.events[w][f[1]].kind is EventKind.WORK)
        return any(not self._meets_nothing(state, *f, ()) for f in mine)

    def _effects(self, event: Event) -> tuple[int, ...]:
        """The barriers that an event touches at once: what an engine does to one comes later."""
        later = event.kind is EventKind.ASYNC or event.kind is EventKind.COMMIT_ARRIVE
        return () if later else tuple(b for b in event.barriers if self.kinds[b] is not BarrierKind.CLUSTER)

    def _meets_nothing(self, state, w: int, i: int, stage: int, barriers: tuple[int, ...]) -> bool:
        if barriers:
            return False
        clashing = self._clashing(w, i, stage)
        return not clashing or not any(
            j >= state.at[u] or any(u == x and j == y for x, y, _ in state.flying) for u, j in clashing
        )

    def _clashing(self, w: int, i: int, stage: int):
        return (self.written if stage else self.clashes).get((w, i), ())

    # -- what the others may do ---------------------------------------------------------------------------------------
    def _rest(self, state, still: int, op) -> Rest:
        """How far the others may come while stream ``still`` stands, or the op in flight ``op`` (then ``still`` is -1)."""
        before = self.known.get(still) if op is None else None
        if before is not None and self._as_before(state, still, *before):
            return before[1]
        rest = Rest(list(state.at))
        only = state._replace(flying=(op,) if op else ())
        for flying in state.flying:
            if flying != op:
                self._land(rest, only, *flying[:2])
        rest.ready = [u for u in range(len(self.events)) if u != still]
        while rest.ready:
            self._go_on(state, rest, only, rest.ready.pop())
        if op is None:
            self.known[still] = state, rest
        return rest

    def _go_on(self, state, rest: Rest, only, u: int) -> None:
        """Stream ``u`` goes as far as it may."""
        events, next_that_counts = self.events[u], self.counts[u]
        if only.flying and only.flying[0][0] == u:
            next_that_counts = self.counts_or_waits[u]
        i = rest.at[u]
        while (i := next_that_counts[i]) < len(events):
            rest.at[u] = i
            if not self._may_pass(state, rest, only, u, i, events[i]):
                rest.waiting[events[i].barrier].append(u)
                return
            self._count(state, rest, only, u, i, events[i])
            i += 1
        rest.at[u] = i
        rest.wake(self.cluster)  # which does not wait for those that have left

    def _as_before(self, state, still: int, before, rest: Rest) -> bool:
        """Whether only stream ``still`` has moved since, and nothing that others wait for can happen more often."""
        at, then = state.at[still], before.at[still]
        if state.inside != before.inside or state.flying != before.flying:
            return False
        if any(i != j for u, (i, j) in enumerate(zip(state.at, before.at, strict=True)) if u != still):
            return False
        arrived = self.explorer.arrived[still]
        return arrived[at] == arrived[then] and all(
            now is was or self._as_often(now, was, rest.touched[b], b)
            for b, (now, was) in enumerate(zip(state.barriers, before.barriers, strict=True))
        )

    def _as_often(self, now, was, touched: Touched, b: int) -> bool:
        if now == was or self.kinds[b] is not BarrierKind.MBARRIER:
            return now == was
        return now.completed == was.completed and _completions(now, touched) == _completions(was, touched)

    def _land(self, rest: Rest, only, u: int, i: int) -> None:
        """An op in flight is done, unless the one that stands is before it."""
        event = self.events[u][i]
        if only.flying and not self.explorer._may_complete(only, u, i, event):
            return
        for b in event.barriers:
            rest.wake(b)
            touched = rest.touched[b]
            if event.kind in BEHIND:
                touched.arrivals += event.number
                touched.wild |= event.kind is EventKind.HELD_ARRIVE
            else:
                touched.delivered += event.bytes
                touched.empty |= not event.bytes

    def _may_pass(self, state, rest: Rest, only, u: int, i: int, event: Event) -> bool:
        kind = event.kind
        if kind is EventKind.WAIT:
            return self._may_see(state, rest, u, event)
        if kind in GROUP_WAITS:
            return not only.flying or self.explorer._covered(only, u, i, event)
        if kind is EventKind.SYNC:
            return self._may_leave(state, rest, u, event)
        if kind is EventKind.REGISTERS:
            spare = state.barriers[event.barrier].spare + rest.touched[event.barrier].given
            return event.bytes <= 0 or event.bytes <= spare
        if kind is EventKind.CLUSTER_WAIT:
            return self.explorer._cluster_is_in(rest.at, event)
        return True

    def _may_see(self, state, rest: Rest, u: int, event: Event) -> bool:
        b, barrier, touched = event.barrier, state.barriers[event.barrier], rest.touched[event.barrier]
        parity = event.parity if event.number is None else phases.parity_of(event.number)
        later = rest.low[u, b]
        later += (barrier.completed + later - 1 - parity) & 1
        if not touched.wild and later > _completions(barrier, touched):
            return False
        rest.low[u, b] = later
        return True

    def _may_leave(self, state, rest: Rest, u: int, event: Event) -> bool:
        b, barrier = event.barrier, state.barriers[event.barrier]
        if u not in rest.joined:
            if rest.at[u] == state.at[u] and state.inside[u] >= 0:
                rest.joined[u] = state.inside[u] - barrier.completed
            else:
                rest.joined[u] = rest.low[u, b]
                rest.touched[b].arrivals += 1
                rest.wake(b)
        expects = event.number or self.explorer.program.barriers[b].count
        if (barrier.inside + rest.touched[b].arrivals) // expects <= rest.joined[u]:
            return False
        rest.low[u, b] = max(0, rest.joined.pop(u) + 1)
        return True

    def _count(self, state, rest: Rest, only, u: int, i: int, event: Event) -> None:
        """Notes what an event that others may execute does to barriers."""
        kind = event.kind
        if kind is EventKind.ASYNC or kind in BEHIND:
            if kind is EventKind.HELD_ARRIVE:
                rest.touched[event.barrier].wild = True
            self._land(rest, only, u, i)
            return
        if kind is EventKind.SYNC or event.barrier < 0:
            return
        for b in event.barriers:
            touched = rest.touched[b]
            if kind in LOOKS:
                touched.looked |= _can_tell(state, event)
                continue
            rest.wake(b)
            if kind in ARRIVALS:
                touched.arrivals += event.number
                touched.armed += event.bytes
            elif kind is EventKind.EXPECT:
                touched.expected += event.bytes
            elif kind is EventKind.BAR_ARRIVE:
                touched.arrivals += 1
            elif kind is EventKind.LIFETIME:
                touched.wild = True
            elif kind is EventKind.REGISTERS:
                touched.arrivals += max(0, event.bytes)
                touched.given += max(0, -event.bytes)

    # -- whether that depends on a step -------------------------------------------------------------------------------
    def _independent(self, state, still: int, op) -> bool:
        """Whether the step of stream ``still``, or of the op in flight ``op``, commutes with all that others may do."""
        w, i, stage = op or (still, state.at[still], 0)
        event, flying = self.events[w][i], {x[:2] for x in state.flying}
        clashing = self._clashing(w, i, stage)
        if any(x in flying or (x[0] != still and x[1] == state.at[x[0]]) for x in clashing):
            return False
        rest = self._rest(state, still, op)
        if any(u != still and state.at[u] <= j < rest.at[u] for u, j in clashing):
            return False
        barriers = event.barriers if op else self._effects(event)
        return all(self._on_barrier(state.barriers[b], rest.touched[b], event, bool(op), b) for b in barriers)

    def _on_barrier(self, barrier, others: Touched, event: Event, lands: bool, b: int) -> bool:
        kind = event.kind
        if self.kinds[b] is BarrierKind.POOL:
            taken = others.arrivals + max(0, event.bytes)
            return event.bytes <= 0 or not others.arrivals or taken <= barrier.spare
        if kind in JOINS:
            expects = event.number or self.explorer.program.barriers[b].count
            return not others.arrivals or barrier.inside + others.arrivals + 1 <= expects
        if kind is EventKind.TRY and event.number <= barrier.completed:
            return not others.wild
        if kind in LOOKS:
            return not others.wild and not _completions(barrier, others)
        if others.quiet and not others.looked:
            return True
        if others.wild or kind is EventKind.LIFETIME or kind is EventKind.HELD_ARRIVE:
            return False
        return _commutes(barrier, others, event, lands)


def _counts(event: Event) -> bool:
    """Whether an event may block its stream, but for the stream's own ops, or be told from barriers."""
    return event.barrier >= 0


def _next(events: list[Event], relevant) -> list[int]:
    """Place -> the first place from there on whose event is relevant, or the end."""
    found = [len(events)]
    for i in reversed(range(len(events))):
        found.append(i if relevant(events[i]) else found[-1])
    return found[::-1]


def _can_tell(state, event: Event) -> bool:
    """Whether a phase more makes a difference to a wait or peek: none to a peek at a phase that is not over-due."""
    return event.kind is EventKind.WAIT or event.number > state.barriers[event.barrier].completed


def _completions(barrier, others: Touched) -> int:
    """How many phases the others may complete, at most."""
    if others.arrivals < barrier.pending:
        return 0
    if not barrier.tx - others.delivered <= 0 <= barrier.tx + others.armed + others.expected:
        return 0
    return 1 + (others.arrivals - barrier.pending) // max(1, barrier.count)


def _commutes(barrier, others: Touched, event: Event, lands: bool) -> bool:
    """Whether a contribution to an mbarrier and those of others lead to the same in all orders: they do not complete the
    open phase, or all of them together do."""
    arrives = event.kind in ARRIVALS or event.kind in BEHIND
    arrivals = others.arrivals + (event.number if arrives else 0)
    if arrivals < barrier.pending:
        return True
    if arrivals > barrier.pending or others.expected or event.kind is EventKind.EXPECT:
        return False
    delivers = lands and not arrives
    needed = barrier.tx + others.armed + (event.bytes if arrives and not lands else 0)
    delivered = others.delivered + (event.bytes if delivers else 0)
    if delivered < needed:
        return True
    empty = others.empty or (delivers and not event.bytes)
    return delivered == needed and not empty and not others.looked


def _clashes(explorer, counts) -> dict[tuple[int, int], set[tuple[int, int]]]:
    """Event -> the events whose accesses race with its own where both are under way; of its own accesses, those that
    ``counts`` names."""
    found: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
    spaces = defaultdict(list)
    for w, events in enumerate(explorer.events):
        for i, event in enumerate(events):
            for a in event.accesses:
                spaces[a.space].append((w, i, a))
    for touching in spaces.values():
        touching.sort(key=lambda x: x[2].low)
        for n, x in enumerate(touching):
            for y in touching[n + 1 :]:
                if y[2].low >= x[2].high:
                    break
                together = x[0] != y[0] or EventKind.ASYNC in (
                    explorer.events[u][i].kind for u, i, _ in (x, y)
                )
                if not together or not explorer._conflict(x, y):
                    continue
                if counts(x[2]):
                    found[x[:2]].add(y[:2])
                if counts(y[2]):
                    found[y[:2]].add(x[:2])
    return found
