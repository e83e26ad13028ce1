"""Forms whose loops, tiles or clusters are not those of the cases' own tests: parities over three loops, gates with a
parity of the tile, tiles without work."""

from __future__ import annotations

from collections.abc import Callable

from kit import Buffer, Ring, buffer, build, channel, do, output, role

from warpdraft.core import (
    AsyncGroup,
    Document,
    MBarrier,
    NamedBarrier,
    PdlLaunchBarrier,
    PipelineConfig,
    SmemAllocation,
    TaskManager,
    WorkQueue,
    cluster_sync,
    cta_rank,
    domain_loop,
    fence_proxy_async,
    symbol,
    when_false,
    when_true,
    work_tile_loop,
)

SAFE = "safe"
TILES = symbol("tiles")
KT = symbol("kt", min=1)


def restarted(stages: int, trips, *, carried: bool, warps: int = 1) -> Document:
    """C14: a raw ring over tiles; its slot and parity are counted from the start, or from that of each tile."""
    full, empty = MBarrier("full", 1, stages), MBarrier("empty", warps, stages)
    s = Ring(name="s", smem=[SmemAllocation("s", 512)], stages=stages)

    def load():
        with domain_loop(0, TILES) as t, domain_loop(0, trips) as k:
            i = t * trips + k if carried else k
            empty.wait(phase=(i // stages + 1) % 2, stage=i % stages)
            full.arrive_expect_tx(512, stage=i % stages)
            s.load(full=full, stage=i % stages)

    def use():
        with domain_loop(0, TILES) as t, domain_loop(0, trips) as k:
            i = t * trips + k if carried else k
            full.wait(phase=i // stages % 2, stage=i % stages)
            s.read(stage=i % stages)
            fence_proxy_async()
            empty.arrive(stage=i % stages)

    return build(role("load", 0, 1, load, [], [s]), role("use", 4, warps, use, [s]))


def nested(stages: int, *, carried: str) -> Document:
    """C14: batches, heads and four steps; the counter starts again with each batch, each head, or never."""
    full, empty = MBarrier("full", 1, stages), MBarrier("empty", 1, stages)
    s, batches = buffer("s", 256, stages=stages), symbol("batches")

    def count(b, h, k):
        return {"all": (b * 2 + h) * 4 + k, "head": h * 4 + k, "none": k}[carried]

    def load():
        with domain_loop(0, batches) as b, domain_loop(0, 2) as h, domain_loop(0, 4) as k:
            i = count(b, h, k)
            empty.wait((i // stages + 1) % 2, stage=i % stages)
            s.fill(stage=i % stages)
            full.arrive(stage=i % stages)

    def use():
        with domain_loop(0, batches) as b, domain_loop(0, 2) as h, domain_loop(0, 4) as k:
            i = count(b, h, k)
            full.wait(i // stages % 2, stage=i % stages)
            s.read(stage=i % stages)
            empty.arrive(stage=i % stages)

    return build(role("load", 0, 1, load, [], [s]), role("use", 4, 1, use, [s]))


def flipped(kinds: str, *, spurious: bool) -> Document:
    """C16: tiles that are known at capture ("w": work); the reader also flips its parity on empty ones."""
    o, full, empty = buffer("o", 256), MBarrier("full", 1), MBarrier("empty", 1)

    def mma():
        for n in range(kinds.count("w")):
            empty.wait(1 - n % 2)
            o.fill()
            full.arrive()

    def correct():
        parity = 0
        for kind in kinds:
            if kind == "w":
                full.wait(parity)
                o.read()
                empty.arrive()
            if kind == "w" or spurious:
                parity ^= 1

    return build(role("mma", 0, 1, mma, [], [o]), role("correct", 4, 1, correct, [o]))


def without_kv(*, always: bool) -> Document:
    """C16: an empty tile is one whose loop runs no time; the reader waits in every tile, or as often as it was committed."""
    queue, kv = WorkQueue(name="queue"), symbol("kv", per_tile=True)
    s, o = channel("s", 2), channel("o", 1)

    def over_tiles(body):
        def each():
            with work_tile_loop(queue):
                body()
                queue.get_and_advance_work_tile()

        return each

    def mma():
        with domain_loop(0, kv) as k:
            do(s, "wait read release")
            with k.last_iter():
                do(o, "acquire fill commit")

    def soft():
        with domain_loop(0, kv):
            do(s, "acquire share commit")

    def correct():
        if always:
            return do(o, "wait read release")
        with domain_loop(0, kv) as k, k.last_iter():
            do(o, "wait read release")

    return build(
        role("mma", 0, 1, over_tiles(mma), [queue, s], [o]),
        role("soft", 4, 4, over_tiles(soft), [queue], [s]),
        role("correct", 8, 4, over_tiles(correct), [queue, o]),
    )


def gate(*, paired: bool) -> Document:
    """C17: a gate whose parity is the tile's; the first pass needs no arrival."""
    queue, opened, seen = WorkQueue(name="queue"), MBarrier("gate", 1), MBarrier("seen", 1)

    def ldg():
        with work_tile_loop(queue) as t:
            opened.wait((t + 1) % 2)
            if paired:
                seen.arrive()
            queue.get_and_advance_work_tile()

    def stg():
        with work_tile_loop(queue) as t:
            if paired:
                seen.wait(t % 2)
            opened.arrive()
            queue.get_and_advance_work_tile()

    return build(role("ldg", 0, 1, ldg, [queue]), role("stg", 4, 1, stg, [queue]))


def gate_of_pair(*, paired: bool) -> Document:
    """C17: both CTAs of a pair open CTA 0's gate."""
    queue, opened, seen = WorkQueue(name="queue"), MBarrier("gate", 2), MBarrier("seen", 1)

    def ldg():
        with work_tile_loop(queue):
            with cta_rank(0):
                opened.wait()
                if paired:
                    seen.arrive(cta="all")
            queue.get_and_advance_work_tile()
        cluster_sync()

    def stg():
        with work_tile_loop(queue):
            opened.arrive(cta=0)
            if paired:
                seen.wait()
            queue.get_and_advance_work_tile()
        cluster_sync()

    tasks = role("ldg", 0, 1, ldg, [queue]), role("stg", 1, 1, stg, [queue])
    return build(*tasks, cluster=(2, 1, 1))


def tiles_of_ctas(*, alike: bool) -> Document:
    """C52: each CTA has a number of tiles of its own, and copies to both."""
    queue = WorkQueue(name="queue", tiles=symbol("t", per_cta=not alike))
    config = PipelineConfig(2, pipeline_type="TmaAsync", cta_layout_vmnk=(1, 2, 1, 1))
    b = Ring(name="b", pipeline_config=config, smem=[SmemAllocation("b", 1024)])

    def over_tiles(body):
        def each():
            with work_tile_loop(queue):
                with domain_loop(0, 4):
                    body()
                queue.get_and_advance_work_tile()
            cluster_sync()

        return each

    def load():
        b.acquire()
        b.load(multicast="all")
        b.commit()

    def use():
        do(b, "wait read")
        fence_proxy_async()
        b.release()

    tasks = (
        role("load", 0, 1, over_tiles(load), [queue], [b]),
        role("use", 4, 2, over_tiles(use), [b, queue]),
    )
    return build(*tasks, cluster=(2, 1, 1))


def launched(*, last: bool) -> Document:
    """C55: the next grid is let go in the last iteration, or behind the loop and a barrier."""
    launch, out = PdlLaunchBarrier(name="launch", successor_waits=False), Buffer(name="out", space="gmem")
    meet = NamedBarrier(1, 128, "meet")

    def body():
        with domain_loop(0, symbol("n")) as k:
            out.share()
            if last:
                with k.last_iter():
                    launch.launch_griddep()
        if not last:
            meet.sync()
            launch.launch_griddep()

    return TaskManager([role("body", 0, 4, body, [], [out, launch])], {}, name="launched").document


def fixed_wait(trips: int, *, start: bool, stages: int = 3) -> Document:
    """C27: the bytes of the last stage are stored from; its refill waits for that at the start, or at a fixed iteration."""
    full, empty, done = MBarrier("full", 1, stages), MBarrier("empty", 1, stages), MBarrier("done", 1)
    ring = Ring(name="ring", smem=[SmemAllocation("ring", 512)], stages=stages, alias="rc", alias_phase=0)
    c = Buffer(name="c", smem=[SmemAllocation("c", 512)], alias="rc", alias_phase=1)
    out, group, jobs = output(), AsyncGroup("bulk_store"), symbol("jobs")

    def load():
        with domain_loop(0, jobs) as job:
            if start:
                group.wait_read(0)
            with domain_loop(0, trips) as k:
                if not start:
                    with k.every(trips, start=stages - 1):
                        group.wait_read(0)
                n = job * trips + k
                empty.wait(phase=(n // stages + 1) % 2, stage=n % stages)
                full.arrive_expect_tx(512, stage=n % stages)
                ring.load(full=full, stage=n % stages)
            done.wait(phase=job % 2)
            out.store(tile=c.tile())
            group.commit()
        group.wait(0)

    def math():
        with domain_loop(0, jobs) as job:
            with domain_loop(0, trips) as k:
                n = job * trips + k
                full.wait(phase=n // stages % 2, stage=n % stages)
                ring.read(stage=n % stages)
                fence_proxy_async()
                empty.arrive(stage=n % stages)
            c.fill()
            fence_proxy_async()
            done.arrive()

    return build(role("load", 0, 1, load, [c], [ring, out]), role("math", 4, 1, math, [ring], [c]))


def commits_on_empty(stages: int, *, spurious: bool) -> Document:
    """C16: the softmax arrives for empty tiles, too, which nobody takes."""
    queue, p = WorkQueue(name="queue"), channel("p", stages)

    def soft():
        with work_tile_loop(queue):
            with when_true("work"):
                do(p, "acquire share commit")
            if spurious:
                with when_false("work"):
                    do(p, "acquire commit")
            queue.get_and_advance_work_tile()

    def correct():
        with work_tile_loop(queue):
            with when_true("work"):
                do(p, "wait read release")
            queue.get_and_advance_work_tile()

    return build(role("soft", 0, 4, soft, [queue], [p]), role("correct", 4, 4, correct, [queue, p]))


LOOPS: tuple[tuple[str, str, str, Callable[[], Document]], ...] = (  # case, name, expected, build
    ("C14", "starts again, as many as stages", "WD204", lambda: restarted(4, 4, carried=False)),
    ("C14", "starts again, one stage", "WD204", lambda: restarted(1, KT, carried=False)),
    ("C14", "starts again, 5 of 7", "WD204", lambda: restarted(7, 5, carried=False)),
    ("C14", "7 stages, carried over", SAFE, lambda: restarted(7, 8, carried=True)),
    ("C14", "2 stages, 2 warps, any K, carried", SAFE, lambda: restarted(2, KT, carried=True, warps=2)),
    ("C14", "starts again, twice 5 stages", SAFE, lambda: restarted(5, 10, carried=False)),
    ("C14", "three loops, carried over heads", "WD204", lambda: nested(3, carried="head")),
    ("C14", "three loops, not carried", "WD204", lambda: nested(4, carried="none")),
    ("C14", "three loops, carried over all", SAFE, lambda: nested(3, carried="all")),
    ("C14", "three loops, heads of twice the stages", SAFE, lambda: nested(4, carried="head")),
    ("C16", "unrolled, one empty", "WD204", lambda: flipped("wew", spurious=True)),
    ("C16", "unrolled, two empty", SAFE, lambda: flipped("weew", spurious=True)),
    ("C16", "unrolled, flips where it waits", SAFE, lambda: flipped("wewew", spurious=False)),
    ("C16", "no KV, waits in each tile", "WD302", lambda: without_kv(always=True)),
    ("C16", "no KV, waits where committed", SAFE, lambda: without_kv(always=False)),
    ("C16", "commits on empty tiles", "WD210", lambda: commits_on_empty(2, spurious=True)),
    ("C16", "commits on tiles with work", SAFE, lambda: commits_on_empty(3, spurious=False)),
    ("C17", "parity of the tile", "WD205", lambda: gate(paired=False)),
    ("C17", "parity of the tile, paired", SAFE, lambda: gate(paired=True)),
    ("C17", "a pair's gate", "WD205", lambda: gate_of_pair(paired=False)),
    ("C17", "a pair's gate, paired", SAFE, lambda: gate_of_pair(paired=True)),
    ("C27", "three stages, K = 4", "WD402", lambda: fixed_wait(4, start=False)),
    ("C27", "three stages, K = 4, at the start", SAFE, lambda: fixed_wait(4, start=True)),
    ("C52", "tiles of each CTA", "WD704", lambda: tiles_of_ctas(alike=False)),
    ("C52", "as many tiles", SAFE, lambda: tiles_of_ctas(alike=True)),
    ("C55", "in the last iteration", "WD701", lambda: launched(last=True)),
    ("C55", "behind loop and barrier", SAFE, lambda: launched(last=False)),
)
