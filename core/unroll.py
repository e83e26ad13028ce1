"""From a document to the machine program: loops unrolled, cursors turned into stages and generations.

Which cursor an op goes by: `core.cursors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .accesses import WorkEvents
from .clusters import CLUSTER_KINDS, values_of_cta
from .document import Document, Guard, GuardKind, Loop, Node, Op, OpKind, Resource, Task
from .event_kinds import MEETING_KINDS, PIPELINE_KINDS, REGISTER_KINDS
from .expressions import Integer, evaluate
from .interleave import stride_of
from .leading import led_pipelines
from .limits import in_time
from .machine import Machine
from .op_integers import chosen, computed
from .pipeline_steps import PipelineStep, WorkStep, pipeline_step, work_step
from .plain_events import plain_event
from .program import Event, EventKind, Program, Stray, Stream
from .register_requests import at_start, request
from .stretches import EVENT, Stretch, parts_of
from .unroll_barriers import cluster_barrier, raw_mbarrier

Conditions = Mapping[str, Sequence[int]]


def unroll(
    document: Document | Machine,
    values: Mapping[str, int],
    *,
    representatives: bool = False,
    conditions: Conditions | None = None,
    deadline: float | None = None,
) -> Program:
    """The program of a cluster with the symbols at ``values``; of one CTA where the others do the same and none reaches
    another. Many programs of one document share a `Machine`.

    ``representatives``: identical warps of a task become two streams, of weight 1 and the rest (enough for deadlocks
    and races). ``conditions`` gives each run-time condition or skip predicate a pattern of outcomes, repeated over the
    times that it is decided (`core.conditions`); without a pattern a condition is true, and no tile is skipped. A symbol
    that is ``per_tile`` may have one, too: its values in one tile after the other. Ops that name nothing known are left
    out: rules on structure report them. Raises KeyError for a symbol without a value, TimeUp once `perf_counter` is past
    ``deadline``.
    """
    machine = document if isinstance(document, Machine) else Machine(document)
    streams = tuple(streams_of(machine, representatives))
    for task, stream in streams:
        WarpWalk(machine, task, stream, values, conditions or {}, deadline).whole()
    return Program(
        tuple(stream for _, stream in streams),
        tuple(machine.barriers),
        tuple(sorted(values.items())),
        machine.noted,
    )


def streams_of(machine: Machine, representatives: bool = True) -> Iterator[tuple[Task, Stream]]:
    """An empty stream for each warp, or each class of identical warps, of every task in every CTA."""
    for cta in range(machine.ctas):
        for task in machine.document.tasks:
            for warps in machine.classes(task) if representatives else [(w,) for w in range(task.num_warps)]:
                yield task, Stream(task.name, warps[0], len(warps), warps, cta=cta)


def trip_count(loop: Loop, values: Mapping[str, int]) -> int:
    """How often ``loop`` runs; 0 where its bounds cannot be evaluated or its step is 0 (WD107 says so)."""
    start, stop, step = loop.start, loop.stop, loop.step
    try:
        start = start if isinstance(start, int) else evaluate(start, values)
        stop = stop if isinstance(stop, int) else evaluate(stop, values)
        step = step if isinstance(step, int) else evaluate(step, values)
    except (KeyError, ArithmeticError):
        return 0
    return max(0, -((start - stop) // step)) if step else 0


class WarpWalk:
    """Walks one task as one of its warps and records the events."""

    def __init__(
        self,
        machine: Machine,
        task: Task,
        stream: Stream,
        values: Mapping[str, int],
        conditions: Conditions,
        deadline: float | None = None,
    ) -> None:
        self.deadline = deadline
        self.machine, self.task, self.stream = machine, task, stream
        self.values = values_of_cta(machine.document, values, stream.cta)
        self.conditions = conditions
        self.works = WorkEvents(machine, task, stream)
        who = task.name, stream.warps, stream.cta
        self.steps = machine.steps.setdefault(who, {})
        self.stretches = machine.stretches.setdefault(who, {})
        # (resource, "acquire" | "commit" | "wait" | "release") -> uses
        self.cursor: dict[tuple[str, str], int] = machine.first_uses(task, stream.warp)
        self.own_lanes = machine.own_lanes(task)
        self.raw: dict[int, int] = {}  # raw mbarrier -> waits so far; the cluster barrier -> arrivals
        self.turns: dict[str, int] = {}  # loop id -> iterations so far, over all its runs
        self.at: tuple[tuple[str, int], ...] = ()
        self.loops: list[tuple[Loop, int, int]] = []  # loop, iteration, trips
        self.lane = False
        self.alone = False
        self.idle = False  # inside a block that another warp executes
        self.ranked = False
        self.registers = machine.entry

    def whole(self) -> None:
        """Walks the task from its start to its end."""
        self.begins()
        self.block(self.task.body)
        self.drains()

    def begins(self) -> None:
        """What the task asks for before its schedule."""
        if self.registers:
            at_start(self)

    def drains(self) -> None:
        """What the end of the task waits for."""
        for op in self.machine.drains(self.task, self.stream.warp, self.stream.cta):
            self.drain(op, self.machine.resources[op.target])

    def tail(self, op: Op) -> None:
        """A drain that the schedule states."""
        found = self.machine.routes.get(op.target)
        if not self.leads() and (self.task.name, op.target) in led_pipelines(self.machine.document):
            return
        if found is not None and found.produces[self.stream.cta] and not self.idle:
            self.drain(op, self.machine.resources[op.target], stated=True)

    def drain(self, op: Op, resource: Resource, stated: bool = False) -> None:
        """Waits until every stage that the task has filled is free: other CTAs may still arrive on its barriers (CUTLASS
        producer_tail, which Task Scheduling calls at the end of each task). ``op`` is its last commit, or the drain that is
        ``stated``: that waits for stages which its cursor has not come to, too, as for fresh ones."""
        uses, stages = self.cursor.get((resource.name, "commit"), 0), max(1, resource.pipeline.stages)
        for use in range(uses, uses + stages, stride_of(resource, "commit")):  # of the warp's own lane
            if use < stages and not stated:
                continue
            empty = self.machine.barrier(resource.name, "empty", use % stages, self.stream.cta)
            self.emit(EventKind.WAIT, op, empty, use // stages - 1, stage=use % stages, drain=True)

    def block(self, nodes: Sequence[Node | Stretch]) -> None:
        for node in nodes:
            if type(node) is Stretch:
                node.emit(self)
            elif isinstance(node, Op):
                self.op(node)
            elif isinstance(node, Loop):
                self.loop(node)
            else:
                around = self.context
                if self.enter(node):
                    self.block(self.parts(node))
                    self.context = around

    @property
    def context(self) -> tuple[bool, bool, bool, bool]:
        """What the blocks around say of who executes an op."""
        return self.lane, self.alone, self.ranked, self.idle

    @context.setter
    def context(self, context: tuple[bool, bool, bool, bool]) -> None:
        self.lane, self.alone, self.ranked, self.idle = context

    def enter(self, guard: Guard) -> bool:
        """Whether what is inside ``guard`` is walked; from here on in its context."""
        if self.passes(guard):
            self.lane = self.lane or guard.kind is GuardKind.ELECT_LANE
            self.alone = self.alone or guard.kind is GuardKind.ELECT_WARP
            self.ranked = self.ranked or guard.kind is GuardKind.CTA_RANK
            return True
        if guard.kind is GuardKind.ELECT_WARP and self.machine.passed_over(self.task, guard):
            self.idle = True
            return True
        return False

    def parts(self, node: Task | Loop | Guard) -> Sequence[Node | Stretch]:
        """What to walk in ``node``."""
        found = self.stretches.get(id(node))
        if found is None:
            found = self.stretches[id(node)] = parts_of(self, node.body)
        return found

    def loop(self, loop: Loop) -> None:
        trips = trip_count(loop, self.values)
        outer, values, kinds = self.at, self.values, self.machine.tile_kinds
        body = self.parts(loop)
        for i in self.iterations(trips):
            self.at = (*outer, (loop.var, i))
            self.loops.append((loop, i, trips))
            self.values = kinds.values_of(loop.id, self.turns.get(loop.id, 0), self.conditions, values)
            self.block(body)
            self.loops.pop()
            self.turns[loop.id] = self.turns.get(loop.id, 0) + 1
        self.at, self.values = outer, values

    def iterations(self, trips: int) -> Iterable[int]:
        """The iterations that are walked: all of them, in time."""
        return range(trips) if self.deadline is None else in_time(range(trips), self.deadline)

    def passes(self, guard: Guard) -> bool:
        kind = guard.kind
        if kind is GuardKind.ELECT_WARP:
            return self.stream.warp == guard.warp
        if kind is GuardKind.ELECT_LANE:
            return True
        if kind is GuardKind.CTA_RANK:
            return self.stream.cta == guard.cta
        if kind in (GuardKind.WHEN_TRUE, GuardKind.WHEN_FALSE):
            if guard.token and guard.id in self.machine.retries(self.task):
                return True
            return self.outcome(guard.key) is (kind is GuardKind.WHEN_TRUE)
        if kind is GuardKind.SKIPPABLE:
            tile = next((loop for loop, _, _ in reversed(self.loops) if loop.kind == "tile"), None)
            return not (tile and tile.skip_if and self.outcome(tile.skip_if))
        inner = next((x for x in reversed(self.loops) if guard.loop in ("", x[0].var)), None)
        if inner is None:
            return False  # a misplaced guard: WD108 says so
        _, i, trips = inner
        if kind is GuardKind.FIRST_ITER:
            return i == 0
        if kind is GuardKind.LAST_ITER:
            return i == trips - 1
        return i >= guard.start and guard.period > 0 and (i - guard.start) % guard.period == 0

    def outcome(self, key: str) -> bool:
        """How the condition came out when it was last decided (`core.conditions`)."""
        pattern = self.conditions.get(key)
        if not pattern:
            return self.machine.usual.get(key, True)
        depth = min(self.machine.decided.get(key, len(self.loops)), len(self.loops))
        turn = self.turns.get(self.loops[depth - 1][0].id, 0) if depth else 0
        return bool(pattern[turn % len(pattern)])

    def emit(
        self, kind: EventKind, op: Op, barrier: int = -1, number: int | None = 0, nbytes: int = 0, **more
    ) -> None:
        self.stream.events.append(Event(kind, op.id, self.at, barrier, number, nbytes, **more))

    def repeat(self, events: Iterable[Event]) -> None:
        """Emits ``events``, which are the same in all iterations, in this one."""
        at, append = self.at, self.stream.events.append
        for event in events:
            append(EVENT((*event[:2], at, *event[3:])) if at else event)

    def integer(self, op: Op, field: str, value: Integer, below: int) -> int:
        """``value`` here; what it cannot be, or is not within 0..``below`` (0: no bound), is noted as astray."""
        if isinstance(value, int):
            return value  # WD109 has looked at it
        found = computed(value, self.values, ((loop, i) for loop, i, _ in self.loops))
        if found is None or (below and not 0 <= found < below):
            self.stream.strays.append(Stray(len(self.stream.events), op.id, field, found, self.at))
        return found or 0

    def leads(self, resource: str = "", cursor: str = "") -> bool:
        """Whether this warp does what one warp of the task does for all: on a lane of its own, it does."""
        return self.alone or self.stream.warp == 0 or (resource, cursor) in self.own_lanes

    def op(self, op: Op) -> None:
        kind = op.kind
        if kind in PIPELINE_KINDS:
            step = self.step(op, pipeline_step)
            if step is not None:
                self.signal(op, step)
                self.move(step)
        elif self.idle:
            return
        elif kind is OpKind.WORK:
            self.work(op)
        elif kind is OpKind.PRODUCER_TAIL:
            self.tail(op)
        elif kind in REGISTER_KINDS:
            request(self, op.count, op)
        elif kind in CLUSTER_KINDS:
            cluster_barrier(self, op)
        elif kind not in MEETING_KINDS and (op.target, "raw") in self.machine.first:
            raw_mbarrier(self, op)
        else:
            self.repeat(self.step(op, plain_event))

    def step(self, op: Op, look_up: Callable[[WarpWalk, Op], Any]) -> Any:
        """What ``op`` does here, at any stage: the same in every program of the machine (which keeps ``op`` alive)."""
        key = id(op), self.alone, self.lane
        if key not in self.steps:
            self.steps[key] = look_up(self, op)
        return self.steps[key]

    # -- pipelines ----------------------------------------------------------------------------------------------------
    def opening(self, resource: Resource, opens: str) -> str:
        """The cursor of an acquire or wait, and of the work behind it: its own, or the one that closing moves."""
        return self.machine.opening(self.task, resource, opens)

    def signal(self, op: Op, step: PipelineStep) -> None:
        """The events of an op of a pipeline."""
        if self.idle or not step.made:
            return
        uses, stages = self.cursor.get(step.cursor, 0), step.stages
        stage, events, at = uses % stages, self.stream.events, self.at
        for kind, barrier, number, nbytes, also, waits, engine, lane in step.made:
            if waits:
                number = uses // stages - number
            elif also:
                also = tuple([b + stage for b in also])
            barrier += stage
            events.append(
                EVENT(
                    (kind, op.id, at, barrier, number, nbytes, engine, (), stage, (), None, lane, also, False)
                )
            )

    def move(self, step: PipelineStep) -> None:
        """Moves the cursor that an op moves, and what the task holds, whichever warp does the op."""
        cursor = self.cursor
        if step.takes:
            self.works.hold(step.resource, cursor.get(step.cursor, 0) % step.stages)
        if step.moved:
            cursor[step.moved] = cursor.get(step.moved, 0) + step.stride
        if step.gives:
            waits, releases = (cursor.get((step.resource.name, c), 0) for c in ("wait", "release"))
            if waits <= releases:  # with one cursor a side waits do not count
                self.works.let_go(step.resource)

    # -- works --------------------------------------------------------------------------------------------------------
    def work(self, op: Op) -> None:
        step: WorkStep | None = self.step(op, work_step)
        if step is None:
            return
        stage = self.stage_of(op, step)
        if not step.active:
            return
        at = stage, self.ranked
        events = step.made.get(at) if step.made is not None else None
        if events is None:
            situation = step.alone, step.leads, self.ranked, self.lane
            events = self.works.events(op, step.resource, step.work, stage, *situation)
            if step.made is not None:
                step.made[at] = events
        self.repeat(events)
        if step.fences:
            self.emit(EventKind.FENCE, op, lane=self.lane)

    def stage_of(self, op: Op, step: WorkStep) -> int:
        if step.cursor is None:
            storage = step.resource.storage
            return self.integer(op, "stage", chosen(op.stage), storage.stages if storage else 0)
        return max(0, self.cursor.get(step.cursor, 0) - step.back) % step.stages
