"""Forms of the cases beside those of the cases' own tests: other ways in which people write the same thing."""

from __future__ import annotations

from kit import (
    Buffer,
    K,
    Ring,
    accumulator,
    buffer,
    build,
    channel,
    do,
    drain,
    fill,
    ring,
    role,
    tests_of,
    times,
)

from warpdraft.core import (
    AsyncGroup,
    Document,
    MBarrier,
    MemoryResource,
    PdlWaitBarrier,
    Signal,
    SmemAllocation,
    TaskManager,
    TmemAllocation,
    WorkQueue,
    cluster_sync,
    consumer_work,
    cta_rank,
    domain_loop,
    elect_lane,
    fence_proxy_async,
    fence_tensormap,
    producer_work,
    symbol,
    sync_warp,
    tensormap_update,
    tmem_alloc,
    tmem_dealloc,
    when_false,
    when_true,
    work_tile_loop,
)

tile, Loaded = tests_of("clusters").tile, tests_of("tensor_lifetime").Loaded
SM100 = {"target": "sm_100a"}
PAIR = {"cluster": (2, 1, 1)}
K1 = symbol("k", min=1)


def elected_lane(meet: bool) -> Document:
    """C03: the schedule itself elects the lane that arrives for all."""
    w = channel("w", producer_signaling_threads=Signal.THREAD)

    def load():
        with domain_loop(0, K):
            w.acquire()
            w.share()
            fence_proxy_async()
            if meet:
                sync_warp()
            with elect_lane():
                w.commit()

    return build(role("load", 0, 1, load, [], [w]), drain(w))


def every_lane() -> Document:
    """C03: 32 arrivals on a raw mbarrier, one of each lane."""
    w, full, empty = buffer("w"), MBarrier("full", 32), MBarrier("empty", 4)

    def load():
        with domain_loop(0, K):
            w.share()
            full.arrive(32)
            empty.wait()

    def use():
        with domain_loop(0, K):
            full.wait()
            w.read()
            empty.arrive()

    return build(role("load", 0, 1, load, [], [w]), role("use", 4, 4, use, [w]))


def flips(missing: int) -> Document:
    """C13: the parity of a wait, counted from all flips before it; ``missing`` of each tile's are left out."""
    ds, full, empty = buffer("ds"), MBarrier("full", 8), MBarrier("empty", 1)
    steps, tiles = symbol("steps", min=1), symbol("tiles")

    def comp():
        with domain_loop(0, tiles) as t, domain_loop(0, steps) as s:
            empty.wait((t * steps + s + 1) % 2)
            ds.share()
            full.arrive()

    def mma():
        with domain_loop(0, tiles) as t, domain_loop(0, steps) as s:
            full.wait((t * (steps - missing) + s) % 2)
            ds.read()
            empty.arrive()

    return build(role("comp", 4, 8, comp, [], [ds]), role("mma", 12, 1, mma, [ds]))


def carried() -> Document:
    """C14: stage and parity of raw mbarriers, of a counter over all tiles; the empty ones start fresh."""
    stages, tiles = 3, symbol("tiles")
    x = Ring(name="x", smem=[SmemAllocation("x", 1024)], stages=stages)
    full, empty = MBarrier("full", 1, stages), MBarrier("empty", 4, stages)

    def load():
        with domain_loop(0, tiles) as t, domain_loop(0, K) as k:
            i = t * K + k
            empty.wait((i // stages + 1) % 2, stage=i % stages)
            full.arrive_expect_tx(1024, stage=i % stages)
            x.load(full=full, stage=i % stages)

    def math():
        with domain_loop(0, tiles) as t, domain_loop(0, K) as k:
            i = t * K + k
            full.wait(i // stages % 2, stage=i % stages)
            x.read(stage=i % stages)
            fence_proxy_async()
            empty.arrive(stage=i % stages)

    return build(role("load", 0, 1, load, [], [x]), role("math", 4, 4, math, [x]))


def published(consumed: bool) -> Document:
    """C20: with parities that the loop's variable gives."""
    a, full, seen = tile(), MBarrier("full", 1), MBarrier("seen", 8)

    def publish():
        with domain_loop(0, K) as k, cta_rank(0):
            if consumed:
                seen.wait((k + 1) % 2)
            full.arrive_expect_tx(1024, cta="all")
            a.load(barrier=full, multicast="all")
        cluster_sync()

    def read():
        with domain_loop(0, K) as k:
            full.wait(k % 2)
            a.read()
            fence_proxy_async()
            if consumed:
                seen.arrive(cta=0)
        cluster_sync()

    return build(role("pub", 4, 1, publish, [], [a]), role("wg0", 0, 4, read, [a]), **PAIR)


def peeled(tiles=1) -> Document:
    """C22: the first multiplication stands before the loop, so that each release lags by one."""
    ab, acc = ring("ab", 3, advance_on_wait=True), accumulator()

    def load():
        with domain_loop(0, tiles), domain_loop(0, K1):
            do(ab, "acquire load commit")

    def math():
        group = AsyncGroup("wgmma")
        with domain_loop(0, tiles):
            ab.wait()
            acc.mma(tile=ab.tile())
            group.commit()
            with domain_loop(1, K1):
                ab.wait()
                acc.mma(tile=ab.tile())
                group.commit()
                group.wait(1)
                ab.release()
            group.wait(0)
            ab.release()

    return build(role("load", 0, 1, load, [], [ab]), role("math", 4, 4, math, [ab], [acc]))


def grouped(drained: bool) -> Document:
    """C33: a number of groups that is known at run time."""
    ab = Loaded(name="ab", pipeline_config=ring("ab", 2).pipeline_config, smem=[SmemAllocation("ab", 1024)])
    tmap, seen, groups = MemoryResource(name="tmap", space="gmem"), MBarrier("seen", 1), symbol("groups")

    def load():
        with domain_loop(0, groups) as g:
            if drained:
                with g.every(1, start=1):
                    seen.wait()
            tensormap_update(tmap)
            fence_tensormap(tmap)
            with domain_loop(0, K1):
                ab.acquire()
                ab.load(tensor_map=tmap)
                ab.commit()

    def use():
        with domain_loop(0, groups):
            with domain_loop(0, K1):
                do(ab, "wait release")
            seen.arrive()

    return build(role("load", 0, 1, load, [tmap], [ab]), role("use", 4, 1, use, [ab]))


def fenced_where(*outcomes: bool) -> Document:
    """C39: the fence stands on the branches where a condition comes out so."""
    lse = ring("lse", 2)

    def math():
        with domain_loop(0, K):
            do(lse, "wait read")
            for outcome in outcomes:
                with when_true("masked") if outcome else when_false("masked"):
                    fence_proxy_async()
            lse.release()

    return build(fill(lse), role("math", 4, 4, math, [lse]))


class Flagged(MemoryResource):
    """Written and read by threads, and by a copy."""

    @producer_work
    def write(self, stage_info): ...

    @producer_work(engine="tma")
    def load(self, stage_info, barrier): ...

    @consumer_work
    def read(self, stage_info): ...


def flagged(fenced: bool) -> Document:
    """C43: threads look at the bytes until a flag is there, then a copy overwrites them."""
    data, ready, full = Flagged(name="data", storage=1024), MBarrier("ready", 1), MBarrier("full", 1)

    def write():
        data.write()
        fence_proxy_async()
        ready.arrive()

    def spin():
        ready.wait()
        data.read()
        if fenced:
            fence_proxy_async()
        full.arrive_expect_tx(1024)
        data.load(barrier=full)
        full.wait()
        data.read()

    return build(role("write", 0, 1, write, [], [data]), role("spin", 4, 1, spin, [data], [data]))


def paired_allocation() -> Document:
    """C50: both CTAs of a pair meet after they have allocated, and before they leave."""

    def both():
        tmem_alloc(columns=128, cta_group=2)
        cluster_sync()
        tmem_dealloc(columns=128, cta_group=2)
        cluster_sync()

    return build(role("both", 0, 1, both), **SM100, **PAIR)


def trips_of_ctas(*trips: int) -> Document:
    """C52: each CTA fills its half of a stage of both, and has a loop of its own length."""
    b = ring("b", 2, size=2048, cta_layout_vmnk=(1, 2, 1, 1))

    def for_each_cta(body):
        def each():
            for rank, count in enumerate(trips):
                with cta_rank(rank), domain_loop(0, count):
                    body(rank)
            cluster_sync()

        return each

    def load(rank):
        b.acquire()
        b.load(footprint=(1024 * rank, 1024), multicast="all")
        b.commit()

    def use(rank):
        do(b, "wait read")
        fence_proxy_async()
        b.release()

    tasks = role("load", 0, 1, for_each_cta(load), [], [b]), role("use", 4, 4, for_each_cta(use), [b])
    return build(*tasks, **PAIR)


def fetched(waits: bool) -> Document:
    """C53: the loader copies what the preceding grid wrote."""
    pdl, x = PdlWaitBarrier(name="pdl_wait"), ring("x", 2)

    def load():
        if waits:
            pdl.wait_griddep()
        times(K, x, "acquire load commit")()

    def use():
        if not waits:
            pdl.wait_griddep()
        with domain_loop(0, K):
            do(x, "wait read")
            fence_proxy_async()
            x.release()

    tasks = [
        role("load", 0, 1, load, [pdl] if waits else [], [x]),
        role("use", 4, 1, use, [x] if waits else [x, pdl]),
    ]
    return TaskManager(tasks, {x: [pdl]}, name="fetched").document


def over_tiles(queue, skip_if, body, inside=False):
    """The body of a persistent role; ``inside``: it advances the queue in its inner loop."""

    def each():
        with work_tile_loop(queue, skip_if=skip_if) as t:
            with t.skippable(), domain_loop(0, K):
                body()
                if inside:
                    queue.get_and_advance_work_tile()
            if not inside:
                queue.get_and_advance_work_tile()

    return each


def skipping(load_skips: str, use_skips: str, inside: bool = False) -> Document:
    """P15: roles that share a pipeline skip tiles under predicates."""
    x, queue = channel("x", 2), WorkQueue(name="queue", tiles=symbol("tiles"))
    load = over_tiles(queue, load_skips, lambda: do(x, "acquire fill commit"), inside)
    use = over_tiles(queue, use_skips, lambda: do(x, "wait read release"), inside)
    return build(role("load", 0, 1, load, [queue], [x]), role("use", 4, 1, use, [queue, x]))


def advanced(inside: bool) -> Document:
    """C56: where the queue advances."""
    return skipping("empty", "empty", inside)


def stored(*sizes: int) -> Document:
    """C59: shared memory."""
    found = [Buffer(name=f"s{i}", smem=[SmemAllocation(f"s{i}", size)]) for i, size in enumerate(sizes)]
    return build(role("idle", 0, 1, lambda: None), resources=found)


def columns(*sizes: int) -> Document:
    """C59: tensor memory."""
    found = [
        MemoryResource(name=f"t{i}", tmem=[TmemAllocation(f"t{i}", size)]) for i, size in enumerate(sizes)
    ]
    return build(role("idle", 0, 1, lambda: None), resources=found, **SM100)
