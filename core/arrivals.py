"""Who arrives on a pipeline's mbarriers, how often, and with how many transaction bytes.

One table says it for every user: the verifier, the emulator and the code generators. Sources: CUTLASS pipeline classes as
documented in the CuTe DSL (`PipelineTmaAsync`: the producer's acquire arms full with one elected arrive.expect_tx,
its commit is empty, a consumer warp releases with one elected lane; `PipelineAsync`: each thread arrives;
`tcgen05.commit`: one arrival, PTX ISA tcgen05.commit).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

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
    Task,
    Work,
)
from .expressions import evaluate, symbols_of
from .footprints import engine_of, tx_bytes
from .tree import find_work, walk

TMA = "tma"  # the full barrier is armed by acquire and completed by the copies

RAW_ARRIVALS = (OpKind.MBARRIER_ARRIVE, OpKind.MBARRIER_ARRIVE_EXPECT)

# pipeline type -> (what makes full complete, what makes empty complete)
SIGNALS: dict[str, tuple[str, Signal]] = {
    "TmaAsync": (TMA, Signal.WARP),
    "TmaUmma": (TMA, Signal.COMMIT),
    "ClcFetchAsync": (TMA, Signal.THREAD),
    "AsyncAsync": (Signal.THREAD, Signal.THREAD),
    "AsyncUmma": (Signal.THREAD, Signal.COMMIT),
    "UmmaAsync": (Signal.COMMIT, Signal.THREAD),
    "UmmaUmma": (Signal.COMMIT, Signal.COMMIT),
}


def producer_signal(document: Document, resource: Resource) -> str:
    """`TMA`, or the `Signal` by which a commit arrives on full."""
    pipeline = resource.pipeline
    if pipeline.type in SIGNALS:
        signal = SIGNALS[pipeline.type][0]
        return signal if signal == TMA else pipeline.producer_signal or signal
    engines = {engine_of(resource, w) for w in resource.works if w.role == "producer" and not w.auxiliary}
    if Engine.TMA in engines:
        return TMA
    return pipeline.producer_signal or (Signal.COMMIT if Engine.TCGEN05 in engines else Signal.WARP)


def consumer_signal(document: Document, resource: Resource) -> Signal:
    """The `Signal` by which a release arrives on empty."""
    pipeline = resource.pipeline
    if pipeline.consumer_signal:
        return pipeline.consumer_signal
    return SIGNALS[pipeline.type][1] if pipeline.type in SIGNALS else Signal.WARP


def arrivals_by(signal: str, leader: bool, elected_lane: bool = False) -> int:
    """Arrivals that one warp makes with one commit or release; ``leader``: it is the first of those that execute it."""
    if signal is Signal.THREAD:
        return 1 if elected_lane else 32
    if signal is Signal.LEADER_THREADS:
        return (1 if elected_lane else 32) if leader else 0
    if signal is Signal.WARP:
        return 1
    return 1 if leader else 0  # LEADER, COMMIT, TMA


def full_count(document: Document, resource: Resource) -> int:
    """Arrival count of full: as declared, else derived."""
    declared = resource.pipeline.producer_count
    return derived_full_count(document, resource) if declared is None else declared


def empty_count(document: Document, resource: Resource) -> int:
    """Arrival count of empty: as declared, else derived."""
    declared = resource.pipeline.consumer_count
    return derived_empty_count(document, resource) if declared is None else declared


def derived_full_count(document: Document, resource: Resource) -> int:
    """Arrivals that the tasks make on full in one generation (1 where no task produces: the barrier must exist)."""
    signal = producer_signal(document, resource)
    kind = OpKind.ACQUIRE if signal == TMA else OpKind.COMMIT
    return sum(_per_generation(task, resource, kind, signal) for task in document.tasks) or 1


def derived_empty_count(document: Document, resource: Resource) -> int:
    """Arrivals that the tasks make on empty in one generation (1 where no task consumes: the barrier must exist)."""
    signal = consumer_signal(document, resource)
    total = sum(_per_generation(task, resource, OpKind.RELEASE, signal) for task in document.tasks)
    return total or 1


def derived_raw_count(document: Document, name: str) -> int:
    """Arrivals on a raw mbarrier in one phase: those of the first arrive of each task (1 where nobody arrives)."""
    total = 0
    for task in document.tasks:
        found = _first_with_election(task.body, name, RAW_ARRIVALS, None, False)
        if found is None:
            continue
        warp, _, op = found
        warps = task.num_warps if warp is None else int(0 <= warp < task.num_warps)
        counted = op.kind is OpKind.MBARRIER_ARRIVE and op.count is not None
        total += warps * (op.count if counted else 1)
    return total or 1


def armed_bytes(document: Document, resource: Resource, task: Task, acquire: Op) -> int:
    """Transaction bytes that ``acquire`` expects on full: those of the task's own copies up to the next commit.

    Declared bytes that differ from what all tasks deliver are a mistake which must show: the difference is armed by the
    producing task with the lowest warps.
    """
    own = bracket_bytes(document, resource, task, acquire)
    declared = resource.pipeline.bytes
    if declared is None:
        return own
    firsts = [(t, a) for t in document.tasks if (a := first_acquire(t, resource)) is not None]
    delivered = sum(bracket_bytes(document, resource, t, a) for t, a in firsts)
    first = min(firsts, key=lambda found: (found[0].warp_idx, found[0].name), default=(task, None))[0]
    surplus = declared - delivered if first.name == task.name else 0
    return max(0, own + surplus)


def bracket_bytes(document: Document, resource: Resource, task: Task, acquire: Op) -> int:
    """Bytes of the copies into ``resource`` between ``acquire`` and the next commit, in schedule order.

    A copy in a loop within the bracket counts once for each iteration, or once where that number is known only at run time
    (WD203 says so).
    """
    return sum(
        tx_bytes(resource, work, op, task) * _times(loops)
        for op, work, loops in bracket_copies(resource, task, acquire)
    )


def bracket_copies(
    resource: Resource, task: Task, acquire: Op
) -> Iterator[tuple[Op, Work, tuple[Loop, ...]]]:
    """The copies between ``acquire`` and the next commit, with the loops around each that are not around the acquire."""
    around: tuple[Loop, ...] | None = None
    for op, loops in _with_loops(task.body, ()):
        if op.target != resource.name:
            continue
        if op.id == acquire.id:
            around = loops
        elif around is not None and op.kind is OpKind.COMMIT:
            return
        elif around is not None and op.kind is OpKind.WORK:
            work = find_work(resource, op.work)
            if work and work.role == "producer" and engine_of(resource, work) is Engine.TMA:
                yield op, work, tuple(loop for loop in loops if loop not in around)


def _times(loops: Sequence[Loop]) -> int:
    """How often what is inside ``loops`` runs; one that is known only at run time counts once."""
    return prod(1 if (trips := constant_trips(loop)) is None else trips for loop in loops)


def constant_trips(loop: Loop) -> int | None:
    """How often ``loop`` runs, where its bounds are numbers."""
    if symbols_of(loop.start) or symbols_of(loop.stop) or symbols_of(loop.step):
        return None
    try:
        start, stop, step = (evaluate(bound, {}) for bound in (loop.start, loop.stop, loop.step))
    except ArithmeticError:
        return 0
    return max(0, -((start - stop) // step)) if step else 0


def _with_loops(nodes: Sequence[Node], loops: tuple[Loop, ...]) -> Iterator[tuple[Op, tuple[Loop, ...]]]:
    for node in nodes:
        if isinstance(node, Op):
            yield node, loops
        else:
            yield from _with_loops(node.body, (*loops, node) if isinstance(node, Loop) else loops)


def first_acquire(task: Task, resource: Resource) -> Op | None:
    """The first acquire of ``resource`` in ``task``."""
    for node in walk(task.body):
        if isinstance(node, Op) and node.target == resource.name and node.kind is OpKind.ACQUIRE:
            return node
    return None


def _per_generation(task: Task, resource: Resource, kind: OpKind, signal: str) -> int:
    """Arrivals of the first op of ``kind`` on ``resource``: all such ops of a task serve successive generations."""
    found = _first_with_election(task.body, resource.name, (kind,), None, False)
    if found is None:
        return 0
    warp, lane, _ = found
    if warp is not None:
        return arrivals_by(signal, True, lane) if 0 <= warp < task.num_warps else 0
    if task.num_warps < 1:
        return 0
    return arrivals_by(signal, True, lane) + (task.num_warps - 1) * arrivals_by(signal, False, lane)


def _first_with_election(
    nodes: Sequence[Node], target: str, kinds: Sequence[OpKind], warp: int | None, lane: bool
) -> tuple[int | None, bool, Op] | None:
    for node in nodes:
        if isinstance(node, Op):
            if node.kind in kinds and node.target == target:
                return warp, lane, node
            continue
        elected = isinstance(node, Guard) and node.kind is GuardKind.ELECT_WARP
        one_lane = lane or (isinstance(node, Guard) and node.kind is GuardKind.ELECT_LANE)
        found = _first_with_election(node.body, target, kinds, node.warp if elected else warp, one_lane)
        if found:
            return found
    return None
