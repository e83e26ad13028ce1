"""From a document to the machine program: loops unrolled, cursors turned into stages and generations.

Which cursor an op goes by: `core.cursors`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .accesses import WorkEvents
from .arrivals import TMA, arrivals_by
from .cursors import CLOSES, OPENS, moved_cursor, opening_cursor
from .document import Document, Guard, GuardKind, Loop, Node, Op, OpKind, Resource, Signal, Task
from .expressions import evaluate
from .limits import in_time
from .machine import Machine
from .program import Event, EventKind, Program, Stream

Conditions = Mapping[str, Sequence[bool]]

PIPELINE_KINDS = frozenset(
    (OpKind.ACQUIRE, OpKind.COMMIT, OpKind.TRY_ACQUIRE, OpKind.WAIT, OpKind.RELEASE, OpKind.TRY_WAIT)
)
GROUP_KINDS = {
    OpKind.GROUP_COMMIT: EventKind.GROUP_COMMIT,
    OpKind.GROUP_WAIT: EventKind.GROUP_WAIT,
    OpKind.GROUP_WAIT_READ: EventKind.GROUP_WAIT_READ,
}
NAMED_KINDS = {OpKind.BARRIER_SYNC: EventKind.SYNC, OpKind.BARRIER_ARRIVE: EventKind.BAR_ARRIVE}


def unroll(
    document: Document | Machine,
    values: Mapping[str, int],
    *,
    representatives: bool = False,
    conditions: Conditions | None = None,
    deadline: float | None = None,
) -> Program:
    """The program of one CTA with the symbols at ``values``. Many programs of one document share a `Machine`.

    ``representatives``: identical warps of a task become two streams, of weight 1 and the rest (enough for deadlocks
    and races). ``conditions`` gives each run-time condition or skip predicate a pattern of outcomes, repeated over the
    times that it is decided (`core.conditions`); without a pattern a condition is true, and no tile is skipped. Ops that
    name nothing known are left out: rules on structure report them. Raises KeyError for a symbol without a value, TimeUp
    once `perf_counter` is past ``deadline``.
    """
    machine = document if isinstance(document, Machine) else Machine(document)
    streams = []
    for task in machine.document.tasks:
        for warps in machine.classes(task) if representatives else [(w,) for w in range(task.num_warps)]:
            stream = Stream(task.name, warps[0], len(warps), warps)
            WarpWalk(machine, task, stream, values, conditions or {}, deadline).block(task.body)
            streams.append(stream)
    return Program(tuple(streams), tuple(machine.barriers), tuple(sorted(values.items())), machine.noted)


def trip_count(loop: Loop, values: Mapping[str, int]) -> int:
    """How often ``loop`` runs; 0 where its bounds cannot be evaluated or its step is 0 (WD107 says so)."""
    try:
        start, stop, step = (evaluate(e, values) for e in (loop.start, loop.stop, loop.step))
    except ArithmeticError:
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
        self.values, self.conditions = values, conditions
        self.works = WorkEvents(machine, task, stream)
        self.cursor: dict[
            tuple[str, str], int
        ] = {}  # (resource, "acquire" | "commit" | "wait" | "release") -> uses
        self.raw: dict[int, int] = {}  # raw mbarrier -> waits so far
        self.turns: dict[str, int] = {}  # loop id -> iterations so far, over all its runs
        self.at: tuple[tuple[str, int], ...] = ()
        self.loops: list[tuple[Loop, int, int]] = []  # loop, iteration, trips
        self.lane = False
        self.alone = False
        self.idle = False  # inside a block that another warp executes

    def block(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if isinstance(node, Op):
                self.op(node)
            elif isinstance(node, Loop):
                self.loop(node)
            elif self.passes(node):
                saved = self.lane, self.alone
                self.lane = self.lane or node.kind is GuardKind.ELECT_LANE
                self.alone = self.alone or node.kind is GuardKind.ELECT_WARP
                self.block(node.body)
                self.lane, self.alone = saved
            elif node.kind is GuardKind.ELECT_WARP and self.machine.passed_over(self.task, node):
                self.idle, idle = True, self.idle
                self.block(node.body)
                self.idle = idle

    def loop(self, loop: Loop) -> None:
        trips = trip_count(loop, self.values)
        outer = self.at
        for i in self.iterations(trips):
            self.at = (*outer, (loop.var, i))
            self.loops.append((loop, i, trips))
            self.block(loop.body)
            self.loops.pop()
            self.turns[loop.id] = self.turns.get(loop.id, 0) + 1
        self.at = outer

    def iterations(self, trips: int) -> Iterable[int]:
        """The iterations that are walked: all of them, in time."""
        return range(trips) if self.deadline is None else in_time(range(trips), self.deadline)

    def passes(self, guard: Guard) -> bool:
        kind = guard.kind
        if kind is GuardKind.ELECT_WARP:
            return self.stream.warp == guard.warp
        if kind is GuardKind.ELECT_LANE:
            return True
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

    def leads(self) -> bool:
        return self.alone or self.stream.warp == 0

    def op(self, op: Op) -> None:
        kind = op.kind
        if self.idle:
            self.move(op)
        elif kind is OpKind.WORK:
            self.work(op)
        elif kind in PIPELINE_KINDS:
            resource = self.machine.resources.get(op.target)
            if resource and resource.pipeline:
                getattr(self, kind.value)(op, resource)
                self.move(op)
        elif kind in GROUP_KINDS:
            if op.target in self.machine.groups:
                self.emit(GROUP_KINDS[kind], op, number=op.count or 0, engine=self.machine.groups[op.target])
        elif kind in NAMED_KINDS:
            if (op.target, "named") in self.machine.first:
                barrier, warps = self.machine.first[op.target, "named"], self.machine.meeting[op.target]
                self.emit(NAMED_KINDS[kind], op, barrier, warps)
        elif kind is OpKind.FENCE_PROXY_ASYNC:
            self.emit(EventKind.FENCE, op, lane=self.lane)
        elif kind is OpKind.SYNC_WARP:
            self.emit(EventKind.SYNC_WARP, op)
        elif kind in (OpKind.CLUSTER_SYNC, OpKind.CLUSTER_WAIT):
            self.emit(EventKind.SYNC, op, self.machine.first["", "cluster"])
        elif kind is OpKind.CLUSTER_ARRIVE:
            if ("", "cluster_wait") in self.machine.pipeline_ops(self.task):
                return  # the wait stands for both halves (`core.unmodelled` says so)
            self.emit(EventKind.BAR_ARRIVE, op, self.machine.first["", "cluster"])
        elif (op.target, "raw") in self.machine.first:
            self.raw_mbarrier(op)

    # -- pipelines ----------------------------------------------------------------------------------------------------
    def place(self, resource: Resource, cursor: str) -> tuple[int, int]:
        """Stage and generation at ``cursor``."""
        uses, stages = self.cursor.get((resource.name, cursor), 0), max(1, resource.pipeline.stages)
        return uses % stages, uses // stages

    def opening(self, resource: Resource, opens: str) -> str:
        """The cursor of an acquire or wait, and of the work behind it: its own, or the one that closing moves."""
        return opening_cursor(resource, opens, self.machine.pipeline_ops(self.task))

    def move(self, op: Op) -> None:
        """Moves the cursor that ``op`` moves, whichever warp does the op."""
        resource = self.machine.resources.get(op.target)
        if resource and resource.pipeline:
            cursor = moved_cursor(resource, op.kind, self.machine.pipeline_ops(self.task))
            if cursor:
                self.cursor[op.target, cursor] = self.cursor.get((op.target, cursor), 0) + 1

    def number(self, resource: Resource, side: str, stage: int) -> int:
        return self.machine.first[resource.name, side] + stage

    def acquire(self, op: Op, resource: Resource) -> None:
        stage, generation = self.place(resource, self.opening(resource, "acquire"))
        self.emit(EventKind.WAIT, op, self.number(resource, "empty", stage), generation - 1, stage=stage)
        if self.machine.producer[resource.name] == TMA and self.leads():
            nbytes = self.machine.armed_by(resource, self.task, op)
            self.emit(
                EventKind.ARRIVE_EXPECT, op, self.number(resource, "full", stage), 1, nbytes, stage=stage
            )

    def try_acquire(self, op: Op, resource: Resource) -> None:
        stage, generation = self.place(resource, self.opening(resource, "acquire"))
        self.emit(EventKind.TRY, op, self.number(resource, "empty", stage), generation - 1, stage=stage)

    def commit(self, op: Op, resource: Resource) -> None:
        stage, _ = self.place(resource, "commit")
        signal = self.machine.producer[resource.name]
        if signal != TMA:
            self.signal(op, signal, self.number(resource, "full", stage), stage)

    def wait(self, op: Op, resource: Resource) -> None:
        stage, generation = self.place(resource, self.opening(resource, "wait"))
        self.emit(EventKind.WAIT, op, self.number(resource, "full", stage), generation, stage=stage)

    def try_wait(self, op: Op, resource: Resource) -> None:
        stage, generation = self.place(resource, self.opening(resource, "wait"))
        self.emit(EventKind.TRY, op, self.number(resource, "full", stage), generation, stage=stage)

    def release(self, op: Op, resource: Resource) -> None:
        stage, _ = self.place(resource, "release")
        signal = self.machine.consumer[resource.name]
        self.signal(op, signal, self.number(resource, "empty", stage), stage)

    def signal(self, op: Op, signal: str, barrier: int, stage: int) -> None:
        count = arrivals_by(signal, self.leads(), self.lane)
        if count:
            kind = EventKind.COMMIT_ARRIVE if signal is Signal.COMMIT else EventKind.ARRIVE
            self.emit(kind, op, barrier, count, stage=stage)

    def raw_mbarrier(self, op: Op) -> None:
        barrier = self.machine.raw_barrier(op.target, op.stage or 0)
        if op.kind is OpKind.MBARRIER_WAIT:
            turn = self.raw.get(barrier, 0)
            if op.count is None:
                self.emit(EventKind.WAIT, op, barrier, turn)
            else:
                self.emit(EventKind.WAIT, op, barrier, None, parity=op.count & 1)
            self.raw[barrier] = turn + 1
        elif op.kind is OpKind.MBARRIER_ARRIVE:
            self.emit(EventKind.ARRIVE, op, barrier, 1 if op.count is None else op.count)
        elif op.kind is OpKind.MBARRIER_EXPECT:
            self.emit(EventKind.EXPECT, op, barrier, 0, op.count or 0)
        elif op.kind is OpKind.MBARRIER_ARRIVE_EXPECT:
            self.emit(EventKind.ARRIVE_EXPECT, op, barrier, 1, op.count or 0)

    # -- works --------------------------------------------------------------------------------------------------------
    def work(self, op: Op) -> None:
        resource, work = self.machine.resources.get(op.target), self.machine.works.get((op.target, op.work))
        if resource is None or work is None:
            return
        stage = self.stage_of(op, resource, work.role)
        event = self.works.event(op, resource, work, stage, self.alone, self.leads(), self.lane)
        if event is not None:
            self.stream.events.append(Event(*event[:2], self.at, *event[3:]) if self.at else event)

    def stage_of(self, op: Op, resource: Resource, role: str) -> int:
        if resource.pipeline is None:
            return op.stage or 0
        opens = OPENS["producer" if role == "producer" else "consumer"]
        cursor = self.opening(resource, opens)
        if cursor == CLOSES[opens]:
            return self.place(resource, cursor)[0]
        return max(0, self.cursor.get((resource.name, opens), 0) - 1) % max(1, resource.pipeline.stages)
