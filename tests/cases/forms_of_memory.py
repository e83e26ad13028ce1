"""Forms about tensor memory, tensor maps and workspaces that are published, read or freed in other ways than those of the
cases' own tests."""

from __future__ import annotations

from collections.abc import Callable

from kit import Buffer, Ring, buffer, build, do, role, tests_of
from tensor_kit import SM100, Tensor, plain, tensor

from warpdraft.core import (
    Document,
    MBarrier,
    MemoryResource,
    NamedBarrier,
    PipelineConfig,
    SmemAllocation,
    Storage,
    TmemAllocation,
    WorkQueue,
    consumer_work,
    domain_loop,
    elect_warp,
    fence_proxy_async,
    fence_tensormap,
    producer_work,
    symbol,
    tcgen05_commit,
    tcgen05_wait_ld,
    tcgen05_wait_st,
    tensormap_update,
    tmem_alloc,
    tmem_dealloc,
    tmem_relinquish,
    when_true,
    work_tile_loop,
)

Loaded = tests_of("tensor_lifetime").Loaded
SAFE = "safe"
KT = symbol("kt", min=1)


def freed(*, waiting: str) -> Document:
    """C25: which warps of the epilogue wait for their loads before the columns are freed: all, half, or those where a
    condition holds."""
    acc, filled = plain("acc"), MBarrier("filled", 1)
    begin, end = NamedBarrier(1, 160, "begin"), NamedBarrier(2, 160, "end")

    def epilogue():
        begin.sync()
        filled.wait()
        acc.load()
        if waiting == "all":
            tcgen05_wait_ld()
        if waiting == "half":
            for warp in (0, 1):
                with elect_warp(warp):
                    tcgen05_wait_ld()
        if waiting == "some":
            with when_true("more"):
                tcgen05_wait_ld()
        end.sync()

    def mma():
        tmem_alloc(acc)
        tmem_relinquish()
        begin.sync()
        acc.mma()
        tcgen05_commit(filled)
        end.sync()
        tmem_dealloc(acc)

    return build(role("mma", 4, 1, mma, [], [acc]), role("epilogue", 0, 4, epilogue, [acc]), **SM100)


def overlaid(*, meet: bool) -> Document:
    """C32: two tasks load a half of S each, and store a quarter each over the second half of it."""
    s, p, between = plain("s", 128, 0), plain("p", 64, 64), NamedBarrier(1, 256, "between")

    def half(i):
        def body():
            s.load(footprint=(64 * i, 64))
            tcgen05_wait_ld()
            if meet:
                between.sync()
            p.store(footprint=(32 * i, 32))
            tcgen05_wait_st()

        return role(f"half{i}", 4 * i, 4, body, [s], [p])

    return build(half(0), half(1), **SM100)


def maps(*, drained: bool) -> Document:
    """C33: of two tensor maps of one ring one is rewritten with each group."""

    class Both(Loaded):
        @producer_work(engine="tma", footprint="b")
        def load_b(self, stage_info, tensor_map): ...

        @producer_work(engine="tma", footprint="a")
        def load(self, stage_info, tensor_map): ...

        @consumer_work
        def read(self, stage_info): ...

    parts = [SmemAllocation("a", 512), SmemAllocation("b", 512)]
    ab = Both(name="ab", pipeline_config=PipelineConfig(2, pipeline_type="TmaAsync"), smem=parts)
    a, b = (MemoryResource(name=f"map_{x}", space="gmem") for x in "ab")
    groups, seen = symbol("groups"), MBarrier("seen", 1)

    def load():
        with domain_loop(0, groups) as g:
            if drained:
                with g.every(1, start=1):
                    seen.wait()
            tensormap_update(b)
            fence_tensormap(b)
            with domain_loop(0, KT):
                ab.acquire()
                ab.load(tensor_map=a)
                ab.load_b(tensor_map=b)
                ab.commit()

    def use():
        with domain_loop(0, groups):
            with domain_loop(0, KT):
                do(ab, "wait read")
                fence_proxy_async()
                ab.release()
            seen.arrive()

    return build(role("load", 0, 1, load, [a, b], [ab]), role("use", 4, 1, use, [ab]))


def sibling(*, waits: bool) -> Document:
    """C35: a scalar goes from one partition to another; the MMA overwrites it without knowing that it was read."""
    qk, alpha = tensor("qk"), tensor("alpha", 1, 1, "AsyncAsync")
    qk.storage, qk.tmem = Storage(128, 1, 1, offset=0), ()
    alpha.storage, alpha.tmem, alpha.space = Storage(1, 1, 1, offset=64), (), "tmem"
    read = MBarrier("read", 4)

    def mma():
        with domain_loop(0, KT) as k:
            if waits:
                with k.every(1, start=1):
                    read.wait()
            do(qk, "acquire mma commit")

    def soft():
        with domain_loop(0, KT):
            do(qk, "wait load")
            tcgen05_wait_ld()
            do(alpha, "acquire store")
            tcgen05_wait_st()
            alpha.commit()
            qk.release()

    def correct():
        with domain_loop(0, KT):
            do(alpha, "wait load")
            tcgen05_wait_ld()
            alpha.release()
            if waits:
                read.arrive()

    return build(
        role("mma", 0, 1, mma, [], [qk]),
        role("soft", 4, 4, soft, [qk], [alpha]),
        role("correct", 8, 4, correct, [alpha]),
        **SM100,
    )


def statistics(wait: Callable[[], None] | None) -> Document:
    """C40: raw mbarriers of two slots around stores to tensor memory."""
    stat = Tensor(name="stat", space="tmem", tmem=[TmemAllocation("stat", 32)], stages=2)
    full, empty, kv = MBarrier("full", 4, 2), MBarrier("empty", 4, 2), symbol("kv")

    def soft():
        with domain_loop(0, kv) as k:
            empty.wait((k // 2 + 1) % 2, stage=k % 2)
            stat.store(stage=k % 2)
            wait() if wait else None
            full.arrive(stage=k % 2)

    def correct():
        with domain_loop(0, kv) as k:
            full.wait(k // 2 % 2, stage=k % 2)
            stat.load(stage=k % 2)
            tcgen05_wait_ld()
            empty.arrive(stage=k % 2)

    return build(role("soft", 0, 4, soft, [], [stat]), role("correct", 4, 4, correct, [stat]), **SM100)


def workspace(*, fenced: bool) -> Document:
    """C43: a flag says that a workspace in global memory is written; a copy takes it from there, again and again."""

    class Staged(Ring):
        @producer_work(engine="tma")
        def load(self, stage_info, rows, barrier): ...

    data = Buffer(name="data", space="gmem", storage=1024)
    s = Staged(name="s", smem=[SmemAllocation("s", 1024)])
    ready, back, full = (MBarrier(name, 1) for name in ("ready", "back", "full"))

    def write():
        with domain_loop(0, KT) as k:
            with k.every(1, start=1):
                back.wait()
            data.fill()
            ready.arrive()

    def copy():
        with domain_loop(0, KT):
            ready.wait()
            if fenced:
                fence_proxy_async()
            full.arrive_expect_tx(1024)
            s.load(rows=data.tile(), barrier=full)
            full.wait()
            s.read()
            fence_proxy_async()
            back.arrive()

    return build(role("write", 0, 1, write, [], [data]), role("copy", 4, 1, copy, [data, s], [s]))


def address(*, meet: bool) -> Document:
    """C45: a persistent kernel, whose tiles may all be skipped, hands the address of its tensor memory on."""
    queue, s, base = WorkQueue(name="queue"), tensor("s"), buffer("base", 16)
    there, done = NamedBarrier(1, 160, "there"), NamedBarrier(2, 128, "done")

    def over_tiles(body):
        with work_tile_loop(queue, skip_if="empty") as tile:
            with tile.skippable():
                body()
            queue.get_and_advance_work_tile()

    def mma():
        tmem_alloc(s)
        base.fill()
        there.sync() if meet else None
        over_tiles(lambda: do(s, "acquire mma commit"))

    def load():
        do(s, "wait load")
        tcgen05_wait_ld()
        s.release()

    def epilogue():
        there.sync() if meet else None
        over_tiles(load)
        base.read()
        done.sync()
        with elect_warp(3):
            tmem_dealloc(s)

    tasks = role("mma", 0, 1, mma, [queue], [s, base]), role("epi", 4, 4, epilogue, [s, base, queue])
    return build(*tasks, **SM100)


MEMORY: tuple[tuple[str, str, str, Callable[[], Document]], ...] = (  # case, name, expected, build
    ("C25", "half of the warps wait", "WD406", lambda: freed(waiting="half")),
    ("C25", "where a condition holds", "WD406", lambda: freed(waiting="some")),
    ("C25", "all warps wait", SAFE, lambda: freed(waiting="all")),
    ("C32", "two tasks", "WD402", lambda: overlaid(meet=False)),
    ("C32", "two tasks that meet", SAFE, lambda: overlaid(meet=True)),
    ("C33", "one of two maps", "WD405", lambda: maps(drained=False)),
    ("C33", "one of two maps, drained", SAFE, lambda: maps(drained=True)),
    ("C35", "through another partition", "WD402", lambda: sibling(waits=False)),
    ("C35", "through another partition, waited for", SAFE, lambda: sibling(waits=True)),
    ("C40", "raw slots, no wait", "WD502", lambda: statistics(None)),
    ("C40", "raw slots, wait::ld", "WD502", lambda: statistics(tcgen05_wait_ld)),
    ("C40", "raw slots, wait::st", SAFE, lambda: statistics(tcgen05_wait_st)),
    ("C43", "a workspace, no fence", "WD501", lambda: workspace(fenced=False)),
    ("C43", "a workspace, fenced", SAFE, lambda: workspace(fenced=True)),
    ("C45", "all tiles skipped", "WD401", lambda: address(meet=False)),
    ("C45", "all tiles skipped, met before", SAFE, lambda: address(meet=True)),
)
