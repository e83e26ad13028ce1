"""Who arrives on a pipeline's mbarriers, how often, and with how many transaction bytes.

One table says it for every user: the verifier, the emulator and the code generators. Sources: CUTLASS pipeline classes as
documented in the CuTe DSL (`PipelineTmaAsync`: the producer's acquire arms full with one elected arrive.expect_tx,
its commit is empty, a consumer warp releases with one elected lane; `PipelineAsync`: each thread arrives;
`PipelineCpAsync`: each thread, by `cp.async.mbarrier.arrive.noinc`; `tcgen05.commit`: one arrival, PTX ISA tcgen05.commit).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from .clusters import runs_in
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
from .expressions import evaluate, leaves
from .footprints import engine_of, tx_bytes
from .interleave import stride_of, task_lane
from .pipeline_groups import SHARED, arriving, filled_with, group_of, names_of, sharers
from .routes import TMA, Routes, copied_to, routed
from .tensor_core import COMMITTED
from .tree import find_work, made_once

Outcomes = tuple[tuple[str, bool], ...]  # conditions, with how they come out
MAX_KEYS = 8  # conditions in one bracket whose outcomes are all looked at

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
    return pipeline.producer_signal or (Signal.COMMIT if engines.intersection(COMMITTED) else Signal.WARP)


def consumer_signal(document: Document, resource: Resource) -> Signal:
    """The `Signal` by which a release arrives on empty."""
    return own_consumer_signal(releasing(document, resource))


def own_consumer_signal(resource: Resource) -> Signal:
    """The same, as ``resource``'s own pipeline says, whatever group it is in."""
    pipeline = resource.pipeline
    if pipeline.consumer_signal:
        return pipeline.consumer_signal
    return SIGNALS[pipeline.type][1] if pipeline.type in SIGNALS else Signal.WARP


def releasing(document: Document, resource: Resource) -> Resource:
    """The resource whose pipeline says how ``resource``'s empty barriers are arrived on: in a group that shares them, the
    first member that no copies fill, so that all release as threads do (Task Scheduling's merged consumer)."""
    found = sharers(document, resource, "empty")
    return next((r for r in found if producer_signal(document, r) != TMA), found[0])


def arrivals_by(signal: str, leader: bool, elected_lane: bool = False) -> int:
    """Arrivals that one warp makes with one commit or release; ``leader``: it is the first of those that execute it."""
    if signal is Signal.THREAD or signal is Signal.CP_ASYNC:
        return 1 if elected_lane else 32
    if signal is Signal.LEADER_THREADS:
        return (1 if elected_lane else 32) if leader else 0
    if signal is Signal.WARP:
        return 1
    return 1 if leader else 0  # LEADER, COMMIT, TMA


@made_once
def routes(document: Document, resource: Resource) -> Routes:
    """Which CTAs of the cluster the pipeline's signals and copies reach."""
    return routed(
        document, resource, producer_signal(document, resource), consumer_signal(document, resource)
    )


def full_count(document: Document, resource: Resource, cta: int = 0) -> int:
    """Arrival count of full in CTA ``cta``: as declared, else derived."""
    declared = _declared_for_group(document, resource, "full")
    if declared is None:
        parts = [(r, r.pipeline.producer_count) for r in arriving(document, resource, "full")]
        if any(n is not None for _, n in parts):  # of a member that leaves it out: what its own ops make
            declared = sum(max(made_by(document, r, "full", cta)) if n is None else n for r, n in parts)
    return derived_full_count(document, resource, cta) if declared is None else declared


def empty_count(document: Document, resource: Resource, cta: int = 0) -> int:
    """Arrival count of empty in CTA ``cta``: as declared, else derived."""
    declared = _declared_for_group(document, resource, "empty")
    if declared is None:
        declared = releasing(document, resource).pipeline.consumer_count
    return derived_empty_count(document, resource, cta) if declared is None else declared


def _declared_for_group(document: Document, resource: Resource, side: str) -> int | None:
    """The count that a group declares for the barriers that ``resource`` shares with other members."""
    group = group_of(document, resource.name)
    if group is None or group.pipeline is None or side not in SHARED[group.mode]:
        return None
    return group.pipeline.producer_count if side == "full" else group.pipeline.consumer_count


def derived_full_count(document: Document, resource: Resource, cta: int = 0) -> int:
    """Arrivals that the tasks make on CTA ``cta``'s full in one generation (1 where nobody does: the barrier must exist)."""
    return made_on_full(document, resource, cta) or 1


def derived_empty_count(document: Document, resource: Resource, cta: int = 0) -> int:
    """Arrivals that the tasks make on CTA ``cta``'s empty in one generation (1 where nobody does)."""
    return made_on_empty(document, resource, cta) or 1


def made_on_full(document: Document, resource: Resource, cta: int) -> int:
    """Arrivals that the tasks of all CTAs make on CTA ``cta``'s full barrier in one generation: the most of any lane."""
    return max(made_in_lanes(document, resource, "full", cta))


def made_on_empty(document: Document, resource: Resource, cta: int) -> int:
    """Arrivals that the tasks of all CTAs make on CTA ``cta``'s empty barrier in one generation: the most of any lane."""
    return max(made_in_lanes(document, resource, "empty", cta))


def made_in_lanes(document: Document, resource: Resource, side: str, cta: int = 0) -> list[int]:
    """The arrivals of one generation on ``side`` ("full" or "empty"), by the lane of the stage (`core.interleave`)."""
    made = [made_by(document, r, side, cta) for r in arriving(document, resource, side)]
    return [sum(of[lane % len(of)] for of in made) for lane in range(max(map(len, made)))]


def made_by(document: Document, resource: Resource, side: str, cta: int = 0) -> list[int]:
    """Of those, the arrivals by ops on ``resource`` alone, where it shares the barrier."""
    found = routes(document, resource)
    if side == "full":
        signal = producer_signal(document, resource)
        kind = OpKind.ACQUIRE if signal == TMA else OpKind.COMMIT
        reaching, parts = found.full, found.produces
    else:
        signal, kind = consumer_signal(document, resource), OpKind.RELEASE
        reaching, parts = found.empty, found.consumes
    sources = [c for c, reached in enumerate(reaching) if cta in reached and parts[c]]
    return [
        sum(
            _per_generation(document, t, resource, kind, signal, c, lane)
            for t in document.tasks
            for c in sources
        )
        for lane in range(stride_of(resource, kind.value))
    ]


def armed_bytes(document: Document, resource: Resource, task: Task, acquire: Op, cta: int = 0) -> int:
    """Transaction bytes that ``acquire`` expects on CTA ``cta``'s full: those of the task's copies up to the next commit.

    Declared bytes that differ from what all tasks deliver are a mistake which must show: the difference is armed by the
    producing task with the lowest warps.
    """
    own = bracket_bytes(document, resource, task, acquire, cta)
    declared = declared_bytes(document, resource)
    if declared is None:
        return own
    lane = task_lane(task, resource, stride_of(resource, "acquire")) or 0
    firsts = [t for t, _ in _filling(document, resource, lane)]
    first = min(firsts, key=lambda found: (found.warp_idx, found.name), default=task)
    surplus = declared - delivered_bytes(document, resource, cta, lane) if first.name == task.name else 0
    return max(0, own + surplus)


def declared_bytes(document: Document, resource: Resource) -> int | None:
    """The transaction bytes that ``resource`` declares for a stage; None too where nobody has said what its copies bring."""
    copies = [w for r in filled_with(document, resource) for w in r.works if w.role == "producer"]
    unknown = any(w.assumed and w.tx is None and w.footprint is None for w in copies)
    return None if unknown else resource.pipeline.bytes


def delivered_bytes(document: Document, resource: Resource, cta: int = 0, lane: int = 0) -> int:
    """Bytes that the copies of all tasks complete on CTA ``cta``'s full barrier of a stage of ``lane`` in one generation."""
    return sum(bracket_bytes(document, resource, t, a, cta) for t, a in _filling(document, resource, lane))


def _filling(document: Document, resource: Resource, lane: int) -> Iterator[tuple[Task, Op]]:
    """The tasks that fill the stages of ``lane``, each with its first acquire."""
    stride = stride_of(resource, "acquire")
    for t in document.tasks:
        first = first_acquire(t, resource)
        if first is not None and task_lane(t, resource, stride) in (None, lane):
            yield t, first


def bracket_bytes(document: Document, resource: Resource, task: Task, acquire: Op, cta: int = 0) -> int:
    """Bytes that copies into ``resource`` (and what is filled with it) between ``acquire`` and the next commit, in schedule
    order, complete on the full barrier of CTA ``cta``, whichever CTA of the cluster issues them.

    A copy in a loop within the bracket counts once for each iteration, or once where that number is known only at run time
    (WD203 says so). Of blocks that exclude each other those count that bring the most.
    """
    found, brought = routes(document, resource), []
    for source in range(len(found.landing)):
        opening = acquire
        if not any(around.op.id == acquire.id for around in _ops_around(task.body, source)):
            opening = first_acquire(task, resource, source)  # that CTA opens the stage elsewhere
        if opening is None or not found.produces[source]:
            continue
        for around, member, work, loops in _bracket(document, resource, task, opening, source):
            for reached, share in copied_to(document, member, found, around.op, work, source, around.alone):
                if found.landing[reached] == cta:
                    nbytes = tx_bytes(member, work, around.op, task, share) * _times(loops)
                    brought.append((nbytes, around.outcomes))
    return most_of(brought)


def most_of(brought: Sequence[tuple[int, Outcomes]]) -> int:
    """The largest sum of those that go together, each with the outcomes of conditions that it needs."""
    keys = sorted({key for _, outcomes in brought for key, _ in outcomes})
    if len(keys) > MAX_KEYS:
        return sum(n for n, _ in brought)
    choices = (dict(zip(keys, chosen, strict=True)) for chosen in product((True, False), repeat=len(keys)))
    return max(sum(n for n, of in brought if all(c[key] is out for key, out in of)) for c in choices)


def bracket_copies(
    document: Document, resource: Resource, task: Task, acquire: Op
) -> Iterator[tuple[Op, Work, tuple[Loop, ...]]]:
    """The copies between ``acquire`` and the next commit, with the loops around each that are not around the acquire."""
    found = _bracket(document, resource, task, acquire)
    return ((around.op, work, loops) for around, _, work, loops in found)


def _bracket(
    document: Document, resource: Resource, task: Task, acquire: Op, cta: int | None = None
) -> Iterator[tuple[Around, Resource, Work, tuple[Loop, ...]]]:
    """The same for one CTA, with the resource of each copy."""
    opened: tuple[Loop, ...] | None = None
    filled = {r.name: r for r in filled_with(document, resource)}
    names = {resource.name, *filled, *names_of(document, resource)}
    for around in _ops_around(task.body, cta):
        op = around.op
        if op.target not in names:
            continue
        if op.id == acquire.id:
            opened = around.loops
        elif opened is not None and op.kind is OpKind.COMMIT:
            return
        elif opened is not None and op.kind is OpKind.WORK and op.target in filled:
            member = filled[op.target]
            work = find_work(member, op.work)
            if work and work.role == "producer" and engine_of(member, work) is Engine.TMA:
                yield around, member, work, tuple(loop for loop in around.loops if loop not in opened)


def _times(loops: Sequence[Loop]) -> int:
    """How often what is inside ``loops`` runs; one that is known only at run time counts once."""
    return prod(1 if (trips := constant_trips(loop)) is None else trips for loop in loops)


def constant_trips(loop: Loop) -> int | None:
    """How often ``loop`` runs, where its bounds are numbers."""
    if any(leaves(bound) for bound in (loop.start, loop.stop, loop.step)):
        return None
    try:
        start, stop, step = (evaluate(bound, {}) for bound in (loop.start, loop.stop, loop.step))
    except ArithmeticError:
        return 0
    return max(0, -((start - stop) // step)) if step else 0


class Around(NamedTuple):
    """An op with the loops around it, whether one CTA alone reaches it, and the outcomes of conditions that it needs."""

    op: Op
    loops: tuple[Loop, ...]
    alone: bool
    outcomes: Outcomes


def _ops_around(
    nodes: Sequence[Node],
    cta: int | None,
    loops: tuple[Loop, ...] = (),
    alone: bool = False,
    outcomes: Outcomes = (),
) -> Iterator[Around]:
    """The ops that CTA ``cta`` (None: any) reaches."""
    for node in nodes:
        if isinstance(node, Op):
            yield Around(node, loops, alone, outcomes)
        elif cta is None or runs_in(node, cta):
            inner = (*loops, node) if isinstance(node, Loop) else loops
            guard = node if isinstance(node, Guard) else None
            ranked = guard is not None and guard.kind is GuardKind.CTA_RANK
            needs = _needs(guard, loops) if guard is not None else ()
            yield from _ops_around(node.body, cta, inner, alone or ranked, (*outcomes, *needs))


def _needs(guard: Guard, loops: tuple[Loop, ...]) -> Outcomes:
    """What decides whether ``guard``'s block runs, where another may run in its place."""
    if guard.kind in (GuardKind.WHEN_TRUE, GuardKind.WHEN_FALSE):
        return ((guard.key, guard.kind is GuardKind.WHEN_TRUE),)
    of = next((loop for loop in reversed(loops) if guard.loop in ("", loop.var)), None)
    later = guard.kind is GuardKind.EVERY and (guard.period, guard.start) == (1, 1)
    if of is not None and (later or guard.kind is GuardKind.FIRST_ITER):
        return ((f"the first iteration of {of.id}", not later),)
    return ()


def first_acquire(task: Task, resource: Resource, cta: int | None = None) -> Op | None:
    """The first acquire of ``resource`` in ``task``, by CTA ``cta`` (None: any)."""
    for op, *_ in _ops_around(task.body, cta):
        if op.target == resource.name and op.kind is OpKind.ACQUIRE:
            return op
    return None


def _per_generation(
    document: Document, task: Task, resource: Resource, kind: OpKind, signal: str, cta: int, stage_lane: int
) -> int:
    """Arrivals of CTA ``cta``'s first op of ``kind`` on a stage of ``resource`` that lane ``stage_lane`` owns: all such
    ops of a task serve successive generations."""
    found = _first_with_election(task.body, names_of(document, resource), (kind,), cta)
    stride = stride_of(resource, kind.value)
    own = task_lane(task, resource, stride)
    if found is None or task.num_warps < 1 or own not in (None, stage_lane):
        return 0
    warp, lane, _ = found
    if warp is not None:
        meant = 0 <= warp < task.num_warps and (own is not None or warp % stride == stage_lane)
        return arrivals_by(signal, True, lane) if meant else 0
    if own is None:
        return arrivals_by(signal, True, lane) * len(range(stage_lane, task.num_warps, stride))
    return arrivals_by(signal, True, lane) + (task.num_warps - 1) * arrivals_by(signal, False, lane)


def _first_with_election(
    nodes: Sequence[Node],
    targets: Sequence[str],
    kinds: Sequence[OpKind],
    cta: int,
    warp: int | None = None,
    lane: bool = False,
) -> tuple[int | None, bool, Op] | None:
    for node in nodes:
        if isinstance(node, Op):
            if node.kind in kinds and node.target in targets:
                return warp, lane, node
            continue
        if not runs_in(node, cta):
            continue
        elected = isinstance(node, Guard) and node.kind is GuardKind.ELECT_WARP
        one_lane = lane or (isinstance(node, Guard) and node.kind is GuardKind.ELECT_LANE)
        found = _first_with_election(node.body, targets, kinds, cta, node.warp if elected else warp, one_lane)
        if found:
            return found
    return None
