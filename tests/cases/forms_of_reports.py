"""Forms of further reports from the field about named barriers and stages; each row names its report."""

from __future__ import annotations

from collections.abc import Callable

from kit import Buffer, K, MemoryResource, Ring, buffer, build, channel, do, fill, output, ring, role

from warpdraft.core import (
    AsyncGroup,
    Document,
    MBarrier,
    NamedBarrier,
    SmemAllocation,
    WorkQueue,
    consumer_work,
    domain_loop,
    elect_warp,
    fence_proxy_async,
    producer_work,
    symbol,
    when_false,
    when_true,
    work_tile_loop,
)

SAFE = "safe"
TILES = symbol("tiles")


class Product(MemoryResource):
    """An accumulator of two operands."""

    @producer_work(engine="wgmma")
    def mma(self, stage_info, a, b): ...


class Copied(Ring):
    """Filled by copies that are told their barrier; a part by cp.async, a part by threads."""

    @producer_work(engine="tma")
    def load(self, stage_info, full): ...

    @producer_work(engine="cp_async", footprint=(0, 512))
    def gather(self, stage_info): ...

    @producer_work(footprint=(512, 512))
    def zero(self, stage_info): ...

    @producer_work(footprint="warp_slice")
    def put(self, stage_info): ...

    @consumer_work(engine="warp", footprint="warp_slice")
    def own(self, stage_info): ...


def copied(name: str, stages: int = 1, size: int = 512) -> Copied:
    return Copied(name=name, smem=[SmemAllocation(name, size)], stages=stages)


def run_ahead(ids: int) -> Document:
    """Eight warps arrive for four that sync, and are held back only two tiles later."""
    made = [NamedBarrier(1 + 4 * i, 384, f"meet{i}") for i in range(ids)]
    meets = made * (2 // ids)
    kv, full = buffer("kv", stages=2), MBarrier("full", 4, 2)

    def math():
        with domain_loop(0, TILES) as t:
            for s in range(2):
                with t.every(2, start=s):
                    full.wait(t // 2 % 2, stage=s)
                    kv.read(stage=s)
                    meets[s].arrive()

    def io():
        with domain_loop(0, TILES) as t:
            for s in range(2):
                with t.every(2, start=s):
                    with t.every(1, start=2):
                        meets[s].sync()
                    kv.share(stage=s)
                    full.arrive(stage=s)

    return build(role("math", 0, 8, math, [kv]), role("io", 8, 4, io, [], [kv]))


def early_return(*, syncs: bool) -> Document:
    """On tiles without work the computing warps arrive at the last barrier, and go on."""
    queue, s, end = WorkQueue(name="queue"), channel("s"), NamedBarrier(1, 160, "end")

    def load():
        with work_tile_loop(queue):
            with when_true("work"):
                do(s, "acquire fill commit")
            end.sync()
            queue.get_and_advance_work_tile()

    def compute():
        with work_tile_loop(queue):
            with when_true("work"):
                do(s, "wait read release")
                end.sync()
            with when_false("work"):
                end.sync() if syncs else end.arrive()
            queue.get_and_advance_work_tile()

    return build(role("load", 4, 1, load, [queue], [s]), role("compute", 0, 4, compute, [s, queue]))


def first_loads(threads: int) -> Document:
    """The epilogue's loader waits for the first copies of two other warps."""
    ab, c, first = [ring(f"ab{i}", 2, 256) for i in range(2)], ring("c", 2), NamedBarrier(3, threads, "first")

    def loads(i):
        def body():
            with domain_loop(0, TILES) as t:
                do(ab[i], "acquire load commit")
                with t.first_iter():
                    first.arrive()

        return role(f"ab{i}", i, 1, body, [], [ab[i]])

    def c_load():
        with domain_loop(0, TILES) as t:
            with t.first_iter():
                first.sync()
            do(c, "acquire load commit")

    def use():
        with domain_loop(0, TILES):
            for x in (*ab, c):
                do(x, "wait read")
                fence_proxy_async()
                x.release()

    tasks = role("c_load", 2, 1, c_load, [], [c]), role("use", 4, 4, use, [*ab, c])
    return build(loads(0), loads(1), *tasks)


def turns(init: str) -> Document:
    """Two warpgroups multiply in turn; the second lets the first begin: once, with each tile, or never."""
    order = [NamedBarrier(1 + i, 256, f"turn{i}") for i in range(2)]

    def part(i):
        def body():
            if i and init == "once":
                order[0].arrive()
            with domain_loop(0, TILES):
                if i and init == "each":
                    order[0].arrive()
                with domain_loop(0, K):
                    order[i].sync()
                    order[1 - i].arrive()

        return role(f"wg{i}", 4 * i, 4, body)

    return build(part(0), part(1))


def operands(waits: str) -> Document:
    """The MMA reads two operands; one is waited for before it, behind it, or never."""
    a, b, acc, group = ring("a", 2), ring("b", 2), Product(name="acc", space="rmem"), AsyncGroup("wgmma")

    def load():
        with domain_loop(0, K):
            do(a, "acquire load commit")
            do(b, "acquire load commit")

    def math():
        with domain_loop(0, K):
            b.wait()
            a.wait() if waits == "before" else None
            acc.mma(a=a.tile(), b=b.tile())
            a.wait() if waits == "behind" else None
            group.commit()
            group.wait(0)
            a.release()
            b.release()

    return build(role("load", 0, 1, load, [], [a, b]), role("math", 4, 4, math, [a, b], [acc]))


def copy_through(newest: int) -> Document:
    """One warp copies global memory through two stages; a stage is filled again once its store has been read."""
    x, full, out, group = copied("x", 2), MBarrier("full", 1, 2), output(), AsyncGroup("bulk_store")
    n = symbol("n", min=2)

    def load(s):
        full.arrive_expect_tx(512, stage=s)
        x.load(full=full, stage=s)

    def copy():
        load(0)
        load(1)
        with domain_loop(0, n) as k:
            full.wait(k // 2 % 2, stage=k % 2)
            out.store(tile=x.tile(stage=k % 2))
            group.commit()
            group.wait_read(newest)
            load(k % 2)
        for s in range(2):
            full.wait((n + s) // 2 % 2, stage=(n + s) % 2)
        group.wait(0)

    return build(role("copy", 0, 1, copy, [x], [x, out]))


def rotated(*, counted: bool, stages: int = 3, subtiles: int = 4) -> Document:
    """The stage of a subtile's store is counted over all tiles, or begins again with each."""
    c, out, group = buffer("c", 512, stages=stages), output(), AsyncGroup("bulk_store")
    filled, free = NamedBarrier(1, 128, "filled"), NamedBarrier(2, 128, "free")

    def epilogue():
        with domain_loop(0, TILES) as t:
            for i in range(subtiles):
                at = (t * subtiles + i) % stages if counted else i % stages
                c.share(stage=at)
                fence_proxy_async()
                filled.sync()
                with elect_warp(0):
                    out.store(tile=c.tile(stage=at))
                    group.commit()
                    group.wait_read(stages - 1)
                free.sync()
        with elect_warp(0):
            group.wait(0)

    return build(role("epi", 0, 4, epilogue, [c], [c, out]))


def round_trip(*, filled: bool, free: bool) -> Document:
    """Warps exchange a tile through shared memory, over and over."""
    o, out = buffer("o"), Buffer(name="out", space="gmem")
    there, back = NamedBarrier(3, 128, "there"), NamedBarrier(4, 128, "back")

    def body():
        with domain_loop(0, TILES):
            o.share()
            there.sync() if filled else None
            o.read()
            out.share()
            back.sync() if free else None

    return build(role("epi", 0, 4, body, [o], [o, out]))


def handed_to_mma(*, fence: bool, meet: bool) -> Document:
    """Probabilities go through shared memory to the wgmmas of the warpgroup that made them, and of another."""
    p, v, ready, sent = buffer("p"), ring("v", 2), NamedBarrier(1, 128, "ready"), NamedBarrier(2, 256, "sent")
    back = NamedBarrier(3, 256, "back")
    acc = [Product(name=f"acc{i}", space="rmem") for i in range(2)]
    groups = [AsyncGroup("wgmma", f"pv{i}") for i in range(2)]

    def multiply(i):
        v.wait()
        acc[i].mma(a=p.tile(), b=v.tile())
        groups[i].commit()
        groups[i].wait(0)
        v.release()

    def first():
        with domain_loop(0, K) as k:
            with k.every(1, start=1):
                back.sync()
            p.share()
            fence_proxy_async() if fence else None
            sent.arrive()
            ready.sync() if meet else None
            multiply(0)

    def second():
        with domain_loop(0, K) as k:
            with k.every(1, start=1):
                back.arrive()
            sent.sync()
            multiply(1)

    return build(
        fill(v, first=8),
        role("wg0", 0, 4, first, [p, v], [p, acc[0]]),
        role("wg1", 4, 4, second, [p, v], [acc[1]]),
    )


def filled_up(*, told: bool) -> Document:
    """Rows outside are filled with zeros by the threads whose cp.async brings the others."""
    x, full, empty = copied("x", size=1024), MBarrier("full", 64 if told else 32), MBarrier("empty", 1)

    def load():
        with domain_loop(0, K) as k:
            empty.wait((k + 1) % 2)
            x.gather()
            x.zero()
            full.cp_async_arrive(noinc=True)
            full.arrive(32) if told else None

    def use():
        with domain_loop(0, K) as k:
            full.wait(k % 2)
            x.read()
            empty.arrive()

    return build(role("load", 0, 1, load, [], [x]), role("use", 4, 1, use, [x]))


def stored_in_place(*, read: bool) -> Document:
    """The output goes over the input that it was made from, and is stored from there before the next copy comes."""
    c, full, empty = copied("c", 2), MBarrier("full", 1, 2), MBarrier("empty", 1, 2)
    out, group, meet = output(), AsyncGroup("bulk_store"), NamedBarrier(1, 128, "meet")

    def load():
        with domain_loop(0, K) as k:
            empty.wait((k // 2 + 1) % 2, stage=k % 2)
            full.arrive_expect_tx(512, stage=k % 2)
            c.load(full=full, stage=k % 2)

    def epilogue():
        with domain_loop(0, K) as k:
            full.wait(k // 2 % 2, stage=k % 2)
            c.own(stage=k % 2)
            c.put(stage=k % 2)
            fence_proxy_async()
            meet.sync()
            with elect_warp(0):
                out.store(tile=c.tile(stage=k % 2))
                group.commit()
                group.wait_read(0) if read else None
                empty.arrive(stage=k % 2)
        with elect_warp(0):
            group.wait(0)

    return build(role("load", 4, 1, load, [], [c]), role("epi", 0, 4, epilogue, [c], [c, out]))


REPORTS: tuple[tuple[str, str, str, Callable[[], Document]], ...] = (  # report, name, expected, build
    ("flashinfer#4732", "one id, a tile ahead", "WD206", lambda: run_ahead(1)),
    ("flashinfer#4732", "two ids in turn", SAFE, lambda: run_ahead(2)),
    ("vllm#26026", "arrives without work", "WD206", lambda: early_return(syncs=False)),
    ("vllm#26026", "syncs without work", SAFE, lambda: early_return(syncs=True)),
    ("quack#146", "64 threads, 3 warps", "WD208", lambda: first_loads(64)),
    ("quack#146", "96 threads", SAFE, lambda: first_loads(96)),
    ("FlashAttention-3", "nobody begins", "WD301", lambda: turns("never")),
    ("FlashAttention-3", "begins with each tile", "WD206", lambda: turns("each")),
    ("FlashAttention-3", "begins once", SAFE, lambda: turns("once")),
    ("CUTracer#106", "waits behind the MMA", "WD105", lambda: operands("behind")),
    ("CUTracer#106", "does not wait", "WD401", lambda: operands("never")),
    ("CUTracer#106", "waits before", SAFE, lambda: operands("before")),
    ("DeepEP#657", "all but the newest", "WD404", lambda: copy_through(1)),
    ("DeepEP#657", "all", SAFE, lambda: copy_through(0)),
    ("cutlass#3636", "begins again with each tile", "WD404", lambda: rotated(counted=False)),
    ("cutlass#3636", "counted over tiles", SAFE, lambda: rotated(counted=True)),
    ("TileOPs#1633", "no barrier", "WD401", lambda: round_trip(filled=False, free=True)),
    ("TileOPs#1633", "no barrier back", "WD401", lambda: round_trip(filled=True, free=False)),
    ("TileOPs#1633", "both", SAFE, lambda: round_trip(filled=True, free=True)),
    ("FlashMLA-ETAP#3", "no fence", "WD501", lambda: handed_to_mma(fence=False, meet=True)),
    ("FlashMLA-ETAP#3", "no barrier", "WD401", lambda: handed_to_mma(fence=True, meet=False)),
    ("FlashMLA-ETAP#3", "both", SAFE, lambda: handed_to_mma(fence=True, meet=True)),
    ("TIRx-kernels#202", "the copies arrive", "WD401", lambda: filled_up(told=False)),
    ("TIRx-kernels#202", "the threads arrive, too", SAFE, lambda: filled_up(told=True)),
    ("CUTLASS ReuseSmemC", "given back at once", "WD404", lambda: stored_in_place(read=False)),
    ("CUTLASS ReuseSmemC", "given back once read", SAFE, lambda: stored_in_place(read=True)),
)
