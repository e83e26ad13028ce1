"""The discrete-event simulation of one CTA: every warp takes its next step when the one before is paid for."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from .. import phases
from ..document import Document, Engine
from ..program import Event, EventKind, Program, in_cta
from ..schedulers import has_slots
from ..tensor_core import COMMITTED
from ..tree import find_target, ops_of
from .columns import ColumnRecorder
from .costs import Costs
from .engines import LANES, REQUESTS, Engines
from .recorder import Cause, Recorder
from .state import Signal, Warp
from .timeline import Blocked, Timeline

PASSED_STATES = {"empty": "filling", "full": "reading"}  # a wait on this side passed: what its stage now is
COMPLETED_STATES = {"empty": "empty", "full": "full"}  # a phase of this side completed


class Simulation:
    """Runs ``program``; `run` gives the timeline, after at most ``limit`` steps."""

    def __init__(self, document: Document, program: Program, costs: Costs, limit: int) -> None:
        self.program, self.costs, self.limit = program, costs, limit
        self.recorder = Recorder(program)
        self.columns = ColumnRecorder(document)
        self.slots = {r.name for r in document.resources if has_slots(r)}
        ctas = range(1 + max((s.cta for s in program.streams), default=0))
        self.engines = [Engines(document, costs) for _ in ctas]  # each CTA of a cluster has an SM of its own
        tasks = {t.name: t for t in document.tasks}
        self.warps = [Warp(i, s.events, tasks[s.task], s.warp, s.cta) for i, s in enumerate(program.streams)]
        self.signals = [Signal(b) for b in program.barriers]
        self.ops = {op.id: op for task in document.tasks for op in ops_of(task)}
        self.works = {(r.name, w.name): w for r in document.resources for w in r.works}
        self.targets = {o.target: find_target(document, o.target) for o in self.ops.values()}
        for barrier in program.barriers:
            if barrier.side in ("full", "empty"):
                self.recorder.know(barrier.resource, barrier.stage)
        self.queue: list[tuple[int, int, Callable[..., None], tuple]] = []
        self.notes: dict[str, str] = {}
        self.number = 0
        self.steps = 0
        self.handlers: dict[EventKind, Callable[[Warp, Event, int], None]] = {
            EventKind.WORK: self._work,
            EventKind.ASYNC: self._async,
            EventKind.WAIT: self._wait,
            EventKind.TRY: self._cost(costs.wait_ready),
            EventKind.ARRIVE: self._arrive,
            EventKind.EXPECT: self._arrive,
            EventKind.ARRIVE_EXPECT: self._arrive,
            EventKind.COMMIT_ARRIVE: self._commit_arrive,
            EventKind.GROUP_COMMIT: self._group_commit,
            EventKind.GROUP_WAIT: self._group_wait,
            EventKind.GROUP_WAIT_READ: self._group_wait,
            EventKind.SYNC: self._sync,
            EventKind.BAR_ARRIVE: self._sync,
            EventKind.FENCE: self._cost(costs.fence),
            EventKind.SYNC_WARP: self._cost(costs.group),
            EventKind.LIFETIME: self._lifetime,
            EventKind.CLUSTER_ARRIVE: self._cluster_arrive,
            EventKind.CLUSTER_WAIT: self._cluster_wait,
            EventKind.DRAIN: self._drain,
            EventKind.FENCE_BEFORE: self._cost(costs.group),
            EventKind.FENCE_AFTER: self._cost(costs.group),
            EventKind.WGMMA_FENCE: self._cost(costs.group),
            EventKind.TMEM_ALLOC: self._columns,
            EventKind.TMEM_DEALLOC: self._columns,
            EventKind.TMEM_RELINQUISH: self._cost(costs.group),
            EventKind.TENSORMAP_UPDATE: self._cost(costs.work),
            EventKind.FENCE_TENSORMAP: self._cost(costs.fence),
            EventKind.HELD_ARRIVE: self._held_arrive,
            EventKind.REGISTERS: self._registers,
        }

    def run(self) -> Timeline:
        """Simulates until nothing more can happen."""
        for warp in self.warps:
            self._at(0, self._step, warp)
        while self.queue and self.steps < self.limit:
            time, _, action, arguments = heapq.heappop(self.queue)
            action(*arguments, time)
        truncated = bool(self.queue)
        blocked = [] if truncated else self._blocked()
        total = max(self.recorder.end(), max((b.since for b in blocked), default=0))
        for item in blocked:
            event = self.warps[item.lane].events[self.warps[item.lane].position]
            self.recorder.bar(item.lane, event, item.since, total, "wait", *self._about(event), open=True)
        self.recorder.close(total)
        if truncated:
            self.notes[""] = f"stopped after {self.steps} steps"
        recorder = self.recorder
        return Timeline(
            tuple(recorder.lanes),
            tuple(recorder.bars),
            tuple(recorder.arrows),
            tuple(recorder.stages),
            total,
            all(w.done for w in self.warps),
            truncated,
            tuple(blocked),
            self.program.values,
            tuple(sorted((in_cta(n, c), t) for c, e in enumerate(self.engines) for n, t in e.busy.items())),
            tuple(self.notes.values()),
            self.columns.spans(recorder.stages, total),
        )

    # -- time ---------------------------------------------------------------------------------------------------------
    def _at(self, time: int, action: Callable[..., None], *arguments: object) -> None:
        self.number += 1
        heapq.heappush(self.queue, (time, self.number, action, arguments))

    def _step(self, warp: Warp, time: int) -> None:
        if warp.position == len(warp.events):
            warp.done = True
            if self.signals[-1].waiting:
                self._cluster((warp.lane, *self._last(warp), time), time)
            return
        self.steps += 1
        event = warp.events[warp.position]
        self.handlers[event.kind](warp, event, time)

    @staticmethod
    def _last(warp: Warp) -> tuple[str, tuple[tuple[str, int], ...]]:
        """Op and iteration of the last event of ``warp``."""
        return (warp.events[-1].op, warp.events[-1].at) if warp.events else ("", ())

    def _pay(self, warp: Warp, event: Event, start: int, cycles: int, kind: str = "issue") -> None:
        """The warp spends ``cycles`` on ``event`` and goes on."""
        self.recorder.bar(warp.lane, event, start, start + cycles, kind, *self._about(event))
        self._go_on(warp, start + cycles)

    def _go_on(self, warp: Warp, time: int) -> None:
        warp.position += 1
        self._at(time, self._step, warp)

    def _about(self, event: Event) -> tuple[str, int]:
        """Resource and stage of an event's bar."""
        if event.barrier >= 0:
            barrier = self.program.barriers[event.barrier]
            return barrier.resource, barrier.stage
        op = self.ops[event.op]
        return op.target, event.stage if event.kind in (EventKind.WORK, EventKind.ASYNC) else -1

    def _cost(self, cycles: int) -> Callable[[Warp, Event, int], None]:
        return lambda warp, event, time: self._pay(warp, event, time, cycles)

    # -- works --------------------------------------------------------------------------------------------------------
    def _work(self, warp: Warp, event: Event, time: int) -> None:
        if event.engine is None:  # a view: only a name for a stage
            self._go_on(warp, time)
            return
        nbytes = sum(a.high - a.low for a in event.accesses if a.space.partition("@")[0] == "smem")
        self._pay(warp, event, time, self.costs.work + nbytes // self.costs.work_bytes_per_cycle, "work")

    def _async(self, warp: Warp, event: Event, time: int) -> None:
        engine, recorder = event.engine, self.recorder
        engines = self.engines[warp.cta]
        issued = time + engines.issue_cost(engine)
        op = self.ops[event.op]
        asks = op.target in self.slots
        work = self.works.get((op.target, op.work))
        flight = engines.ask(issued) if asks else engines.fly(event, warp.task, warp.warp, work, issued)
        lane = recorder.engine(in_cta(REQUESTS if asks else LANES[engine], warp.cta))
        self.columns.flight(event, flight.start, flight.end)
        about = next(((r, s) for _, r, s in event.views), (op.target, event.stage))
        if engine is Engine.WGMMA:
            warpgroup = (warp.task.name, warp.cta, warp.warp // 4)
            recorder.merged(lane, event, flight.start, flight.end, warpgroup, *about)
        elif (
            not asks or self.program.barriers[event.barrier].cta == warp.cta
        ):  # a response goes to all CTAs at once
            recorder.bar(lane, event, flight.start, flight.end, "in-flight", *about)
        cause = (lane, event.op, event.at, flight.end)
        if event.barrier >= 0:
            self._at(flight.end, self._effect, event.barrier, 0, -event.bytes, cause)
        if engine in COMMITTED:
            warp.tcgen05 = max(warp.tcgen05, flight.end)
        elif engine is not Engine.TMA:
            if engine is Engine.CP_ASYNC:
                warp.copies = max(warp.copies, flight.end)
            warp.open.setdefault(engine, []).append((flight.read, flight.end, cause))
        self._pay(warp, event, time, max(issued, flight.returns) - time)

    def _columns(self, warp: Warp, event: Event, time: int) -> None:
        """Tensor memory is allocated (from the end of the op on) or freed."""
        allocates = event.kind is EventKind.TMEM_ALLOC
        self.columns.life(event, warp.cta, allocates, time + self.costs.work if allocates else time)
        self._pay(warp, event, time, self.costs.work)

    # -- groups -------------------------------------------------------------------------------------------------------
    def _group_commit(self, warp: Warp, event: Event, time: int) -> None:
        warp.groups.setdefault(event.engine, []).append(warp.open.pop(event.engine, []))
        self._pay(warp, event, time, self.costs.group)

    def _group_wait(self, warp: Warp, event: Event, time: int) -> None:
        groups = warp.groups.get(event.engine, [])
        covered = groups[: max(0, len(groups) - (event.number or 0))]
        read = event.kind is EventKind.GROUP_WAIT_READ
        last = max(
            ((f[0] if read else f[1], f[2]) for g in covered for f in g), default=None, key=lambda x: x[0]
        )
        if not read:
            del groups[: len(covered)]
        if last is None or last[0] <= time:
            self._pay(warp, event, time, self.costs.group)
            return
        end, (lane, op, at, _) = last
        self.recorder.bar(warp.lane, event, time, end, "wait", *self._about(event))
        self.recorder.arrow((lane, op, at, end), warp.lane, event, end)
        self._go_on(warp, end)

    def _drain(self, warp: Warp, event: Event, time: int) -> None:
        """tcgen05.wait: all of the engine's ops so far."""
        warp.groups.setdefault(event.engine, []).append(warp.open.pop(event.engine, []))
        self._group_wait(warp, event, time)

    # -- mbarriers ----------------------------------------------------------------------------------------------------
    def _wait(self, warp: Warp, event: Event, time: int) -> None:
        signal = self.signals[event.barrier]
        if signal.passes(event):
            self._passed(event, time)
            self._pay(warp, event, time, self.costs.wait_ready)
        else:
            signal.waiting.append((warp.lane, event, time))

    def _arrive(self, warp: Warp, event: Event, time: int) -> None:
        cause = (warp.lane, event.op, event.at, time + self.costs.arrive)
        effect = time + self.costs.arrive + self.costs.arrive_latency
        for barrier in event.barriers:
            self._at(effect, self._effect, barrier, event.number or 0, event.bytes, cause)
        self._pay(warp, event, time, self.costs.arrive)

    def _commit_arrive(self, warp: Warp, event: Event, time: int) -> None:
        end = max(warp.copies if event.engine else warp.tcgen05, time) + self.costs.arrive_latency
        for barrier in event.barriers:
            self._at(end, self._effect, barrier, event.number or 1, 0, (warp.lane, event.op, event.at, end))
        self._pay(warp, event, time, self.costs.arrive)

    def _held_arrive(self, warp: Warp, event: Event, time: int) -> None:
        signal = self.signals[event.barrier]
        signal.state = phases.hold(signal.state, event.number or 0)
        self._commit_arrive(warp, event, time)

    def _effect(self, barrier: int, arrivals: int, nbytes: int, cause: Cause, time: int) -> None:
        signal = self.signals[barrier]
        before = signal.state
        try:
            signal.state = phases.arrive(before, arrivals, nbytes)
        except phases.OverArrival:
            self.notes[cause[1]] = (
                f"{cause[1]} arrives once too often on {self.program.barriers[barrier].name}: ignored"
            )
        if signal.state.completed == before.completed:
            return
        self._stage(barrier, COMPLETED_STATES, time)
        waiting, signal.waiting = signal.waiting, []
        for lane, event, since in waiting:
            if signal.passes(event):
                end = max(time + self.costs.wake, since + self.costs.wait_ready)
                self._woken(lane, event, since, time, end, cause)
                self._passed(event, end)
            else:
                signal.waiting.append((lane, event, since))

    def _woken(self, lane: int, event: Event, since: int, time: int, end: int, cause: Cause) -> None:
        self.recorder.bar(lane, event, since, end, "wait", *self._about(event))
        self.recorder.arrow((*cause[:3], min(cause[3], time)), lane, event, end)
        self._go_on(self.warps[lane], end)

    def _passed(self, event: Event, time: int) -> None:
        """A wait has passed: what its stage now is; a drain leaves it empty."""
        if not event.drain:
            self._stage(event.barrier, PASSED_STATES, time)

    def _stage(self, number: int, states: dict[str, str], time: int) -> None:
        barrier = self.program.barriers[number]
        if barrier.side in states and not barrier.cta:  # of CTA 0's stages
            self.recorder.stage(barrier, states[barrier.side], time)

    # -- named barriers -----------------------------------------------------------------------------------------------
    def _sync(self, warp: Warp, event: Event, time: int) -> None:
        signal = self.signals[event.barrier]
        generation = signal.state.completed
        try:
            signal.state = phases.join(signal.state, 1, event.number or signal.warps)
        except (phases.CountMismatch, phases.OverArrival):
            name = self.program.barriers[event.barrier].name
            self.notes[event.op] = f"{event.op} meets others at {name} who count differently: ignored"
        if event.kind is EventKind.BAR_ARRIVE:
            self._pay(warp, event, time, self.costs.arrive)
        else:
            signal.waiting.append((warp.lane, event, time))
        if not phases.released(signal.state, generation):
            return
        waiting, signal.waiting = signal.waiting, []
        for lane, waiter, since in waiting:
            end = time + self.costs.sync
            if since == time and lane == warp.lane:  # the last one: nobody frees it
                self._pay(warp, waiter, time, self.costs.sync)
            else:
                self._woken(lane, waiter, since, time, end, (warp.lane, event.op, event.at, time))

    def _lifetime(self, warp: Warp, event: Event, time: int) -> None:
        if event.barrier >= 0 and event.number:
            signal = self.signals[event.barrier]
            signal.state = phases.restarted(signal.state)
        self._pay(warp, event, time, self.costs.arrive)

    # -- registers ----------------------------------------------------------------------------------------------------
    def _registers(self, warp: Warp, event: Event, time: int) -> None:
        signal = self.signals[event.barrier]
        if event.bytes > max(0, signal.state.spare):
            signal.waiting.append((warp.lane, event, time))
            return
        signal.state = phases.exchange(signal.state, event.bytes)
        self._pay(warp, event, time, self.costs.group)
        waiting, signal.waiting = (signal.waiting, []) if event.bytes < 0 else ([], signal.waiting)
        for lane, waiter, since in waiting:
            if waiter.bytes > signal.state.spare:
                signal.waiting.append((lane, waiter, since))
                continue
            signal.state = phases.exchange(signal.state, waiter.bytes)
            cause = warp.lane, event.op, event.at, time
            self._woken(lane, waiter, since, time, time + self.costs.group, cause)

    # -- the barrier of the cluster -----------------------------------------------------------------------------------
    def _cluster_arrive(self, warp: Warp, event: Event, time: int) -> None:
        warp.joined = (event.number or 0) + 1
        self._pay(warp, event, time, self.costs.arrive)
        self._at(time, self._cluster, (warp.lane, event.op, event.at, time))

    def _cluster_wait(self, warp: Warp, event: Event, time: int) -> None:
        if self._all_in(event):
            self._pay(warp, event, time, self.costs.sync)
        else:
            self.signals[event.barrier].waiting.append((warp.lane, event, time))

    def _all_in(self, event: Event) -> bool:
        """Whether every warp has joined the generation that ``event`` waits for, or has exited."""
        return all(w.done or w.joined > (event.number or 0) for w in self.warps)

    def _cluster(self, cause: Cause, time: int) -> None:
        """A warp has arrived or exited: those that waited for it go on."""
        signal = self.signals[-1]
        waiting, signal.waiting = signal.waiting, []
        for lane, event, since in waiting:
            if self._all_in(event):
                self._woken(lane, event, since, time, time + self.costs.sync, cause)
            else:
                signal.waiting.append((lane, event, since))

    def _blocked(self) -> list[Blocked]:
        found = []
        for barrier, signal in zip(self.program.barriers, self.signals, strict=True):
            owed = signal.owed()
            found += [
                Blocked(lane, e.op, e.at, barrier.name, since, owed) for lane, e, since in signal.waiting
            ]
        return sorted(found)
