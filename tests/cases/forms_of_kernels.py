"""Forms of what whole kernels do: operands for rows and columns of a cluster, storage that takes turns, parts of a tile."""

from __future__ import annotations

from collections.abc import Callable

from kit import K, MemoryResource, buffer, build, do, output, ring, role
from more_forms_of_reports import columns, tile
from tensor_kit import SM100, Tensor

from warpdraft.core import (
    AsyncGroup,
    Document,
    MBarrier,
    NamedBarrier,
    SmemAllocation,
    Storage,
    consumer_work,
    cta_rank,
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
    when_false,
    when_true,
)

SAFE = "safe"
TILES = symbol("tiles")
N1, N2 = symbol("n", min=1), symbol("n", min=2)


class Gathered(MemoryResource):
    """Filled by cp.async."""

    @producer_work(engine="cp_async")
    def gather(self, stage_info): ...

    @consumer_work
    def read(self, stage_info): ...


class Scores(MemoryResource):
    """Registers that wgmma fills from Q and K."""

    @producer_work(engine="wgmma")
    def mma(self, stage_info, q, k): ...

    @consumer_work(engine="warp")
    def read(self, stage_info): ...


class Parts(Tensor):
    """A tile in tensor memory that is handed on in two parts."""

    @producer_work(engine="tcgen05_st", footprint=(0, 48))
    def first(self, stage_info): ...

    @producer_work(engine="tcgen05_st", footprint=(48, 16))
    def rest(self, stage_info): ...

    @consumer_work(view=True, returns="tile", footprint=(0, 48))
    def most(self, stage_info): ...

    @consumer_work(view=True, returns="tile", footprint=(48, 16))
    def last(self, stage_info): ...


class Mapped(MemoryResource):
    """Global memory that is stored by a tensor map."""

    @producer_work(engine="bulk_store")
    def store(self, stage_info, tile, tensor_map): ...


def square(count: int, *, back: bool = True, stages: int = 2) -> Document:
    """Four CTAs: each copies a half of A to its row, and a half of B to its column; its barrier counts three consumers."""
    a, b = tile("a", stages), tile("b", stages)
    full, empty = MBarrier("full", 1, stages), MBarrier("empty", count, stages)

    def load():
        with domain_loop(0, N2) as k:
            empty.wait((k // stages + 1) % 2, stage=k % stages)
            full.arrive_expect_tx(1024, stage=k % stages)
            for c in range(4):
                with cta_rank(c):
                    halves = (256 * (c & 1), 256), (256 * (c >> 1), 256)
                    for x, part, other in zip((a, b), halves, (c ^ 1, c ^ 2), strict=True):
                        to = tuple(sorted((c, other)))
                        x.load(full=full, stage=k % stages, footprint=part, multicast=to)
        for s in range(stages):
            empty.wait(((N2 + s) // stages + 1) % 2, stage=(N2 + s) % stages)

    def use():
        with domain_loop(0, N2) as k:
            full.wait(k // stages % 2, stage=k % stages)
            a.read(stage=k % stages)
            b.read(stage=k % stages)
            fence_proxy_async()
            for c in range(4):
                with cta_rank(c):
                    empty.arrive(stage=k % stages, cta=tuple(sorted({c, c ^ 1, c ^ 2})) if back else None)

    return build(role("load", 0, 1, load, [], [a, b]), role("use", 4, 1, use, [a, b]), cluster=(2, 2, 1))


def skipped(*, disarmed: bool) -> Document:
    """A copy that is outside is left out; its bytes are expected all the same, or they are not."""
    a, full, empty = tile("a"), MBarrier("full", 1), MBarrier("empty", 4)

    def load():
        with domain_loop(0, K) as k:
            empty.wait((k + 1) % 2)
            if not disarmed:
                full.arrive_expect_tx(512)
            with when_true("inside"):
                if disarmed:
                    full.arrive_expect_tx(512)
                a.load(full=full)
            if disarmed:
                with when_false("inside"):
                    full.arrive()

    def use():
        with domain_loop(0, K) as k:
            full.wait(k % 2)
            with when_true("inside"):
                a.read()
                fence_proxy_async()
            empty.arrive()

    return build(role("load", 0, 1, load, [], [a]), role("use", 4, 4, use, [a]))


def staged(newest: int, stages: int = 3) -> Document:
    """The groups of a multistage loop: all but the copies of the stages ahead are waited for."""
    x = Gathered(name="x", smem=[SmemAllocation("x", 512)], stages=stages)
    group, meet = AsyncGroup("cp_async"), NamedBarrier(1, 128, "meet")

    def body():
        for s in range(stages - 1):
            x.gather(stage=s)
            group.commit()
        with domain_loop(0, N2) as k:
            group.wait(newest)
            meet.sync()
            x.read(stage=k % stages)
            x.gather(stage=(k + stages - 1) % stages)
            group.commit()
        group.wait(0)

    return build(role("wg", 0, 4, body, [x], [x]))


def output_over_query(*, read: bool) -> Document:
    """O goes over Q, and is stored from there; the next Q comes once that is read."""
    q, o = tile("q"), buffer("o", 512, alias="qo", alias_phase=1)
    q.alias, kv, out = "qo", ring("kv", 2, 256), output()
    s, group, stores = Scores(name="s", space="rmem"), AsyncGroup("wgmma"), AsyncGroup("bulk_store")
    there, free = MBarrier("there", 1), MBarrier("free", 1)
    used, filled = NamedBarrier(1, 128, "used"), NamedBarrier(2, 128, "filled")

    def load():
        with domain_loop(0, TILES) as t:
            free.wait((t + 1) % 2)
            there.arrive_expect_tx(512)
            q.load(full=there)
            with domain_loop(0, N1):
                do(kv, "acquire load commit")

    def math():
        with domain_loop(0, TILES) as t:
            there.wait(t % 2)
            with domain_loop(0, N1):
                kv.wait()
                s.mma(q=q.tile(), k=kv.tile())
                group.commit()
                group.wait(0)
                kv.release()
            s.read()
            used.sync()
            o.share()
            fence_proxy_async()
            filled.sync()
            with elect_warp(0):
                out.store(tile=o.tile())
                stores.commit()
                stores.wait_read(0) if read else None
                free.arrive()
        with elect_warp(0):
            stores.wait(0)

    math_task = role("math", 0, 4, math, [q, kv, s, o], [s, o, out])
    return build(role("load", 4, 1, load, [], [q, kv]), math_task)


def in_two_parts(*, waits: bool) -> Document:
    """An MMA begins on most of P; what uses the rest waits for that, too."""
    s, o = columns("s", 0, 128), columns("o", 256, 128)
    p = Parts(name="p", space="tmem", storage=Storage(64, 1, 1, offset=64))
    most, rest, free, full = (
        MBarrier("most", 4),
        MBarrier("rest", 4),
        MBarrier("free", 1),
        MBarrier("full", 1),
    )

    def mma():
        with domain_loop(0, K) as k:
            with k.every(1, start=1):
                free.wait((k + 1) % 2)
            s.mma()
            tcgen05_commit(full)
            most.wait(k % 2)
            o.mma_from(tile=p.most())
            rest.wait(k % 2) if waits else None
            o.mma_from(tile=p.last())
            tcgen05_commit(free)
            None if waits else rest.wait(k % 2)

    def soft():
        with domain_loop(0, K) as k:
            full.wait(k % 2)
            s.load()
            tcgen05_wait_ld()
            p.first()
            tcgen05_wait_st()
            most.arrive()
            p.rest()
            tcgen05_wait_st()
            rest.arrive()

    return build(role("mma", 8, 1, mma, [p], [s, o]), role("soft", 0, 4, soft, [s], [p]), **SM100)


def in_turn(*, waits: bool) -> Document:
    """Two results take turns in the same columns; each waits for the readers of the other."""
    a, b = columns("a", 0, 64), columns("b", 0, 64)
    full = [MBarrier(f"full_{x}", 1) for x in "ab"]
    free = [MBarrier(f"free_{x}", 4) for x in "ab"]

    def mma():
        with domain_loop(0, K) as k:
            free[1].wait((k + 1) % 2) if waits else None
            a.mma()
            tcgen05_commit(full[0])
            free[0].wait(k % 2)
            b.mma()
            tcgen05_commit(full[1])

    def reduce():
        with domain_loop(0, K) as k:
            for i, x in enumerate((a, b)):
                full[i].wait(k % 2)
                x.load()
                tcgen05_wait_ld()
                free[i].arrive()

    return build(role("mma", 8, 1, mma, [], [a, b]), role("reduce", 0, 4, reduce, [a, b]), **SM100)


def remapped(newest: int) -> Document:
    """A tensor map is rewritten with each group, once the stores by it have been read."""
    c, out, group = buffer("c", stages=2), Mapped(name="out", space="gmem"), AsyncGroup("bulk_store")
    tmap = MemoryResource(name="tmap", space="gmem")

    def epilogue():
        with domain_loop(0, TILES) as t:
            group.wait_read(newest)
            tensormap_update(tmap)
            fence_tensormap(tmap)
            c.fill(stage=t % 2)
            fence_proxy_async()
            out.store(tile=c.tile(stage=t % 2), tensor_map=tmap)
            group.commit()
        group.wait(0)

    return build(role("epi", 0, 1, epilogue, [c, tmap], [c, out]))


KERNELS: tuple[tuple[str, str, str, Callable[[], Document]], ...] = (  # report, name, expected, build
    ("2 x 2 cluster", "four counted", "WD201", lambda: square(4)),
    ("2 x 2 cluster", "at home", "WD401", lambda: square(1, back=False)),
    ("2 x 2 cluster", "three counted", SAFE, lambda: square(3)),
    ("2 x 2 cluster", "one stage", SAFE, lambda: square(3, stages=1)),
    ("a copy left out", "expected", "WD203", lambda: skipped(disarmed=False)),
    ("a copy left out", "not expected", SAFE, lambda: skipped(disarmed=True)),
    ("multistage", "all but two", "WD401", lambda: staged(2)),
    ("multistage", "all but one", SAFE, lambda: staged(1)),
    ("O over Q", "at once", "WD402", lambda: output_over_query(read=False)),
    ("O over Q", "once read", SAFE, lambda: output_over_query(read=True)),
    ("most of P", "does not wait for the rest", "WD401", lambda: in_two_parts(waits=False)),
    ("most of P", "waits for the rest", SAFE, lambda: in_two_parts(waits=True)),
    ("cudnn-frontend#396", "no edge back", "WD402", lambda: in_turn(waits=False)),
    ("cudnn-frontend#396", "waits for the readers", SAFE, lambda: in_turn(waits=True)),
    ("cutlass#2162", "a store in flight", "WD405", lambda: remapped(1)),
    ("cutlass#2162", "drained", SAFE, lambda: remapped(0)),
)
