"""Lowers the ops that synchronise: cursors, mbarriers, async groups, named barriers, fences."""

from __future__ import annotations

from collections.abc import Callable

from warpdraft.core.arrivals import TMA, armed_bytes, consumer_signal, producer_signal
from warpdraft.core.clusters import targets
from warpdraft.core.cursors import CLOSES, moved_cursor, side_of
from warpdraft.core.document import AsyncGroup, Engine, Mbarrier, NamedBarrier, Op, OpKind, Resource, Signal
from warpdraft.core.expressions import Integer
from warpdraft.core.leading import led_pipelines
from warpdraft.core.op_integers import chosen
from warpdraft.core.tree import find_resource, find_target, ops_of

from .clusters import Sets
from .errors import LoweringError
from .syntax import (
    Expression,
    For,
    If,
    Line,
    Statement,
    assign,
    attribute,
    binary,
    call,
    compare,
    expression,
    run,
    text,
)
from .task import CONSUMER, PRODUCER, TaskBuilder
from .tensor_core import TENSOR_CORE, pairs

Lowered = tuple[Statement, ...]
WARPGROUP = 4  # warps


def lower_operation(task: TaskBuilder, op: Op) -> Lowered:
    """The statements of one synchronising op."""
    if op.kind in PIPELINE:
        resource = task.resource(op)
        if resource.pipeline is None:
            raise LoweringError(f"{resource.name} has no pipeline", op.id)
        return PIPELINE[op.kind](task, op, resource)
    if op.kind in UNSUPPORTED:
        raise LoweringError(f"{op.kind.value} is not lowered: leave it out, and the prologue does it", op.id)
    if op.kind not in OTHER or task.document.target not in TARGETS.get(op.kind, (task.document.target,)):
        raise LoweringError(
            f"{op.kind.value} is not lowered: {task.document.target} has no stock form of it", op.id
        )
    return OTHER[op.kind](task, op)


def led(task: TaskBuilder, line: Statement) -> Statement:
    """``line`` for the task's first warp alone, unless one warp is alone anyway."""
    (found,) = by_first(task, (line,))
    return found


def by_first(task: TaskBuilder, lines: Lowered) -> Lowered:
    """The same for several ``lines``."""
    return lines if task.alone else (If(((compare("warp_idx", "==", task.task.warp_idx), lines),)),)


def opened(task: TaskBuilder, op: Op, lines: Lowered) -> Lowered:
    """``lines`` that open a stage of a pipeline, for the warps of the task that do (`core.leading`)."""
    return by_first(task, lines) if (task.task.name, op.target) in led_pipelines(task.document) else lines


# -- pipelines
def lower_moves(task: TaskBuilder, op: Op) -> Lowered:
    """What the warps do that leave ``op`` to another: they move its cursor past it."""
    return _moved(task, op, task.resource(op)) if op.kind in PIPELINE else ()


def _moved(task: TaskBuilder, op: Op, resource: Resource, source: str = "") -> Lowered:
    """The cursor that ``op`` moves, by the rules of `core.cursors`, with the stage that it was at where works look there."""
    which = moved_cursor(resource, op.kind, task.ops)
    if not which:
        return ()
    cursor = task.cursor(resource, which)
    advance = run(f"{cursor}.advance", op=source)
    if which not in CLOSES:
        return (advance,)
    side = PRODUCER if which == "acquire" else CONSUMER
    return assign(task.held(resource, side), attribute(expression(cursor), "index")), advance


def _acquire(task: TaskBuilder, op: Op, resource: Resource) -> Lowered:
    cursor, ring = task.cursor(resource, "acquire"), task.module.storage.rings[resource.name]
    stage = attribute(expression(cursor), "index")
    lines = opened(task, op, (Line(task.operation("acquire", op, ring, cursor), op=op.id),))
    if producer_signal(task.document, resource) == TMA:
        lines = (*lines, *_arm(task, op, resource, binary(f"{ring}.full", "+", stage)))
    return (*lines, *_moved(task, op, resource))


def _arm(task: TaskBuilder, op: Op, resource: Resource, full: Expression) -> Lowered:
    """The producer's arrival with the bytes that the acquire ``op`` expects: on the full barrier of the own CTA, of every
    CTA where one asks for all, of none where the pair's leader does it."""
    cluster, reached = task.module.cluster, task.module.routes(resource, op).full
    ctas = sorted({cta for of in reached for cta in of})
    found = {armed_bytes(task.document, resource, task.task, op, cta) for cta in ctas}
    if len(found) > 1:
        raise LoweringError(f"the CTAs expect {sorted(found)} bytes of {resource.name}", op.id)
    tx_bytes = found.pop()
    if all(of in ((rank,), ()) for rank, of in enumerate(reached)):
        line: Statement = Line(task.operation("arm", op, full, tx_bytes), op=op.id)
    else:
        mask = task.ctas(tuple(of for of in reached if of), op)
        line = Line(task.operation("arm_ctas", op, full, mask, tx_bytes), op=op.id)
    test = cluster.only([bool(of) for of in reached], op.id)
    armed = led(task, line)
    return (armed,) if test is None or test_of(task, op) else (If(((test, (armed,)),)),)


def test_of(task: TaskBuilder, op: Op) -> Expression | None:
    """The condition under which a CTA of the cluster takes part in ``op``; None: all do."""
    target, role = side_of(task.document, op)
    role = "producer" if op.kind is OpKind.PRODUCER_TAIL else role
    return task.module.leaders(find_resource(task.document, target), role, op)


def _commit(task: TaskBuilder, op: Op, resource: Resource) -> Lowered:
    cursor, ring = task.cursor(resource, "commit"), task.module.storage.rings[resource.name]
    signal = producer_signal(task.document, resource)
    if signal == TMA:  # the copies complete the barrier: only the cursor moves
        return _moved(task, op, resource, op.id)
    barrier = binary(f"{ring}.full", "+", attribute(expression(cursor), "index"))
    reached = task.module.routes(resource, op).full
    return (*_signal(task, op, signal, barrier, reached), *_moved(task, op, resource))


def _wait(task: TaskBuilder, op: Op, resource: Resource) -> Lowered:
    cursor, ring = task.cursor(resource, "wait"), task.module.storage.rings[resource.name]
    return (Line(task.operation("wait", op, ring, cursor), op=op.id), *_moved(task, op, resource))


def _release(task: TaskBuilder, op: Op, resource: Resource) -> Lowered:
    cursor, ring = task.cursor(resource, "release"), task.module.storage.rings[resource.name]
    barrier = binary(f"{ring}.empty", "+", attribute(expression(cursor), "index"))
    signal, reached = consumer_signal(task.document, resource), task.module.routes(resource, op).empty
    return (*_signal(task, op, signal, barrier, reached), *_moved(task, op, resource))


def lower_drain(task: TaskBuilder, op: Op, resource: Resource) -> Lowered:
    """Waits until all stages that the task has filled are free; its own cursor stays. ``op``: what says so, or the task's
    last commit, where it ends and other CTAs may still arrive on its barriers."""
    cursor, ring = task.cursor(resource, "commit"), task.module.storage.rings[resource.name]
    turn, tail = task.names.new("drained"), task.names.new(f"{resource.name}_tail")
    step = binary(binary(task.step, "*", resource.pipeline.stages), "+", turn)
    wait = Line(call("op.acquire", text(op.id), ring, tail, step), op=op.id)
    stages = call("cutlass.range", resource.pipeline.stages, unroll=1)
    lines = (
        assign(tail, call(f"{cursor}.clone")),
        For(expression(turn), stages, (wait, run(f"{tail}.advance")), "until every stage is free"),
    )
    return opened(task, op, lines)


def _signal(task: TaskBuilder, op: Op, signal: str, barrier: Expression, reached: Sets) -> Lowered:
    """The arrivals that this task's warps make: see `core.arrivals.arrivals_by`."""
    if signal == Signal.COMMIT:
        return (
            _commit_umma(task, op, barrier, reached, task.module.routes(task.resource(op), op).pair == 2),
        )
    if signal == Signal.CP_ASYNC:
        raise LoweringError(
            "arrivals of cp.async copies are not lowered: no stock body makes such copies", op.id
        )
    threads = signal in (Signal.THREAD, Signal.LEADER_THREADS) and not task.lane
    if task.module.cluster.alone(reached):
        call_ = task.operation("arrive_threads" if threads else "arrive", op, barrier)
    else:
        count = 32 if threads else 1
        call_ = task.operation("arrive_ctas", op, barrier, task.ctas(reached, op), count)
    line = Line(call_, op=op.id)
    return (line if signal in (Signal.THREAD, Signal.WARP) else led(task, line),)


def _commit_umma(task: TaskBuilder, op: Op, barrier: Expression, reached: Sets, pair: bool) -> Statement:
    """An arrival when the MMAs so far are done: on the own barrier, or with those of others at once."""
    if task.module.cluster.alone(reached):
        call_ = task.operation("commit_umma", op, barrier, pair)
    else:
        call_ = task.operation("commit_umma_ctas", op, barrier, task.ctas(reached, op), pair)
    return led(task, Line(call_, op=op.id))


def _try(method: str, which: str) -> Callable[[TaskBuilder, Op, Resource], Lowered]:
    def lower(task: TaskBuilder, op: Op, resource: Resource) -> Lowered:
        ring = task.module.storage.rings[resource.name]
        line = Line(task.operation(method, op, ring, task.cursor(resource, which)), op=op.id)
        return opened(task, op, (line,))

    return lower


# -- async groups
GROUP_METHODS = {
    (OpKind.GROUP_COMMIT, Engine.WGMMA): "commit_mma",
    (OpKind.GROUP_WAIT, Engine.WGMMA): "wait_mma",
    (OpKind.GROUP_COMMIT, Engine.BULK_STORE): "commit_store",
    (OpKind.GROUP_WAIT, Engine.BULK_STORE): "wait_store",
    (OpKind.GROUP_WAIT_READ, Engine.BULK_STORE): "wait_store_read",
}


def _group(task: TaskBuilder, op: Op) -> Lowered:
    group = find_target(task.document, op.target)
    method = GROUP_METHODS.get((op.kind, group.kind)) if isinstance(group, AsyncGroup) else None
    if method is None:
        kind = group.kind.value if isinstance(group, AsyncGroup) else "no"
        raise LoweringError(f"{op.kind.value} of {kind} group {op.target!r} is not lowered", op.id)
    arguments = () if op.kind is OpKind.GROUP_COMMIT else (op.count or 0,)
    return (Line(task.operation(method, op, *arguments), op=op.id),)


# -- barriers
def _named(method: str) -> Callable[[TaskBuilder, Op], Lowered]:
    def lower(task: TaskBuilder, op: Op) -> Lowered:
        barrier = find_target(task.document, op.target)
        if not isinstance(barrier, NamedBarrier):
            raise LoweringError(f"there is no named barrier {op.target!r}", op.id)
        return (Line(task.operation(method, op, barrier.id, barrier.threads), op=op.id),)

    return lower


def _raw(task: TaskBuilder, op: Op) -> Lowered:
    mbarrier = find_target(task.document, op.target)
    if not isinstance(mbarrier, Mbarrier):
        raise LoweringError(f"there is no mbarrier {op.target!r}", op.id)
    stage = chosen(op.stage)
    if isinstance(stage, int) and not 0 <= stage < mbarrier.stages:
        raise LoweringError(f"{mbarrier.name} has no stage {stage}, only {mbarrier.stages}", op.id)
    if op.kind is OpKind.MBARRIER_TRY_WAIT:
        raise LoweringError(f"a peek at the raw mbarrier {mbarrier.name} is not lowered", op.id)
    barrier = binary(task.module.storage.rings[mbarrier.name], "+", task.integer(op, stage))
    count = 1 if op.count is None else op.count
    reached = tuple(targets(task.document, op.ctas, cta) for cta in range(task.module.cluster.size))
    if not task.module.cluster.alone(reached):
        if op.kind is not OpKind.MBARRIER_ARRIVE:
            raise LoweringError(f"{op.kind.value} on the mbarrier of another CTA is not lowered", op.id)
        ctas = task.ctas(reached, op)
        return (Line(task.operation("arrive_ctas", op, barrier, ctas, count), op=op.id),)
    if op.kind is OpKind.TCGEN05_COMMIT:
        return (led(task, Line(task.operation("commit_umma", op, barrier, pairs(task.document)), op=op.id)),)
    if op.kind is OpKind.MBARRIER_ARRIVE:
        return (Line(task.operation("arrive_count", op, barrier, count), op=op.id),)
    if op.kind is not OpKind.MBARRIER_WAIT:
        method = "expect" if op.kind is OpKind.MBARRIER_ARRIVE_EXPECT else "expect_only"
        return (Line(task.operation(method, op, barrier, op.count or 0), op=op.id),)
    if op.count is not None and not _follows(task, op):
        return (Line(task.operation("wait_parity", op, barrier, _parity(task, op)), op=op.id),)
    if not isinstance(stage, int):
        raise LoweringError(
            f"waits that follow the phases of {mbarrier.name} in turn are lowered for a stage that is known beforehand, "
            f"not for {stage}; give each wait its parity",
            op.id,
        )
    parity = task.once(
        ("parity", mbarrier.name, stage),
        lambda: task.keep(f"{mbarrier.name}_{stage}_parity", call("Int32", 0)),
    )
    flipped = assign(parity, binary(parity, "^", 1))
    awaited = parity if op.count is None else _parity(task, op)
    return (Line(task.operation("wait_parity", op, barrier, awaited), op=op.id), flipped)


def _parity(task: TaskBuilder, op: Op) -> Expression:
    return expression(op.count & 1) if isinstance(op.count, int) else task.integer(op, op.count)


def _follows(task: TaskBuilder, op: Op) -> bool:
    """Whether some wait of the task for this very barrier follows the phases in turn: each wait then counts as a turn."""

    def may_be(one: Integer, other: Integer) -> bool:
        return one == other or not (isinstance(one, int) and isinstance(other, int))

    return any(
        o.kind is OpKind.MBARRIER_WAIT
        and o.target == op.target
        and may_be(chosen(o.stage), chosen(op.stage))
        and o.count is None
        for o in ops_of(task.task)
    )


def _simple(method: str) -> Callable[[TaskBuilder, Op], Lowered]:
    return lambda task, op: (Line(task.operation(method, op), op=op.id),)


def _registers(grow: str) -> Callable[[TaskBuilder, Op], Lowered]:
    def lower(task: TaskBuilder, op: Op) -> Lowered:
        if op.count is None:
            raise LoweringError(f"{op.kind.value} needs a number of registers", op.id)
        whole = task.task.warp_idx % WARPGROUP == 0 and task.task.num_warps % WARPGROUP == 0
        if not whole or task.alone:
            raise LoweringError(
                f"{op.kind.value} takes whole warpgroups, which {task.task.name} is not", op.id
            )
        return (run(f"cute.arch.setmaxregister_{grow}", op.count, op=op.id),)

    return lower


PIPELINE: dict[OpKind, Callable[[TaskBuilder, Op, Resource], Lowered]] = {
    OpKind.ACQUIRE: _acquire,
    OpKind.COMMIT: _commit,
    OpKind.WAIT: _wait,
    OpKind.RELEASE: _release,
    OpKind.PRODUCER_TAIL: lower_drain,
    OpKind.TRY_ACQUIRE: _try("try_acquire", "acquire"),
    OpKind.TRY_WAIT: _try("try_wait", "wait"),
}
TARGETS = {
    OpKind.WGMMA_FENCE: ("sm_90a",),
    **dict.fromkeys((*TENSOR_CORE, OpKind.TCGEN05_COMMIT), ("sm_100a",)),
}
UNSUPPORTED = (OpKind.MBARRIER_INIT, OpKind.MBARRIER_INVAL, OpKind.FENCE_MBARRIER_INIT)
OTHER: dict[OpKind, Callable[[TaskBuilder, Op], Lowered]] = {
    OpKind.GROUP_COMMIT: _group,
    OpKind.GROUP_WAIT: _group,
    OpKind.GROUP_WAIT_READ: _group,
    OpKind.BARRIER_SYNC: _named("sync"),
    OpKind.BARRIER_ARRIVE: _named("sync_arrive"),
    OpKind.MBARRIER_ARRIVE: _raw,
    OpKind.MBARRIER_EXPECT: _raw,
    OpKind.MBARRIER_ARRIVE_EXPECT: _raw,
    OpKind.MBARRIER_WAIT: _raw,
    OpKind.MBARRIER_TRY_WAIT: _raw,
    OpKind.TCGEN05_COMMIT: _raw,
    OpKind.FENCE_PROXY_ASYNC: _simple("fence_proxy_async"),
    OpKind.SYNC_WARP: _simple("sync_warp"),
    OpKind.WGMMA_FENCE: _simple("wgmma_fence"),
    OpKind.REGISTERS_DECREASE: _registers("decrease"),
    OpKind.REGISTERS_INCREASE: _registers("increase"),
    OpKind.CLUSTER_SYNC: _simple("cluster_sync"),
    OpKind.CLUSTER_ARRIVE: _simple("cluster_arrive"),
    OpKind.CLUSTER_WAIT: _simple("cluster_wait"),
    **TENSOR_CORE,
}
