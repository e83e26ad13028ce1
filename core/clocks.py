"""One greedy execution of a machine program with vector clocks, and the checks that make one execution enough.

A clock has one component for each warp stream (its own events so far), each barrier (generations known complete) and each
async channel of a stream (groups known complete). An async completion needs none of its own: its only ways out are barriers
and groups. A clock is an immutable tuple, so a snapshot is a reference. If the checks named below find nothing, every
interleaving has the same generations and the same happens-before; then a stuck run is the deadlock of every run, and two
conflicting accesses that are unordered here are a race (docs: "How the verifier works").

Checks: misassigned (R1) every contribution of generation g + 1 is after every one of generation g; early_pass (R2a) all
contributions of g - 1 are before the wait for g; overrun (R2b) the wait for g is before some contribution of g + 1
(stale: and its parity had let the same warp pass before);
early_close and zero_tx (R3) no phase is closed by its bytes alone, nor (loose_copies) without copies that are to hold it,
nor do its bytes leave their range (tx_range); over_arrival: undefined behaviour; alias (I1) the wait passed at another
generation than it means.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from time import perf_counter
from typing import ClassVar

from . import async_arrivals, channels, early_close, meetings, phases
from .allocations import Allocations
from .document import Engine
from .fencing import NOTHING, Fencing, Judged
from .incidents import ENTRY, Clock, Entry, Incident, Note, joined
from .peeks import behind_peeks, peek
from .phases import Meeting, Phase, Pool
from .program import BarrierKind, Event, EventKind, Program
from .races import ARRIVING, NEVER, SYNC, Races
from .tensor_core import AWAITED
from .tensor_maps import TensorMaps

GROUPED = (Engine.WGMMA, Engine.CP_ASYNC, Engine.BULK_STORE, *AWAITED)
ARRIVES = (EventKind.ARRIVE, EventKind.ARRIVE_EXPECT, EventKind.COMMIT_ARRIVE, EventKind.HELD_ARRIVE)
BY_ENGINES = (EventKind.ASYNC, EventKind.COMMIT_ARRIVE, EventKind.HELD_ARRIVE)
GROUPS = (EventKind.GROUP_COMMIT, EventKind.GROUP_WAIT, EventKind.GROUP_WAIT_READ)
SCANNED = frozenset(
    (EventKind.EXPECT, EventKind.ARRIVE_EXPECT, EventKind.CLUSTER_ARRIVE, EventKind.CLUSTER_WAIT)
)
MAX_INCIDENTS = 200  # a run that goes wrong this often has said enough
SLICE = 20_000  # events of one stream between two looks at the clock


class Execution:
    """Runs a program. After `run`: ``incidents``, ``races``, ``fences`` (missing ones), ``blocked``, and the end state."""

    handlers: ClassVar[list]  # by kind of event: executes one, and says whether its stream goes on
    parts = ("races", "fencing", "maps", "allocations")  # each with an ``execution``: this one

    def __init__(self, program: Program, judged: Judged = NOTHING, deadline: float | None = None):
        self.program, self.deadline = program, deadline
        streams, barriers = program.streams, program.barriers
        self.n = n = len(streams)
        self.weight = [s.weight for s in streams]
        self.channel: dict[tuple[int, Engine], int] = {}  # first of two: complete, read
        self.irregular: set[int] = set()  # barriers with a stand-alone expect_tx or a copy of no bytes
        self.cluster = -1  # the barrier of the cluster, where a warp arrives at it
        size = self._scan(n + len(barriers))
        zero = (0,) * size
        self.base: list[Clock] = [zero] * n
        self.at = [0] * n  # events done
        self.groups = dict.fromkeys(self.channel, phases.Groups())
        self.state: list[Phase | Meeting | Pool] = [b.start for b in barriers]
        self.cumul: list[Clock] = [zero] * len(barriers)  # joined contributions of all completed generations
        self.log: list[list[Entry]] = [[] for _ in barriers]  # contributions of the open generation
        self.last: list[dict[int, int]] = [{} for _ in barriers]  # stream -> place, of the generation before
        self.before: list[dict[int, int]] = [{} for _ in barriers]  # ... and of the one before that
        # by barrier, since the last completion
        self.waits: list[list[tuple[int, int, Clock, bool]]] = [[] for _ in barriers]
        # barrier -> an arrive behind a phase that none has seen
        self.unobserved: dict[int, tuple[int, int, int]] = {}
        # (stream, barrier) -> parity waits, place and phases; and phases completed when a wait last passed
        self.parities: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self.passed: dict[tuple[int, int], int] = {}
        self.ahead: list[
            tuple[int, int, int, int, Clock]
        ] = []  # peeks at later phases: barrier, phase, place
        self.parked: list[list[int]] = [[] for _ in barriers]
        self.inside: dict[int, int] = {}  # stream -> generation of the named barrier it waits in
        self.unfinished: frozenset[int] = frozenset()  # streams whose end is not made yet
        self.exits_order = True  # whether a warp's exit is before what the cluster's barrier then lets go on
        self.joined = [0] * n  # generations of the cluster's barrier that each stream has joined,
        self.waited: dict[int, int] = {}  # and how many it has waited for
        self.commits: dict[tuple[int, Engine | None, bool], list[async_arrivals.Commit]] = {}  # by lane
        # barrier -> its last copy: stream, place, generation
        self.landing: dict[int, tuple[int, int, int]] = {}
        # by stream: place, clock, and whether by one lane
        self.fenced: list[list[tuple[int, Clock, bool]]] = [[] for _ in streams]
        self.order: list[tuple[int, int, int]] = []  # slices of the execution: stream, from, to
        self.incidents: list[Incident] = []
        self.seen: set[tuple[str, str, int]] = set()
        self.notes: list[Note] = []  # of the works that the program wants noted
        self.requests: list[Note] = []  # for registers, that were met
        self.increases: list[tuple[int, int]] | None = None  # only these, in this order; None: any
        self.stopped = ""
        self.fencing, self.maps = Fencing(judged, self), TensorMaps(self)
        self.allocations = Allocations(judged.allocated, self)
        self.races = Races(program, judged, self)
        # in an order that does not depend on how the tasks are listed
        started = [w for w in range(n) if streams[w].events]
        self.ready = deque(sorted(started, key=lambda w: (streams[w].task, streams[w].warp)))

    def _scan(self, size: int) -> int:
        """Gives each async channel its clock components, from ``size`` on; returns the size of a clock."""
        for w, stream in enumerate(self.program.streams):
            used = {(e[0], e[6] or "", e[3], e[5]) for e in stream.events if e[6] or e[0] in SCANNED}
            for kind, engine, b, nbytes in sorted(used, key=lambda e: (e[1], e[0], e[2], e[3])):
                if engine in GROUPED and (w, engine) not in self.channel:
                    if engine is not Engine.CP_ASYNC or kind in GROUPS:  # else its copies arrive on mbarriers
                        self.channel[w, engine], size = size, size + 2
                if early_close.is_irregular(kind, b, nbytes, self.program):
                    self.irregular.add(b)
                if kind is EventKind.CLUSTER_ARRIVE or kind is EventKind.CLUSTER_WAIT:
                    self.cluster = b
        return size

    # -- the run ------------------------------------------------------------------------------------------------------
    def run(self, hurried: Sequence[int] = ()) -> Execution:
        """Executes until everything is done, stuck, or stopped: each stream as far as it can, or, with streams ``hurried``,
        these before all others, which take turns. A program that passes the checks shows the same in any order."""
        handlers = self.handlers
        ready, streams, at = self.ready, self.program.streams, self.at
        while ready and not self.stopped:
            if hurried:  # stable: turns are kept
                ready = self.ready = deque(sorted(ready, key=lambda u: u not in hurried))
            w = ready.popleft()
            events, start = streams[w].events, at[w]
            i, size = start, len(events)
            end = min(size, start + (1 if hurried and w not in hurried else SLICE))
            while i < end and handlers[events[i][0]](self, w, i + 1, events[i]):
                i += 1
            at[w] = i
            if i == end < size:
                ready.append(w)
            elif i == size and self.cluster >= 0:
                meetings.exited(self)
            if i > start:
                self.order.append((w, start, i))
            if self.deadline is not None and perf_counter() > self.deadline:
                self.stopped = "time"
        if not self.stopped:
            self._finish()
        return self

    @property
    def blocked(self) -> list[int]:
        """The streams that could not run to their end."""
        return [w for w, s in enumerate(self.program.streams) if self.at[w] < len(s.events)]

    # -- accesses -----------------------------------------------------------------------------------------------------
    def _work(self, w: int, j: int, e: Event) -> bool:
        if e.accesses:
            self.races.touch(w, j, self.base[w], e, SYNC, 0)
            if w in self.fencing.touched:
                self.fencing.note_registers(w, j, e)
        if e.op in self.program.noted:
            self.notes.append(Note(w, j, SYNC, 0, self.base[w], e.op))
        return True

    def _async(self, w: int, j: int, e: Event) -> bool:
        engine, b = e.engine, e.barrier
        key = (w, engine)
        if key in self.channel:
            groups = self.groups[key]
            self.groups[key] = phases.issue(groups)
            comp, value = self.channel[key], groups.committed + 1
        elif b >= 0:
            comp, value = self.n + b, self.state[b].completed + 1
        else:
            comp, value = ARRIVING.get(engine, NEVER), j
        if e.accesses:
            self.races.touch(w, j, self.base[w], e, comp, value)
            if w in self.fencing.touched:
                self.fencing.note_registers(w, j, e)
        if engine is Engine.TCGEN05_ST:
            channels.behind_store(self, w)
        if e.op in self.program.noted:
            self.notes.append(Note(w, j, comp, value, self.base[w], e.op))
        if b >= 0:
            self.landing[b] = w, j, self.state[b].completed
            self._add_bytes(w, j, e, phases.complete_tx)
        return True

    def _fence(self, w: int, j: int, e: Event) -> bool:
        self.fenced[w].append((j, self.base[w], e.lane))
        return True

    # -- waits --------------------------------------------------------------------------------------------------------
    def _wait(self, w: int, j: int, e: Event) -> bool:
        b, g = e.barrier, e.number
        done = self.state[b].completed
        if (done - 1 - (e.parity if g is None else g)) & 1:
            self.parked[b].append(w)
            return False
        self._check_pass(w, j, b, g, done)
        base = self.base[w]
        if g is None:
            self.parities.setdefault((w, b), []).append((j, done))
        again = g is None and self.passed.get((w, b)) == done  # a parity that has let this warp pass before
        self.waits[b].append((w, j, base, again))
        self.passed[w, b] = done
        if base[self.n + b] < done:
            self.base[w] = joined(base, self.cumul[b])
        return True

    def _check_pass(self, w: int, j: int, b: int, g: int | None, done: int) -> None:
        if g is not None and done != g + 1:
            self.report("alias", b, g, w, j, passed=done - 1)
        elif done >= 2 and self.base[w][self.n + b] < done - 1:
            late = self._unknown(w, j, self.before[b])
            if late is not None:
                self.report("early_pass", b, done - 1, w, j, late)

    # -- contributions to mbarriers -----------------------------------------------------------------------------------
    def contribute(self, w: int, j: int, b: int, kind: EventKind, nbytes: int) -> None:
        """Event ``j`` of stream ``w`` contributes to the open generation of ``b`` (R1 is checked)."""
        base, done = self.base[w], self.state[b].completed
        if done and base[self.n + b] < done:
            late = self._unknown(w, j, self.last[b])
            if late is not None:
                self.report("misassigned", b, done, w, j, late)
        if done and kind in ARRIVES and not any(u == w or base[u] >= k for u, k, _, _ in self.waits[b]):
            self.unobserved.setdefault(b, (w, j, done - 1))
        self.log[b].append(ENTRY((w, j, base, kind, nbytes)))

    def _unknown(self, w: int, j: int, places: dict[int, int]) -> tuple[int, int] | None:
        """An event of ``places`` (stream -> place; negative: an async contribution) that is not before event ``j`` of
        ``w``."""
        base = self.base[w]
        for u, k in places.items():
            if u < 0:
                if u >= -self.n or not async_arrivals.committed(self, (-u - 1) % self.n, k, base):
                    return (-u - 1) % self.n, k
                continue
            if u != w and base[u] < k:
                return u, k
        return None

    def arrive(self, w: int, j: int, e: Event) -> bool:
        for b in (e.barrier, *e.also):
            left = (1 if e.number is None else e.number) * self.weight[w]
            nbytes = e.bytes * self.weight[w]
            self.contribute(w, j, b, e.kind, nbytes)
            while left and not self.stopped:
                left, nbytes = self._arrivals(w, j, b, left, nbytes, e.kind), 0
        return True

    def _arrivals(self, w: int, j: int, b: int, left: int, nbytes: int, kind: EventKind) -> int:
        """Makes as many of ``left`` arrivals as the open phase takes; the rest spills into the next one."""
        state: Phase = self.state[b]  # type: ignore[assignment]
        now = min(left, state.pending)
        if left > now and (now == 0 or state.tx + nbytes):
            self.report("over_arrival", b, state.completed, w, j)
            self.stopped = "undefined"
            return 0
        if left > now:
            self.report("misassigned", b, state.completed + 1, w, j, (w, j))
        self._becomes(b, phases.arrive(state, now, nbytes))
        if left > now:
            self.log[b].append(Entry(w, j, self.base[w], kind, 0))
        return left - now

    def _add_bytes(self, w: int, j: int, e: Event, change) -> bool:
        nbytes = e.bytes * self.weight[w]
        self.contribute(w, j, e.barrier, e.kind, nbytes)
        self._becomes(e.barrier, change(self.state[e.barrier], nbytes))
        return True

    def _becomes(self, b: int, after: Phase) -> None:
        if after.completed > self.state[b].completed:
            early_close.check_completed(self, b)
            self.complete(b)
        self.state[b] = after

    def complete(self, b: int) -> None:
        """The open generation of ``b`` is complete: join its contributions, check the waits of the last one, wake."""
        log = self.log[b]
        own = {entry.stream: entry for entry in log}  # a later one of the same stream covers the earlier
        known = log[-1].base
        for base in {id(entry.base): entry.base for entry in own.values()}.values():
            if base is not known:
                known = joined(known, base)
        clock = list(known)
        for w, entry in own.items():
            if clock[w] < entry.index:
                clock[w] = entry.index
        if self.ahead:
            behind_peeks(self, b, clock)
        generation, mine = self.state[b].completed, self.n + b
        for w, j, base, again in self.waits[b]:
            if clock[w] < j:
                kind = "stale" if again else "overrun"
                self.report(
                    kind, b, generation - 1, w, j, log[-1][:2], base, clock=joined(clock, self.cumul[b])
                )
        if clock[mine] < generation:
            clock = list(joined(clock, self.cumul[b]))
        clock[mine] = generation + 1
        self.cumul[b] = tuple(clock)
        self.waits[b] = []
        self.before[b] = self.last[b]
        self.last[b] = {w: entry.index for w, entry in own.items()}
        for place, entry in enumerate(log):
            if entry.kind not in BY_ENGINES:
                continue
            commits = entry.kind is EventKind.COMMIT_ARRIVE
            if commits and self.program.streams[entry.stream].events[entry.index - 1].also:
                # each may be known by itself
                self.last[b][-entry.stream - 1 - self.n * (place + 1)] = entry.index
            else:
                self.last[b][-entry.stream - 1] = entry.index
        self.log[b] = []
        if not self.parked[b]:
            return
        if self.program.barriers[b].kind is BarrierKind.NAMED:
            for w in self.parked[
                b
            ]:  # they know of this generation, which they have joined, and of no later one
                self.base[w] = self.cumul[b]
        self.ready.extend(self.parked[b])
        self.parked[b] = []

    # -- the end ------------------------------------------------------------------------------------------------------
    def _finish(self) -> None:
        early_close.check_open(self)
        self.allocations.finish()
        for w in self.blocked:
            event = self.program.streams[w].events[self.at[w]]
            if event.kind is EventKind.WAIT:
                self._check_blocked(w, self.at[w] + 1, event)

    def _check_blocked(self, w: int, j: int, e: Event) -> None:
        """A wait that blocks now would have passed one phase ago: it must be known to come after that phase."""
        b = e.barrier
        done = self.state[b].completed
        if not done or self.base[w][self.n + b] >= done:
            return
        late = self._unknown(w, j, self.last[b])
        if late is not None:
            lapped = e.number is None or done >= e.number + 2
            self.report("overrun" if lapped else "early_pass", b, done - 2 if lapped else done, w, j, late)

    def report(
        self,
        kind: str,
        b: int,
        generation: int,
        w: int,
        j: int,
        other: tuple[int, int] | None = None,
        base: Clock | None = None,
        passed: int = 0,
        clock: Clock = (),
    ) -> None:
        key = (kind, self.program.streams[w].events[j - 1].op, b)
        if key in self.seen:
            return
        self.seen.add(key)
        self.incidents.append(
            Incident(kind, b, generation, w, j, self.base[w] if base is None else base, other, passed, clock)
        )
        if len(self.incidents) >= MAX_INCIDENTS:
            self.stopped = "incidents"


TABLE = {
    EventKind.WORK: Execution._work,
    EventKind.ASYNC: Execution._async,
    EventKind.WAIT: Execution._wait,
    EventKind.TRY: peek,
    EventKind.ARRIVE: Execution.arrive,
    EventKind.EXPECT: lambda run, w, j, e: run._add_bytes(w, j, e, phases.expect_tx),
    EventKind.ARRIVE_EXPECT: Execution.arrive,
    EventKind.COMMIT_ARRIVE: async_arrivals.commit_arrive,
    EventKind.GROUP_COMMIT: channels.group_commit,
    EventKind.GROUP_WAIT: channels.group_wait,
    EventKind.GROUP_WAIT_READ: channels.group_wait_read,
    EventKind.SYNC: meetings.sync,
    EventKind.BAR_ARRIVE: meetings.bar_arrive,
    EventKind.FENCE: Execution._fence,
    EventKind.SYNC_WARP: lambda *step: True,
    EventKind.LIFETIME: meetings.lifetime,
    EventKind.CLUSTER_ARRIVE: meetings.cluster_arrive,
    EventKind.CLUSTER_WAIT: meetings.cluster_wait,
    EventKind.DRAIN: channels.drain,
    EventKind.FENCE_BEFORE: lambda run, *step: run.fencing.fence_before(*step),
    EventKind.FENCE_AFTER: lambda run, *step: run.fencing.fence_after(*step),
    EventKind.WGMMA_FENCE: lambda run, *step: run.fencing.fence_wgmma(*step),
    EventKind.TMEM_ALLOC: lambda run, *step: run.allocations.alloc(*step),
    EventKind.TMEM_DEALLOC: lambda run, *step: run.allocations.dealloc(*step),
    EventKind.TMEM_RELINQUISH: lambda run, *step: run.allocations.relinquish(*step),
    EventKind.TENSORMAP_UPDATE: Execution._work,
    EventKind.FENCE_TENSORMAP: lambda run, *step: run.maps.fence(*step),
    EventKind.HELD_ARRIVE: async_arrivals.held_arrive,
    EventKind.REGISTERS: meetings.registers,
}
Execution.handlers = [TABLE[kind] for kind in EventKind]
