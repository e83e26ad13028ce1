"""Further forms of cases: other stages, counts and splits of the work over tasks than those of the cases' own tests."""

from __future__ import annotations

from collections.abc import Callable

from kit import K, accumulator, buffer, build, channel, drain, fill, output, ring, role, tests_of

from warpdraft.core import (
    AsyncGroup,
    Document,
    MBarrier,
    NamedBarrier,
    domain_loop,
    elect_lane,
    elect_warp,
    fence_mbarrier_init,
    fence_proxy_async,
    symbol,
)

drains = tests_of("drains")
pair_memory = tests_of("pair_memory")
raw_counts = tests_of("raw_counts")
SAFE = "safe"
N = symbol("n", min=1)


def meeting(threads: int, *warps: int, trips=None) -> Document:
    """C05: tasks of so many warps sync on one barrier, once or in a loop."""
    meet = NamedBarrier(3, threads, "meet")

    def once():
        meet.sync()

    def often():
        with domain_loop(0, trips):
            meet.sync()

    body = once if trips is None else often
    return build(*(role(f"t{i}", 4 * i, n, body) for i, n in enumerate(warps)))


def led(warps: int, stages: int, *, all_arrive: bool) -> Document:
    """C18: a raw ring that the first warp of its consumer releases for all of them, or each for itself."""
    x = buffer("x", stages=stages)
    full, empty = MBarrier("full", 1, stages), MBarrier("empty", warps if all_arrive else 1, stages)

    def produce():
        with domain_loop(0, N) as k:
            with k.every(1, start=stages):
                empty.wait((k // stages + 1) % 2, stage=k % stages)
            x.fill(stage=k % stages)
            full.arrive(stage=k % stages)

    def consume():
        with domain_loop(0, N) as k:
            full.wait(k // stages % 2, stage=k % stages)
            x.read(stage=k % stages)
            if all_arrive:
                empty.arrive(stage=k % stages)
            else:
                with elect_warp(0):
                    empty.arrive(stage=k % stages)

    return build(role("produce", 0, 1, produce, [], [x]), role("consume", 4, warps, consume, [x]))


def lives(*, inval: bool, meets: bool = True) -> Document:
    """C21 over two tasks: one barrier initialised again, at parity 0, once both are through with its first life."""
    b, meet = MBarrier("b", 1), NamedBarrier(1, 64, "meet")

    def init():
        with elect_lane():
            b.init()
            fence_mbarrier_init()

    def owner():
        init()
        meet.sync()
        b.arrive()
        meet.sync() if meets else None
        with elect_lane():
            b.inval() if inval else None
        init()
        meet.sync()
        b.arrive()

    def other():
        meet.sync()
        b.wait(0)
        meet.sync() if meets else None
        meet.sync()
        b.wait(0)

    return build(role("owner", 0, 1, owner), role("other", 4, 1, other))


def staged(stages: int, newest: int, *, meets: bool, warps: int = 4) -> Document:
    """C28: a staging buffer of ``stages`` that one warp stores, waiting for all but the ``newest`` reads."""
    c, out, group = buffer("c", stages=stages), output(), AsyncGroup("bulk_store")
    filled, free = NamedBarrier(4, 32 * warps, "filled"), NamedBarrier(5, 32 * warps, "free")

    def body():
        with domain_loop(0, N) as tile:
            free.sync() if meets else None
            c.share(stage=tile % stages)
            fence_proxy_async()
            filled.sync()
            with elect_warp(0):
                out.store(tile=c.tile(stage=tile % stages))
                group.commit()
                group.wait_read(newest)
        with elect_warp(0):
            group.wait(0)

    return build(role("epilogue", 0, warps, body, [c], [c, out]))


def partials(*, meets: bool, warps: int = 8) -> Document:
    """C29: partial sums over the bytes of an input, by the warps that have read it."""
    a, c = buffer("a", 1024, alias="ac"), buffer("c", 1024, alias="ac", alias_phase=1)
    meet, after = NamedBarrier(1, 32 * warps, "meet"), NamedBarrier(2, 32 * warps, "after")
    begin = NamedBarrier(3, 32 * warps, "begin")

    def body():
        a.share()
        begin.sync()
        a.read()
        meet.sync() if meets else None
        c.share()
        after.sync()
        c.read()

    return build(role("comp", 0, warps, body, [a, c], [a, c]))


def looped(*, back: bool, tasks: int = 2) -> Document:
    """C30: several warpgroups multiply one operand that a task fills; who has done may not let it be refilled alone."""
    a, there, here = (
        buffer("a"),
        NamedBarrier(1, 32 + 128 * tasks, "there"),
        NamedBarrier(2, 32 + 128 * tasks, "here"),
    )

    def produce():
        with domain_loop(0, N):
            a.fill()
            fence_proxy_async()
            there.sync()
            here.sync() if back else None

    def part(i):
        acc, group = accumulator(f"acc{i}"), AsyncGroup("wgmma", f"mma{i}")

        def body():
            with domain_loop(0, N):
                there.sync()
                acc.mma(tile=a.tile())
                group.commit()
                group.wait(0)
                here.sync() if back else None

        return role(f"math{i}", 4 + 4 * i, 4, body, [a], [acc])

    return build(role("load", 0, 1, produce, [], [a]), *(part(i) for i in range(tasks)))


def zeroed(*, outside: bool, warps: int = 4, min_trips: int = 0) -> Document:
    """C37: a state that is stored by TMA behind a loop which may be empty, and which alone fences."""
    n = symbol("n", min=min_trips)
    s, out, group, meet = buffer("s"), output(), AsyncGroup("bulk_store"), NamedBarrier(1, 32 * warps, "meet")

    def body():
        s.share()
        with domain_loop(0, n):
            s.share()
            fence_proxy_async()
        fence_proxy_async() if outside else None
        meet.sync()
        with elect_warp(0):
            out.store(tile=s.tile())
            group.commit()
            group.wait(0)

    return build(role("comp", 0, warps, body, [s], [s, out]))


def refilled(*, fence: bool, reads: int = 1, stages: int = 2) -> Document:
    """C43, C39: threads read what a copy then fills again."""
    q = ring("q", stages)

    def use():
        with domain_loop(0, K):
            q.wait()
            for _ in range(reads):
                q.read()
            fence_proxy_async() if fence else None
            q.release()

    return build(fill(q), drain(q, body=use))


def handed_over(made, taken, *, stages: int = 2) -> Document:
    """C46, P08: a loader and a user whose loops differ."""
    x = channel("x", stages)
    return build(fill(x, made), drain(x, taken))


def unsaid(reads: str, *, early: bool) -> Document:
    """C22: what a consumer work of shared memory returns goes into a wgmma."""
    ab, acc, group = ring("ab", 2), accumulator(), AsyncGroup("wgmma")

    def math():
        with domain_loop(0, N):
            ab.wait()
            tile = getattr(ab, reads)()
            fence_proxy_async()
            ab.release() if early else None
            acc.mma(tile=tile)
            group.commit()
            group.wait(0)
            None if early else ab.release()

    return build(fill(ab, N), role("math", 4, 4, math, [ab], [acc]))


VARIANTS: tuple[tuple[str, str, str, Callable[[], Document]], ...] = (  # case, name, expected, build
    ("C05", "256 threads, 6 warps come", "WD208", lambda: meeting(256, 4, 2)),
    ("C05", "384 threads in a loop, 8 warps", "WD208", lambda: meeting(384, 4, 4, trips=K)),
    ("C05", "192 threads, 6 warps", SAFE, lambda: meeting(192, 4, 2)),
    ("C05", "256 threads in a loop", SAFE, lambda: meeting(256, 4, 4, trips=K)),
    ("C18", "two warps, raw mbarriers", "WD205", lambda: led(2, 1, all_arrive=False)),
    ("C18", "two stages, raw mbarriers", "WD205", lambda: led(4, 2, all_arrive=False)),
    ("C18", "every warp arrives, one stage", SAFE, lambda: led(4, 1, all_arrive=True)),
    ("C18", "every warp arrives, two stages", SAFE, lambda: led(4, 2, all_arrive=True)),
    ("C21", "again without inval", "WD211", lambda: lives(inval=False)),
    ("C21", "again under the other's wait", "WD211", lambda: lives(inval=True, meets=False)),
    ("C21", "again behind inval and barrier", SAFE, lambda: lives(inval=True)),
    ("C28", "no barrier, two warps", "WD401", lambda: staged(1, 0, meets=False, warps=2)),
    ("C28", "two stages, both in flight", "WD404", lambda: staged(2, 2, meets=True)),
    ("C28", "a barrier, two warps", SAFE, lambda: staged(1, 0, meets=True, warps=2)),
    ("C28", "two stages, one in flight", SAFE, lambda: staged(2, 1, meets=True)),
    ("C29", "no barrier, 2 warps", "WD402", lambda: partials(meets=False, warps=2)),
    ("C29", "a barrier, 2 warps", SAFE, lambda: partials(meets=True, warps=2)),
    ("C30", "two warpgroups and a loader", "WD401", lambda: looped(back=False)),
    ("C30", "one warpgroup and a loader", "WD401", lambda: looped(back=False, tasks=1)),
    ("C30", "all of them meet", SAFE, lambda: looped(back=True)),
    ("C37", "two warps", "WD504", lambda: zeroed(outside=False, warps=2)),
    ("C37", "one warp", "WD504", lambda: zeroed(outside=False, warps=1)),
    ("C37", "two warps, fence behind", SAFE, lambda: zeroed(outside=True, warps=2)),
    ("C37", "never empty", SAFE, lambda: zeroed(outside=False, min_trips=1)),
    ("C39", "one stage", "WD501", lambda: refilled(fence=False, stages=1)),
    ("C43", "three stages, read twice", "WD501", lambda: refilled(fence=False, stages=3, reads=2)),
    ("C39", "one stage, fenced", SAFE, lambda: refilled(fence=True, stages=1)),
    ("C43", "three stages, fenced", SAFE, lambda: refilled(fence=True, stages=3, reads=2)),
    ("C46", "loops of two symbols", "WD302", lambda: handed_over(K, N)),
    ("C46", "three tiles too many", "WD302", lambda: handed_over(K + 3, K)),
    ("C46", "two passes each", SAFE, lambda: handed_over(2 * K, 2 * K, stages=3)),
    ("C01", "a raw ring, 16 of 8", "WD201", lambda: raw_counts.TestCountsThatAreNeverMet.ring(16)),
    ("C01", "a raw ring, 24 of 16", "WD201", lambda: raw_counts.TestCountsThatAreNeverMet.ring(24, 2)),
    ("C01", "a raw ring, 8 of 8", SAFE, lambda: raw_counts.TestCountsThatAreNeverMet.ring(8)),
    ("C22", "a stage that may be a descriptor", "WD403", lambda: unsaid("read", early=True)),
    ("C22", "a fragment, released at once", SAFE, lambda: unsaid("value", early=True)),
    ("C22", "a descriptor, released behind", SAFE, lambda: unsaid("read", early=False)),
    ("C48", "the first of a chain drains the second", "WD218", lambda: drains.chain("first")),
    ("C48", "a consumer drains", "WD218", lambda: drains.chain("last")),
    ("C48", "who fills drains", SAFE, lambda: drains.chain("second")),
    ("C48", "each pass drains", SAFE, lambda: drains.one_cta("inside")),
    ("C50", "MMAs of a pair, nobody meets first", "WD406", lambda: pair_memory.pair("none")),
    ("C50", "MMAs of a pair, met within CTAs", "WD406", lambda: pair_memory.pair("cta", "cta")),
    ("C50", "MMAs of a pair, the cluster meets", SAFE, pair_memory.pair),
)
