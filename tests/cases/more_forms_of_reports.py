"""Forms of further reports from the field about clusters, the tensor core and what a kernel starts with; each row names
its report."""

from __future__ import annotations

from collections.abc import Callable

from kit import K, MemoryResource, Ring, buffer, build, do, ring, role
from tensor_kit import SM100, Tensor, plain, tensor

from warpdraft.core import (
    Document,
    MBarrier,
    NamedBarrier,
    PdlWaitBarrier,
    SmemAllocation,
    Storage,
    TaskManager,
    cluster_sync,
    consumer_work,
    cta_rank,
    domain_loop,
    elect_warp,
    fence_mbarrier_init,
    fence_proxy_async,
    producer_work,
    symbol,
    tcgen05_commit,
    tcgen05_fence_after,
    tcgen05_fence_before,
    tcgen05_wait_ld,
    tcgen05_wait_st,
    tmem_alloc,
    tmem_dealloc,
    tmem_relinquish,
    when_false,
)

SAFE = "safe"
TILES = symbol("tiles")
PAIR = {"cluster": (2, 1, 1)}


class Tile(MemoryResource):
    """An operand, or a slot, that copies fill which are told their barrier."""

    @producer_work(engine="tma")
    def load(self, stage_info, full): ...

    @consumer_work
    def read(self, stage_info): ...

    @consumer_work(view=True, returns="tile")
    def tile(self, stage_info): ...


class Metadata(MemoryResource):
    """What tells a kernel its tiles."""

    @consumer_work
    def decode(self, stage_info): ...


def tile(name: str, stages: int = 1, size: int = 512) -> Tile:
    return Tile(name=name, smem=[SmemAllocation(name, size)], stages=stages)


def columns(name: str, first: int, count: int, stages: int = 1) -> Tensor:
    return Tensor(name=name, space="tmem", storage=Storage(count, stages, 1, offset=first))


def entered(*, meets: bool, elsewhere: bool = False) -> Document:
    """Each CTA stores in its peer's memory, once the peer has started."""
    x, told = buffer("x", 256), NamedBarrier(1, 160, "told")

    def body():
        if elsewhere:
            told.sync()
        elif meets:
            cluster_sync()
        x.share(cta="peer")
        cluster_sync()
        x.read()

    def other():
        cluster_sync() if meets else None
        told.sync()
        cluster_sync()

    first = role("wg", 0, 4, body, [x], [x])
    return build(first, *([role("other", 4, 1, other)] if elsewhere else []), **PAIR)


def signalled(*, meets: bool) -> Document:
    """A barrier of the peer that a schedule initialises itself, and memory that it tells of."""
    x, full = buffer("x", 256), MBarrier("full", 4)

    def body():
        with elect_warp(0):
            full.init()
            fence_mbarrier_init()
        cluster_sync() if meets else None
        x.share(cta="peer")
        full.arrive(cta="peer")
        full.wait(0)
        x.read()
        cluster_sync()

    return build(role("wg", 0, 4, body, [x], [x]), **PAIR)


def slot_of_each_cta(*, each: bool) -> Document:
    """Each CTA has a slot of its own; before it is written again, the writer waits for its readers in each, or in CTA 0."""
    slot, full, empty = buffer("slot", 16), MBarrier("full", 1), MBarrier("empty", 4)

    def write():
        with domain_loop(0, TILES) as t:
            if each:
                empty.wait((t + 1) % 2)
            else:
                with cta_rank(0):
                    empty.wait((t + 1) % 2)
            slot.fill()
            full.arrive()
        cluster_sync()

    def read():
        with domain_loop(0, TILES) as t:
            full.wait(t % 2)
            slot.read()
            empty.arrive()
        cluster_sync()

    return build(role("write", 0, 1, write, [], [slot]), role("read", 4, 4, read, [slot]), **PAIR)


def made_barrier(slots: int) -> Document:
    """A barrier of two CTAs from mbarriers: each arrives on the other's and waits on its own."""
    b = MBarrier("b", 1, slots)

    def part():
        with domain_loop(0, TILES) as t:
            b.arrive(stage=t % slots, cta="peer")
            b.wait(t // slots % 2, stage=t % slots)
        cluster_sync()

    return build(role("part", 0, 1, part), **PAIR)


def pairs_of_four(*, own: bool) -> Document:
    """Two pairs of CTAs: each leader's MMA works for its pair, and tells the CTAs of that pair, or always 0 and 1."""
    acc, done = plain("acc"), MBarrier("done", 1)

    def mma():
        for leader in (0, 2):
            with cta_rank(leader):
                acc.mma(cta=(leader, leader + 1))
                tcgen05_commit(done, cta=(leader, leader + 1) if own else (0, 1))
        cluster_sync()

    def epilogue():
        done.wait()
        acc.load()
        tcgen05_wait_ld()
        cluster_sync()

    tasks = role("mma", 4, 1, mma, [], [acc]), role("epi", 0, 4, epilogue, [acc])
    return build(*tasks, cluster=(4, 1, 1), **SM100)


def shared_operand(count: int, *, drains: bool = True) -> Document:
    """A tile is copied to both CTAs of a cluster, whose MMAs both tell the one that copies when they have read it."""
    a, acc, n = tile("a", size=1024), columns("acc", 0, 128), symbol("n", min=1)
    full, empty = MBarrier("full", 1), MBarrier("empty", count)

    def load():
        with cta_rank(0):
            with domain_loop(0, n) as k:
                empty.wait((k + 1) % 2)
                full.arrive_expect_tx(1024, cta="all")
                a.load(full=full, multicast="all")
            empty.wait((n + 1) % 2) if drains else None
        cluster_sync()

    def mma():
        with domain_loop(0, n) as k:
            full.wait(k % 2)
            acc.mma_from(tile=a.tile())
            tcgen05_commit(empty, cta=0)
        cluster_sync()

    return build(role("load", 0, 1, load, [], [a]), role("mma", 1, 1, mma, [a], [acc]), **PAIR, **SM100)


def response(expects: str) -> Document:
    """A scheduler's response goes to the slots of all CTAs; whose barriers expect it?"""
    slot, full, empty = tile("slot", size=16), MBarrier("full", 1), MBarrier("empty", 2)

    def schedule():
        with domain_loop(0, TILES) as t, cta_rank(0):
            empty.wait((t + 1) % 2)
            full.arrive_expect_tx(16, cta=expects)
            slot.load(full=full, multicast="all")
        cluster_sync()

    def use():
        with domain_loop(0, TILES) as t:
            full.wait(t % 2)
            slot.read()
            fence_proxy_async()
            empty.arrive(cta=0)
        cluster_sync()

    return build(role("sched", 0, 1, schedule, [], [slot]), role("use", 4, 1, use, [slot]), **PAIR)


def rewritten_operand(*, waits: bool) -> Document:
    """An operand of MMAs in tensor memory that warps store with each iteration."""
    st, out, full, empty = (
        columns("st", 0, 64),
        columns("out", 128, 128),
        MBarrier("full", 4),
        MBarrier("empty", 1),
    )

    def store():
        with domain_loop(0, K) as k:
            empty.wait((k + 1) % 2) if waits else None
            st.store()
            tcgen05_wait_st()
            tcgen05_fence_before()
            full.arrive()

    def mma():
        with domain_loop(0, K) as k:
            full.wait(k % 2)
            tcgen05_fence_after()
            out.mma_from(tile=st.view())
            tcgen05_commit(empty)

    return build(role("store", 4, 4, store, [], [st]), role("mma", 0, 1, mma, [st], [out]), **SM100)


def freed(*, meets: bool) -> Document:
    """One warpgroup frees what another one still loads."""
    acc, filled = plain("acc"), MBarrier("filled", 1)
    begin, end = NamedBarrier(1, 288, "begin"), NamedBarrier(2, 256, "end")

    def owner():
        with elect_warp(0):
            tmem_alloc(acc)
            tmem_relinquish()
        begin.sync()
        end.sync() if meets else None
        with elect_warp(0):
            tmem_dealloc(acc)

    def correct():
        begin.sync()
        filled.wait()
        acc.load()
        tcgen05_wait_ld()
        end.sync() if meets else None

    def mma():
        begin.sync()
        acc.mma()
        tcgen05_commit(filled)

    return build(
        role("owner", 0, 4, owner, [acc], [acc]),
        role("correct", 4, 4, correct, [acc]),
        role("mma", 8, 1, mma, [], [acc]),
        **SM100,
    )


def read_late(*, late: bool) -> Document:
    """An accumulator is given back before, or once, it has been read."""
    acc = tensor("acc")

    def mma():
        with domain_loop(0, TILES):
            do(acc, "acquire mma commit")

    def read():
        acc.load()
        tcgen05_wait_ld()

    def epilogue():
        with domain_loop(0, TILES):
            acc.wait()
            None if late else read()
            tcgen05_fence_before()
            acc.release()
            read() if late else None

    return build(role("mma", 0, 1, mma, [], [acc]), role("epi", 4, 4, epilogue, [acc]), **SM100)


def phase_of_ring(*, own: bool, stages: int = 3) -> Document:
    """The wait for an MMA takes the parity of the ring, or that of its own mbarrier, of which there is one."""
    x, full, done = tile("x", stages), MBarrier("full", 1, stages), MBarrier("done", 1)
    acc = columns("acc", 0, 128)

    def one():
        with domain_loop(0, K) as k:
            full.arrive_expect_tx(512, stage=k % stages)
            x.load(full=full, stage=k % stages)
            full.wait(k // stages % 2, stage=k % stages)
            acc.mma_from(tile=x.tile(stage=k % stages))
            tcgen05_commit(done)
            done.wait(k % 2 if own else k // stages % 2)

    return build(role("one", 0, 1, one, [x], [x, acc]), **SM100)


def polled(*, live: bool, stages: int = 4) -> Document:
    """Where a peek fails, the warp waits for the stage that it is at, or always for the first one."""
    x = Ring(name="x", smem=[SmemAllocation("x", 512)], stages=stages)
    full, empty = MBarrier("full", 1, stages), MBarrier("empty", 1, stages)

    def load():
        with domain_loop(0, K) as k:
            empty.wait((k // stages + 1) % 2, stage=k % stages)
            full.arrive_expect_tx(512, stage=k % stages)
            x.load(full=full, stage=k % stages)

    def use():
        with domain_loop(0, K) as k:
            ready = full.try_wait(k // stages % 2, stage=k % stages)
            with when_false(ready):
                full.wait(k // stages % 2, stage=k % stages if live else 0)
            x.read(stage=k % stages)
            fence_proxy_async()
            empty.arrive(stage=k % stages)

    return build(role("load", 4, 1, load, [], [x]), role("use", 0, 1, use, [x]))


def decoded(*, waits: bool) -> Document:
    """Two roles read the metadata of the preceding grid; the second one waits for that grid, too, or does not."""
    pdl, groups, ab = PdlWaitBarrier(name="pdl"), Metadata(name="groups", space="gmem"), ring("ab", 2)

    def load():
        pdl.wait_griddep()
        groups.decode()
        with domain_loop(0, K):
            do(ab, "acquire load commit")

    def use():
        pdl.wait_griddep() if waits else None
        groups.decode()
        with domain_loop(0, K):
            do(ab, "wait read")
            fence_proxy_async()
            ab.release()

    tasks = [
        role("load", 0, 1, load, [pdl, groups], [ab]),
        role("use", 1, 1, use, [pdl, groups, ab] if waits else [groups, ab]),
    ]
    return TaskManager(tasks, {ab: [groups], groups: [pdl]}, name="decoded").document


MORE: tuple[tuple[str, str, str, Callable[[], Document]], ...] = (  # report, name, expected, build
    ("fb-triton#2292", "at once", "WD703", lambda: entered(meets=False)),
    ("fb-triton#2292", "told by no one who knows", "WD703", lambda: entered(meets=False, elsewhere=True)),
    ("fb-triton#2292", "the cluster meets", SAFE, lambda: entered(meets=True)),
    ("fb-triton#2292", "its own init, at once", "WD211", lambda: signalled(meets=False)),
    ("fb-triton#2292", "its own init, met", SAFE, lambda: signalled(meets=True)),
    ("triton#10863", "CTA 0 waits", "WD401", lambda: slot_of_each_cta(each=False)),
    ("triton#10863", "each waits", SAFE, lambda: slot_of_each_cta(each=True)),
    ("triton#10669", "one mbarrier", "WD205", lambda: made_barrier(1)),
    ("triton#10669", "two in turn", SAFE, lambda: made_barrier(2)),
    ("fb-triton#783", "always CTAs 0 and 1", "WD302", lambda: pairs_of_four(own=False)),
    ("fb-triton#783", "the CTAs of the pair", SAFE, lambda: pairs_of_four(own=True)),
    ("triton#10196", "one of two commits", "WD201", lambda: shared_operand(1)),
    ("triton#10196", "the last is not waited for", "WD703", lambda: shared_operand(2, drains=False)),
    ("triton#10196", "both, to the end", SAFE, lambda: shared_operand(2)),
    ("fb-triton#908", "CTA 0 expects", "WD302", lambda: response("own")),
    ("fb-triton#908", "all expect", SAFE, lambda: response("all")),
    ("TIRx-kernels#19", "stored at once", "WD401", lambda: rewritten_operand(waits=False)),
    ("TIRx-kernels#19", "stored once read", SAFE, lambda: rewritten_operand(waits=True)),
    ("TIRx-kernels#27", "freed at once", "WD406", lambda: freed(meets=False)),
    ("TIRx-kernels#27", "freed behind a barrier", SAFE, lambda: freed(meets=True)),
    ("cudnn-frontend#654", "released, then read", "WD105", lambda: read_late(late=True)),
    ("cudnn-frontend#654", "read, then released", SAFE, lambda: read_late(late=False)),
    ("tilelang#3087", "the ring's parity", "WD204", lambda: phase_of_ring(own=False)),
    ("tilelang#3087", "its own", SAFE, lambda: phase_of_ring(own=True)),
    ("TensorRT-LLM#15338", "the first stage", "WD204", lambda: polled(live=False)),
    ("TensorRT-LLM#15338", "this stage", SAFE, lambda: polled(live=True)),
    ("quack#206", "one role waits", "WD702", lambda: decoded(waits=False)),
    ("quack#206", "both wait", SAFE, lambda: decoded(waits=True)),
)
