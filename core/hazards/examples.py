"""Small schedules for the rules' examples: ops get their ids, tasks their sources and destinations, the graph its edges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..document import (
    AsyncGroup,
    Ctas,
    Document,
    Edge,
    Engine,
    Footprint,
    Guard,
    GuardKind,
    Loop,
    Mbarrier,
    NamedBarrier,
    Node,
    Op,
    OpKind,
    Pipeline,
    Resource,
    Signal,
    Space,
    Storage,
    Task,
    Token,
    Work,
)
from ..expressions import Symbol
from ..tree import find_work, walk

K = Symbol("k_tiles", 0)
READS = (OpKind.WAIT, OpKind.TRY_WAIT, OpKind.RELEASE)
WRITES = (OpKind.ACQUIRE, OpKind.TRY_ACQUIRE, OpKind.COMMIT, OpKind.PRODUCER_TAIL)


def op(kind: OpKind, target: str = "", **fields: Any) -> Op:
    """An op without an id yet."""
    return Op("", kind, target, **fields)


def acquire(target: str) -> Op:
    """producer_acquire"""
    return op(OpKind.ACQUIRE, target)


def commit(target: str) -> Op:
    """producer_commit"""
    return op(OpKind.COMMIT, target)


def wait(target: str) -> Op:
    """consumer_wait"""
    return op(OpKind.WAIT, target)


def release(target: str) -> Op:
    """consumer_release"""
    return op(OpKind.RELEASE, target)


def work(
    target: str, name: str, *, result: str = "", stage: int | None = None, ctas: Ctas = "", **tokens: str
) -> Op:
    """A call of a work, for the CTAs ``ctas``; ``tokens`` are arguments that earlier ops returned."""
    args = tuple((parameter, Token(token)) for parameter, token in tokens.items())
    results = (result,) if result else ()
    return op(OpKind.WORK, target, work=name, args=args, results=results, stage=stage, ctas=ctas)


def group_commit(target: str) -> Op:
    """commit_group"""
    return op(OpKind.GROUP_COMMIT, target)


def group_wait(target: str, newest: int = 0, *, read: bool = False) -> Op:
    """wait_group"""
    return op(OpKind.GROUP_WAIT_READ if read else OpKind.GROUP_WAIT, target, count=newest)


def sync(target: str) -> Op:
    """bar.sync"""
    return op(OpKind.BARRIER_SYNC, target)


def bar_arrive(target: str) -> Op:
    """bar.arrive"""
    return op(OpKind.BARRIER_ARRIVE, target)


def fence() -> Op:
    """fence.proxy.async"""
    return op(OpKind.FENCE_PROXY_ASYNC)


def wait_ld() -> Op:
    """tcgen05.wait::ld"""
    return op(OpKind.TCGEN05_WAIT_LD)


def fence_before() -> Op:
    """tcgen05.fence::before_thread_sync"""
    return op(OpKind.TCGEN05_FENCE_BEFORE)


def fence_after() -> Op:
    """tcgen05.fence::after_thread_sync"""
    return op(OpKind.TCGEN05_FENCE_AFTER)


def mbar_arrive(target: str, stage: int | None = None, count: int | None = None, ctas: Ctas = "") -> Op:
    """mbarrier.arrive, on the mbarriers of the CTAs ``ctas``"""
    return op(OpKind.MBARRIER_ARRIVE, target, stage=stage, count=count, ctas=ctas)


def mbar_wait(target: str, parity: int | None = None, stage: int | None = None) -> Op:
    """mbarrier.try_wait in a loop; without a parity it follows the phases in turn"""
    return op(OpKind.MBARRIER_WAIT, target, count=parity, stage=stage)


def loop(*body: Node, stop: Any = K, start: Any = 0, step: Any = 1, var: str = "k", **fields: Any) -> Loop:
    """A domain loop."""
    return Loop("", fields.pop("kind", "domain"), var, body, start, stop, step, **fields)


def tiles(*body: Node, queue: str = "queue", stop: Any = 2, skip_if: str = "") -> Loop:
    """A loop over work tiles."""
    return Loop("", "tile", "tile", body, 0, stop, 1, queue, skip_if)


def guard(kind: GuardKind, *body: Node, **fields: Any) -> Guard:
    """A guarded block."""
    return Guard("", kind, body, **fields)


def elect(*body: Node, warp: int = 0) -> Guard:
    """A block of one warp."""
    return guard(GuardKind.ELECT_WARP, *body, warp=warp)


def task(name: str, warp: int, warps: int, *body: Node, registers: int | None = None, **fields: Any) -> Task:
    """A task; its sources and destinations are filled in by `document` unless given."""
    return Task(name, warp, warps, body, num_registers=registers, **fields)


def ring(name: str = "ab", stages: int = 2, size: int = 1024, **pipeline: Any) -> Resource:
    """A TMA pipeline: work `load` fills a stage, `tile` is a view of it, `read` reads it with the warp itself."""
    return Resource(
        name,
        Space.SMEM,
        Pipeline(stages, "TmaAsync", **pipeline),
        Storage(size, stages),
        (
            Work("load", "producer", Engine.TMA),
            Work("tile", "consumer", view=True),
            Work("read", "consumer"),
        ),
    )


def channel(name: str = "ab", stages: int = 2, size: int = 1024, **pipeline: Any) -> Resource:
    """A pipeline between threads: work `fill` writes a stage, `read` reads it, `tile` is a view of it."""
    return Resource(
        name,
        Space.SMEM,
        Pipeline(stages, **pipeline),
        Storage(size, stages),
        (Work("fill", "producer"), Work("read", "consumer"), Work("tile", "consumer", view=True)),
    )


def buffer(name: str, size: int = 1024, stages: int = 1, **storage: Any) -> Resource:
    """Shared memory without a pipeline: `fill` writes it, `share` a warp's slice, `read` reads it, `tile` is a view."""
    return Resource(
        name,
        Space.SMEM,
        storage=Storage(size, stages, **storage),
        works=(
            Work("fill", "producer", footprint=Footprint("whole")),
            Work("share", "producer", footprint=Footprint("warp_slice")),
            Work("read", "consumer"),
            Work("tile", "consumer", view=True),
        ),
    )


def accumulator(name: str = "acc") -> Resource:
    """Registers: `mma` multiplies a view with wgmma, `read` reads the result."""
    return Resource(
        name,
        Space.RMEM,
        works=(Work("mma", "producer", Engine.WGMMA, parameters=("tile",)), Work("read", "consumer")),
    )


def tensor(name: str = "acc", stages: int = 1, columns: int = 128, **pipeline: Any) -> Resource:
    """A pipeline through tensor memory: `mma` multiplies into a stage, warps `load` it and `store` into it."""
    return Resource(
        name,
        Space.TMEM,
        Pipeline(stages, "UmmaAsync", consumer_signal=Signal.WARP, **pipeline) if stages else None,
        Storage(columns, max(1, stages), 1),
        (
            Work("mma", "producer", Engine.TCGEN05),
            Work("store", "producer", Engine.TCGEN05_ST),
            Work("load", "consumer", Engine.TCGEN05_LD),
            Work("tile", "consumer", view=True),
        ),
    )


def output(name: str = "out") -> Resource:
    """Global memory: `store` copies a view out with a bulk copy."""
    return Resource(
        name, Space.GMEM, works=(Work("store", "producer", Engine.BULK_STORE, parameters=("tile",)),)
    )


def queue(name: str = "queue") -> Resource:
    """A work queue."""
    return Resource(
        name, Space.QUEUE, works=(Work("get_and_advance_work_tile", "consumer", returns=("work_tile",)),)
    )


# The barriers of dependent launches.
PDL_WAIT = Resource("pdl_wait", Space.PDL, works=(Work("wait_griddep", "consumer"),))
PDL_LAUNCH = Resource("pdl_launch", Space.PDL, works=(Work("launch_griddep", "producer"),))


def wait_grid() -> Op:
    """griddepcontrol.wait"""
    return work("pdl_wait", "wait_griddep")


def launch_grid() -> Op:
    """griddepcontrol.launch_dependents"""
    return work("pdl_launch", "launch_griddep")


MMA = AsyncGroup("mma_group", Engine.WGMMA)
STORE = AsyncGroup("store_group", Engine.BULK_STORE)


def document(
    name: str,
    *tasks: Task,
    resources: Sequence[Resource] = (),
    barriers: Sequence[NamedBarrier] = (),
    mbarriers: Sequence[Mbarrier] = (),
    groups: Sequence[AsyncGroup] = (),
    symbols: Sequence[Symbol] = (K,),
    graph: Sequence[tuple[str, str]] | None = None,
    **fields: Any,
) -> Document:
    """The schedule of ``tasks``. ``graph`` pairs are (upstream, downstream); left out, it follows from the tasks."""
    finished = tuple(_finished(t, resources) for t in tasks)
    edges = _edges(finished) if graph is None else [Edge(up, down) for up, down in graph]
    return Document(
        name,
        symbols=tuple(symbols),
        resources=tuple(resources),
        barriers=tuple(barriers),
        mbarriers=tuple(mbarriers),
        groups=tuple(groups),
        graph=tuple(edges),
        tasks=finished,
        **fields,
    )


def _finished(task: Task, resources: Sequence[Resource]) -> Task:
    counter = iter(range(10_000))

    def named(nodes: Iterable[Node]) -> tuple[Node, ...]:
        found = []
        for node in nodes:
            node = replace(node, id=f"{task.name}.{next(counter):02d}")
            found.append(node if isinstance(node, Op) else replace(node, body=named(node.body)))
        return tuple(found)

    body = named(task.body)
    src, dst = dict.fromkeys(task.src), dict.fromkeys(task.dst)
    known = {r.name: r for r in resources}
    for node in walk(body):
        if not isinstance(node, Op) or node.target not in known or task.src or task.dst:
            continue
        role = getattr(find_work(known[node.target], node.work), "role", "")
        if node.kind in READS or role == "consumer":
            src[node.target] = None
        if node.kind in WRITES or role == "producer":
            dst[node.target] = None
    return replace(task, body=body, src=tuple(src), dst=tuple(dst))


def _edges(tasks: Sequence[Task]) -> list[Edge]:
    return list(dict.fromkeys(Edge(up, down) for t in tasks for down in t.dst for up in t.src if up != down))
