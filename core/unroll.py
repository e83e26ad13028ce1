"""From a document to the machine program: loops unrolled, cursors turned into stages and generations.

Cursor rules (CUTLASS `PipelineState`): each side of a pipeline counts uses; use i is stage i % S, generation i // S. One
cursor a side, moved by commit and release; `advance_on_acquire` and `advance_on_wait` give acquire and wait their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .arrivals import TMA, armed_bytes, arrivals_by, consumer_signal, empty_count, full_count, producer_signal
from .document import (
    Document,
    Engine,
    Guard,
    GuardKind,
    Loop,
    Node,
    Op,
    OpKind,
    Resource,
    Signal,
    Space,
    Task,
    Token,
)
from .expressions import evaluate
from .footprints import byte_range, engine_of, footprint_of, stage_bytes, tx_bytes
from .layout import layout
from .program import Access, Barrier, BarrierKind, Event, EventKind, Program, Stream
from .tree import walk

LEADER_ENGINES = (
    Engine.TMA,
    Engine.TCGEN05,
)  # issued by one thread of the task (PTX ISA, cp.async.bulk, tcgen05.mma)
UNTRACKED = (Space.NONE, Space.GMEM, Space.QUEUE, Space.PDL)  # no storage is modelled
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
    document: Document,
    values: Mapping[str, int],
    *,
    representatives: bool = False,
    conditions: Conditions | None = None,
) -> Program:
    """The program of one CTA with the symbols at ``values``.

    ``representatives``: identical warps of a task become two streams, of weight 1 and the rest (enough for deadlocks
    and races). ``conditions`` gives each run-time condition or skip predicate a pattern of outcomes, repeated over the
    iterations of the loop around it; a condition without a pattern is true. Ops that name nothing known are left out: rules
    on structure report them. Raises KeyError for a symbol without a value.
    """
    machine = _Machine(document, values, conditions or {})
    streams = [s for task in document.tasks for s in machine.streams(task, representatives)]
    return Program(tuple(streams), tuple(machine.barriers), tuple(sorted(values.items())))


class _Machine:
    """What all warps share: barrier numbers, storage places, arming bytes."""

    def __init__(self, document: Document, values: Mapping[str, int], conditions: Conditions) -> None:
        self.document, self.values, self.conditions = document, values, conditions
        self.resources = {r.name: r for r in document.resources}
        self.works = {(r.name, w.name): w for r in document.resources for w in r.works}
        self.groups = {g.name: g.kind for g in document.groups}
        self.offsets = layout(document).offsets
        self.barriers: list[Barrier] = []
        self.first: dict[tuple[str, str], int] = {}  # (name, side) -> number of its stage 0
        for r in document.resources:
            if r.pipeline:
                self._add(r.name, "full", full_count(document, r), r.pipeline.stages)
                self._add(r.name, "empty", empty_count(document, r), r.pipeline.stages)
        for m in document.mbarriers:
            self._add(m.name, "raw", self._raw_count(m.name) if m.count is None else m.count, m.stages)
        for b in document.barriers:
            self.first[b.name, "named"] = len(self.barriers)
            self.barriers.append(Barrier(b.name, BarrierKind.NAMED, max(1, b.threads // 32), b.name, "named"))
        warps = sum(t.num_warps for t in document.tasks)
        self.first["", "cluster"] = len(self.barriers)
        self.barriers.append(Barrier("cluster", BarrierKind.NAMED, max(1, warps), "", "cluster"))
        self.armed: dict[str, int] = {}

    def _add(self, name: str, side: str, count: int, stages: int) -> None:
        self.first[name, side] = len(self.barriers)
        for stage in range(max(1, stages)):
            label = f"{name}[{stage}]" if side == "raw" else f"{side} {name}[{stage}]"
            self.barriers.append(Barrier(label, BarrierKind.MBARRIER, count, name, side, stage))

    def _raw_count(self, name: str) -> int:
        kinds = (OpKind.MBARRIER_ARRIVE, OpKind.MBARRIER_ARRIVE_EXPECT)
        total = 0
        for task in self.document.tasks:
            ops = [n for n in walk(task.body) if isinstance(n, Op) and n.target == name and n.kind in kinds]
            if ops:
                total += task.num_warps
        return total or 1

    def armed_by(self, resource: Resource, task: Task, op: Op) -> int:
        if op.id not in self.armed:
            self.armed[op.id] = armed_bytes(self.document, resource, task, op)
        return self.armed[op.id]

    def streams(self, task: Task, representatives: bool) -> list[Stream]:
        return [
            _Warp(self, task, Stream(task.name, warps[0], len(warps), warps)).run()
            for warps in (_classes(self, task) if representatives else [(w,) for w in range(task.num_warps)])
        ]


def _classes(machine: _Machine, task: Task) -> list[tuple[int, ...]]:
    """Warps that differ from the others stand alone; the rest are one and all the others."""
    special, unlike = {0}, False
    for node in walk(task.body):
        if isinstance(node, Guard) and node.kind is GuardKind.ELECT_WARP:
            special.add(node.warp)
        if isinstance(node, Op):
            work = machine.works.get((node.target, node.work))
            for footprint in (node.footprint, work.footprint if work else None):
                unlike = unlike or (footprint is not None and footprint.kind == "ranges")
    if unlike:
        return [(w,) for w in range(task.num_warps)]
    rest = [w for w in range(task.num_warps) if w not in special]
    classes = [(w,) for w in sorted(special) if w < task.num_warps] + ([(rest[0],)] if rest else [])
    return classes + ([tuple(rest[1:])] if len(rest) > 1 else [])


class _Warp:
    """Walks one task as one of its warps and records the events."""

    def __init__(self, machine: _Machine, task: Task, stream: Stream) -> None:
        self.machine, self.task, self.stream = machine, task, stream
        self.cursor: dict[
            tuple[str, str], int
        ] = {}  # (resource, "acquire" | "commit" | "wait" | "release") -> uses
        self.views: dict[str, tuple[str, int, tuple[int, int]]] = {}  # token -> resource, stage, byte range
        self.raw: dict[str, int] = {}  # raw mbarrier -> waits so far
        self.turns: dict[str, int] = {}  # loop id -> iterations so far, over all its runs
        self.at: tuple[tuple[str, int], ...] = ()
        self.loops: list[tuple[Loop, int, int]] = []  # loop, iteration, trips
        self.lane = False
        self.alone = False

    def run(self) -> Stream:
        self.block(self.task.body)
        return self.stream

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

    def loop(self, loop: Loop) -> None:
        start, stop, step = (evaluate(e, self.machine.values) for e in (loop.start, loop.stop, loop.step))
        trips = max(0, -(-(stop - start) // step)) if step > 0 else 0
        outer = self.at
        for i in range(trips):
            self.at = (*outer, (loop.var, i))
            self.loops.append((loop, i, trips))
            self.block(loop.body)
            self.loops.pop()
            self.turns[loop.id] = self.turns.get(loop.id, 0) + 1
        self.at = outer

    def passes(self, guard: Guard) -> bool:
        kind = guard.kind
        if kind is GuardKind.ELECT_WARP:
            return self.stream.warp == guard.warp
        if kind is GuardKind.ELECT_LANE:
            return True
        if kind in (GuardKind.WHEN_TRUE, GuardKind.WHEN_FALSE):
            turn = self.turns.get(self.loops[-1][0].id, 0) if self.loops else 0
            return self.outcome(guard.key, turn) is (kind is GuardKind.WHEN_TRUE)
        if kind is GuardKind.SKIPPABLE:
            tile = next((loop for loop, _, _ in reversed(self.loops) if loop.kind == "tile"), None)
            return not (
                tile and tile.skip_if and self.outcome(tile.skip_if, self.turns.get(tile.id, 0), False)
            )
        inner = next((x for x in reversed(self.loops) if guard.loop in ("", x[0].var)), None)
        if inner is None:
            return False  # a misplaced guard: WD108 says so
        _, i, trips = inner
        if kind is GuardKind.FIRST_ITER:
            return i == 0
        if kind is GuardKind.LAST_ITER:
            return i == trips - 1
        return i >= guard.start and guard.period > 0 and (i - guard.start) % guard.period == 0

    def outcome(self, key: str, turn: int, default: bool = True) -> bool:
        pattern = self.machine.conditions.get(key)
        return bool(pattern[turn % len(pattern)]) if pattern else default

    def emit(
        self, kind: EventKind, op: Op, barrier: int = -1, number: int | None = 0, nbytes: int = 0, **more
    ) -> None:
        self.stream.events.append(Event(kind, op.id, self.at, barrier, number, nbytes, **more))

    def leads(self) -> bool:
        return self.alone or self.stream.warp == 0

    def op(self, op: Op) -> None:
        kind = op.kind
        if kind is OpKind.WORK:
            self.work(op)
        elif kind in PIPELINE_KINDS:
            resource = self.machine.resources.get(op.target)
            if resource and resource.pipeline:
                getattr(self, kind.value)(op, resource)
        elif kind in GROUP_KINDS:
            if op.target in self.machine.groups:
                self.emit(GROUP_KINDS[kind], op, number=op.count or 0, engine=self.machine.groups[op.target])
        elif kind in NAMED_KINDS:
            if (op.target, "named") in self.machine.first:
                self.emit(NAMED_KINDS[kind], op, self.machine.first[op.target, "named"])
        elif kind is OpKind.FENCE_PROXY_ASYNC:
            self.emit(EventKind.FENCE, op)
        elif kind is OpKind.SYNC_WARP:
            self.emit(EventKind.SYNC_WARP, op)
        elif kind in (OpKind.CLUSTER_SYNC, OpKind.CLUSTER_WAIT):
            self.emit(EventKind.SYNC, op, self.machine.first["", "cluster"])
        elif kind is OpKind.CLUSTER_ARRIVE:
            self.emit(EventKind.BAR_ARRIVE, op, self.machine.first["", "cluster"])
        elif (op.target, "raw") in self.machine.first:
            self.raw_mbarrier(op)

    # -- pipelines ----------------------------------------------------------------------------------------------------
    def place(self, resource: Resource, cursor: str) -> tuple[int, int]:
        """Stage and generation at ``cursor``."""
        uses, stages = self.cursor.get((resource.name, cursor), 0), max(1, resource.pipeline.stages)
        return uses % stages, uses // stages

    def advance(self, resource: Resource, cursor: str) -> None:
        self.cursor[resource.name, cursor] = self.cursor.get((resource.name, cursor), 0) + 1

    def number(self, resource: Resource, side: str, stage: int) -> int:
        return self.machine.first[resource.name, side] + stage

    def acquire(self, op: Op, resource: Resource) -> None:
        split = resource.pipeline.advance_on_acquire
        stage, generation = self.place(resource, "acquire" if split else "commit")
        self.emit(EventKind.WAIT, op, self.number(resource, "empty", stage), generation - 1, stage=stage)
        if producer_signal(self.machine.document, resource) == TMA and self.leads():
            nbytes = self.machine.armed_by(resource, self.task, op)
            self.emit(
                EventKind.ARRIVE_EXPECT, op, self.number(resource, "full", stage), 1, nbytes, stage=stage
            )
        if split:
            self.advance(resource, "acquire")

    def try_acquire(self, op: Op, resource: Resource) -> None:
        cursor = "acquire" if resource.pipeline.advance_on_acquire else "commit"
        stage, generation = self.place(resource, cursor)
        self.emit(EventKind.TRY, op, self.number(resource, "empty", stage), generation - 1, stage=stage)

    def commit(self, op: Op, resource: Resource) -> None:
        stage, _ = self.place(resource, "commit")
        signal = producer_signal(self.machine.document, resource)
        if signal != TMA:
            self.signal(op, signal, self.number(resource, "full", stage), stage)
        self.advance(resource, "commit")

    def wait(self, op: Op, resource: Resource) -> None:
        split = resource.pipeline.advance_on_wait
        stage, generation = self.place(resource, "wait" if split else "release")
        self.emit(EventKind.WAIT, op, self.number(resource, "full", stage), generation, stage=stage)
        if split:
            self.advance(resource, "wait")

    def try_wait(self, op: Op, resource: Resource) -> None:
        stage, generation = self.place(resource, "wait" if resource.pipeline.advance_on_wait else "release")
        self.emit(EventKind.TRY, op, self.number(resource, "full", stage), generation, stage=stage)

    def release(self, op: Op, resource: Resource) -> None:
        stage, _ = self.place(resource, "release")
        signal = consumer_signal(self.machine.document, resource)
        self.signal(op, signal, self.number(resource, "empty", stage), stage)
        self.advance(resource, "release")

    def signal(self, op: Op, signal: str, barrier: int, stage: int) -> None:
        count = arrivals_by(signal, self.leads(), self.lane)
        if count:
            kind = EventKind.COMMIT_ARRIVE if signal is Signal.COMMIT else EventKind.ARRIVE
            self.emit(kind, op, barrier, count, stage=stage)

    def raw_mbarrier(self, op: Op) -> None:
        barrier = self.machine.first[op.target, "raw"] + (op.stage or 0)
        if op.kind is OpKind.MBARRIER_WAIT:
            turn = self.raw.get(f"{op.target}[{op.stage or 0}]", 0)
            if op.count is None:
                self.emit(EventKind.WAIT, op, barrier, turn)
            else:
                self.emit(EventKind.WAIT, op, barrier, None, parity=op.count)
            self.raw[f"{op.target}[{op.stage or 0}]"] = turn + 1
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
        engine = engine_of(resource, work)
        if work.view:
            for result in op.results:
                self.views[result] = (resource.name, stage, self.range_of(resource, work, op))
            self.emit(EventKind.WORK, op, stage=stage)
            return
        for result in op.results:
            self.views.pop(result, None)  # a value, no longer a view
        if engine in LEADER_ENGINES and not self.leads():
            return
        views = [(p, self.views[v.name]) for p, v in op.args if isinstance(v, Token) and v.name in self.views]
        accesses = tuple(self.access(self.machine.resources[r], s, b, False) for _, (r, s, b) in views)
        own = self.access(resource, stage, self.range_of(resource, work, op), work.role == "producer")
        tracked = tuple(a for a in (*accesses, own) if a is not None)
        loads = engine is Engine.TMA and work.role == "producer"
        barrier = self.completion(op, resource, stage) if loads else -1
        nbytes = tx_bytes(resource, work, op, self.task) if barrier >= 0 else 0
        kind = EventKind.WORK if engine is Engine.WARP else EventKind.ASYNC
        bound = tuple((p, v[0], v[1]) for p, v in views)
        self.stream.events.append(
            Event(kind, op.id, self.at, barrier, 0, nbytes, engine, tracked, stage, bound)
        )

    def completion(self, op: Op, resource: Resource, stage: int) -> int:
        """The mbarrier that a TMA copy completes bytes on: one passed as an argument, else the stage's full barrier."""
        for _, value in op.args:
            if isinstance(value, str) and (value, "raw") in self.machine.first:
                return self.machine.first[value, "raw"] + stage
        return self.number(resource, "full", stage) if resource.pipeline else -1

    def stage_of(self, op: Op, resource: Resource, role: str) -> int:
        if resource.pipeline is None:
            return op.stage or 0
        split = (
            resource.pipeline.advance_on_acquire if role == "producer" else resource.pipeline.advance_on_wait
        )
        if not split:
            return self.place(resource, "commit" if role == "producer" else "release")[0]
        uses = self.cursor.get((resource.name, "acquire" if role == "producer" else "wait"), 0)
        return max(0, uses - 1) % max(1, resource.pipeline.stages)

    def range_of(self, resource: Resource, work, op: Op) -> tuple[int, int]:
        footprint, size = footprint_of(resource, work, op, self.task, self.alone), stage_bytes(resource)
        ranges = [byte_range(footprint, size, w, self.task.num_warps) for w in self.stream.warps]
        return min(r[0] for r in ranges), max(r[1] for r in ranges)

    def access(self, resource: Resource, stage: int, bytes_: tuple[int, int], write: bool) -> Access | None:
        low, high = bytes_
        if low >= high or (resource.pipeline is None and resource.space in UNTRACKED):
            return None
        base, space = stage * stage_bytes(resource), resource.name
        if resource.space is Space.RMEM:
            space = f"{resource.name}@{self.stream.name}"
        elif resource.name in self.machine.offsets:
            base += self.machine.offsets[resource.name]
            space = resource.space.value
        return Access(write, space, base + low, base + high, resource.name, stage)
