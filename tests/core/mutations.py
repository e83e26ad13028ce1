"""Correct schedules with one mistake each: the examples and small rings, broken the way that people break them."""

from collections.abc import Iterator

from warpdraft.assets.examples import attention, persistent_gemm, ping_pong
from warpdraft.core.document import Document, Guard, GuardKind, Op, OpKind
from warpdraft.core.edits import (
    DeleteNode,
    Edit,
    MoveNode,
    SetBarrier,
    SetField,
    SetPipeline,
    SetTask,
    UnwrapNode,
    places,
)
from warpdraft.core.hazards.examples import (
    MMA,
    accumulator,
    acquire,
    channel,
    commit,
    document,
    fence,
    group_commit,
    group_wait,
    loop,
    release,
    ring,
    task,
    wait,
    work,
)


def copy_ring() -> Document:
    """A TMA producer and a consumer of threads."""
    return document(
        "copy ring",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task("use", 4, 4, loop(wait("ab"), work("ab", "read"), fence(), release("ab"))),
        resources=(ring(),),
    )


def thread_ring() -> Document:
    """Two tasks of threads."""
    return document(
        "thread ring",
        task("fill", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"))),
        task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"))),
        resources=(channel("x", 3),),
    )


def mma_ring() -> Document:
    """A TMA producer and a warpgroup's MMAs."""
    return document(
        "mma ring",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task(
            "math",
            4,
            4,
            loop(
                wait("ab"),
                work("ab", "tile", result="t"),
                work("acc", "mma", tile="t"),
                group_commit("mma_group"),
                group_wait("mma_group"),
                release("ab"),
            ),
        ),
        resources=(ring(stages=3, size=16384), accumulator()),
        groups=(MMA,),
    )


SCHEDULES = {
    "persistent_gemm": lambda: persistent_gemm.build().document,
    "attention": lambda: attention.build().document,
    "ping_pong": lambda: ping_pong.build().document,
    "copy_ring": copy_ring,
    "thread_ring": thread_ring,
    "mma_ring": mma_ring,
}


def broken(schedule: Document) -> Iterator[tuple[str, Document]]:
    """``schedule`` with one mistake each, and what kind of mistake it is."""
    for kind, edits in _mistakes(schedule):
        changed = schedule
        for edit in edits:
            changed = edit.apply(changed)
        yield kind, changed


def _ops(schedule: Document, *kinds: OpKind):
    """The first op of each kind and target in each task and body, those unrolled from one line once."""
    seen = set()
    for place in places(schedule):
        op = place.node
        if isinstance(op, Op) and op.kind in kinds and (key := _site(place)) not in seen:
            seen.add(key)
            yield place


def _site(place):
    op = place.node
    return place.task, op.kind, op.target, op.copy_of or (op.id if op.kind is OpKind.RELEASE else "")


def _mistakes(schedule: Document) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    for r in schedule.resources:
        if r.pipeline and r.storage:
            yield f"bytes of {r.name}", (SetPipeline(r.name, "bytes", 2 * r.storage.bytes),)
        if r.pipeline:
            yield f"producer count of {r.name}", (SetPipeline(r.name, "producer_count", 3),)
            yield f"consumer count of {r.name}", (SetPipeline(r.name, "consumer_count", 33),)
        if r.storage and r.pipeline and r.storage.bytes > 8192:  # else hundreds of stages
            yield (
                f"capacity: stages of {r.name}",
                (SetPipeline(r.name, "stages", 1 + 232448 // r.storage.bytes),),
            )
    for b in schedule.barriers:
        yield f"barrier id of {b.name}", (SetBarrier(b.name, "id", 16),)
        yield f"threads of {b.name}", (SetBarrier(b.name, "threads", b.threads + 32),)
    for first, second in zip(schedule.barriers, schedule.barriers[1:], strict=False):
        yield f"barrier id of {first.name}, twice", (SetBarrier(first.name, "id", second.id),)
    names = {
        OpKind.WAIT: "wait",
        OpKind.COMMIT: "commit",
        OpKind.RELEASE: "release",
        OpKind.ACQUIRE: "acquire",
    }
    names |= {
        OpKind.FENCE_PROXY_ASYNC: "fence",
        OpKind.GROUP_COMMIT: "group commit",
        OpKind.BARRIER_SYNC: "sync",
    }
    names |= {OpKind.GROUP_WAIT: "group wait", OpKind.GROUP_WAIT_READ: "wait_read"}
    for place in _ops(schedule, *names):
        yield (
            f"missing {names[place.node.kind]} {place.node.id} {place.node.target}",
            (DeleteNode(place.node.id),),
        )
    for place in _ops(schedule, OpKind.COMMIT, OpKind.RELEASE):
        body = _body(schedule, place.parent)
        if place.index > 0 and isinstance(body[place.index - 1], Op):
            yield (
                f"early {place.node.kind} {place.node.id}",
                (MoveNode(place.node.id, place.parent, place.index - 1),),
            )
            if place.index > 1:
                yield (
                    f"much too early {place.node.kind} {place.node.id}",
                    (MoveNode(place.node.id, place.parent, place.index - 2),),
                )
    for place in _ops(schedule, OpKind.ACQUIRE, OpKind.WAIT):
        body = _body(schedule, place.parent)
        if place.index + 1 < len(body):
            yield (
                f"wrong order: late {place.node.kind} {place.node.id}",
                (MoveNode(place.node.id, place.parent, place.index + 1),),
            )
    for place in places(schedule):
        node = place.node
        if isinstance(node, Guard) and node.kind is GuardKind.EVERY:
            yield f"guard {node.id} left out", (UnwrapNode(node.id),)
            yield f"guard {node.id} from 0", (SetField(node.id, "start", 0),)
            yield f"guard {node.id} from 2", (SetField(node.id, "start", 2),)
            yield f"guard {node.id} last_iter", (SetField(node.id, "kind", GuardKind.LAST_ITER),)
        if isinstance(node, Op) and node.kind is OpKind.RELEASE and not place.parent == place.task:
            pass
    for t in schedule.tasks:
        if t.num_registers:
            yield f"registers of {t.name}", (SetTask(t.name, "num_registers", t.num_registers + 3),)
    for place in _ops(schedule, OpKind.WORK):
        if place.node.stage is not None:
            yield f"stage of {place.node.id}", (SetField(place.node.id, "stage", 1 - place.node.stage),)


def _body(schedule: Document, parent: str):
    from warpdraft.core.edits import body_of

    return body_of(schedule, parent)
