"""How long the verifier takes: python benchmarks/verifier.py

Each row is the best of several runs in this process, in processor time, nothing kept from one to the next.
The schedules are those on which
NVIDIA Task Scheduling 4.8.1 was measured, and the examples. Rows "for all N" prove every trip count; the
series at the end
shows that a listed trip count costs in proportion to its events, and a proof nothing more for long loops.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import task_scheduling

from warpdraft.core.document import (
    Document,
    Engine,
    NamedBarrier,
    Pipeline,
    Resource,
    Signal,
    Space,
    Storage,
    Work,
)
from warpdraft.core.expressions import Integer, Symbol
from warpdraft.core.findings import Report
from warpdraft.core.hazards.examples import (
    STORE,
    K,
    acquire,
    channel,
    commit,
    document,
    fence,
    group_commit,
    group_wait,
    loop,
    output,
    release,
    ring,
    sync,
    task,
    tiles,
    wait,
    work,
)
from warpdraft.core.store import load
from warpdraft.core.verify import verify

EXAMPLES = Path(__file__).parents[1] / "assets" / "examples"
TILES = Symbol("tiles")
RUNS = 7
THEIRS = {  # schedule of `task_scheduling` -> our rows: the same trip count, and all of them
    "ring": ("ring S=2, N=64", "ring S=2, for all N"),
    "chain": ("chain of 5, S=3, N=8", "chain of 5, S=3, for all N"),
    "loads3": ("3 loads, MMA, epilogue, S=3, N=8", "3 loads, MMA, epilogue, S=3, all N"),
    "loads4": ("4 loads, MMA, epilogue, S=3, N=8", "4 loads, MMA, epilogue, S=3, all N"),
    "attention": ("", "attention, 2 softmaxes, all"),
}


def two_tasks(trips: Integer) -> Document:
    """A producer and a consumer over a ring of two stages."""
    return document(
        "ring S=2",
        task("load", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"), stop=trips)),
        task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"), stop=trips)),
        resources=(channel("x"),),
    )


def chain(trips: Integer) -> Document:
    """Five tasks in a row."""
    names = [f"x{i}" for i in range(4)]
    tasks = [task("t0", 0, 1, loop(acquire("x0"), work("x0", "fill"), commit("x0"), stop=trips))]
    for i, (up, down) in enumerate(itertools.pairwise(names), 1):
        body = (wait(up), acquire(down), work(up, "read"), work(down, "fill"), commit(down), release(up))
        tasks.append(task(f"t{i}", i, 1, loop(*body, stop=trips)))
    tasks.append(task("t4", 4, 1, loop(wait("x3"), work("x3", "read"), release("x3"), stop=trips)))
    return document("chain of 5, S=3", *tasks, resources=[channel(n, 3) for n in names])


def loads_to_mma(loads: int, trips: Integer) -> Document:
    """Several TMA loads feed one MMA, which feeds an epilogue."""
    names = [f"in{i}" for i in range(loads)]
    rings = [ring(n, 3, consumer_signal=Signal.COMMIT) for n in names]
    works = (
        Work("mma", "producer", Engine.TCGEN05, parameters=tuple(names)),
        Work("read", "consumer"),
    )
    acc = Resource(
        "acc", Space.TMEM, Pipeline(2, "UmmaAsync", consumer_signal=Signal.WARP), Storage(128, 2), works
    )
    tasks = [
        task(f"load{i}", i, 1, loop(acquire(n), work(n, "load"), commit(n), stop=trips))
        for i, n in enumerate(names)
    ]
    body = [acquire("acc"), *(op for n in names for op in (wait(n), work(n, "tile", result=n)))]
    body += [work("acc", "mma", **{n: n for n in names}), *(release(n) for n in names), commit("acc")]
    tasks.append(task("mma", 4, 1, loop(*body, stop=trips)))
    tasks.append(task("epilogue", 8, 4, loop(wait("acc"), work("acc", "read"), release("acc"), stop=trips)))
    return document(f"{loads} loads, MMA, epilogue, S=3", *tasks, resources=[*rings, acc], target="sm_100a")


def clustered(trips: Integer) -> Document:
    """A GEMM of 2-CTA pairs with 32 warps and 20 resources: eight operands that both CTAs load, one MMA warp on the leader
    for each pair of operands, four accumulators, and an epilogue that hands on through eight channels of its own."""
    layout = {"cta_layout": (2, 1, 1, 1)}
    loads = [f"in{i}" for i in range(8)]
    rings = [
        replace(r, pipeline=replace(r.pipeline, type="TmaUmma"))
        for r in (ring(n, 3, 8192, consumer_cta_leader=True, **layout) for n in loads)
    ]
    accs, outs, tasks = [], [], []
    for i, n in enumerate(loads):
        tasks.append(task(f"load{i}", i, 1, loop(acquire(n), work(n, "load"), commit(n), stop=trips)))
    for i in range(4):
        a, b, acc = loads[2 * i], loads[2 * i + 1], f"acc{i}"
        works = (Work("mma", "producer", Engine.TCGEN05, parameters=("a", "b")), Work("read", "consumer"))
        pipeline = Pipeline(2, "UmmaAsync", consumer_signal=Signal.WARP, producer_cta_leader=True, **layout)
        accs.append(Resource(acc, Space.TMEM, pipeline, Storage(32, 2), works))
        body = (wait(a), wait(b), acquire(acc), work(a, "tile", result="a"), work(b, "tile", result="b"))
        body += (work(acc, "mma", a="a", b="b"), release(a), release(b), commit(acc))
        tasks.append(task(f"mma{i}", 8 + i, 1, loop(*body, stop=trips)))
        left, right = channel(f"left{i}", 2, 512), channel(f"right{i}", 2, 512)
        outs += [left, right]
        hand = (wait(acc), work(acc, "read"), release(acc))
        hand += tuple(
            x for o in (left, right) for x in (acquire(o.name), work(o.name, "fill"), commit(o.name))
        )
        take = tuple(x for o in (left, right) for x in (wait(o.name), work(o.name, "read"), release(o.name)))
        tasks.append(task(f"epilogue{i}", 12 + 4 * i, 4, loop(*hand, stop=trips)))
        tasks.append(task(f"store{i}", 28 + i, 1, loop(*take, stop=trips)))
    resources = [*rings, *accs, *outs]
    return document("pairs, 32 warps", *tasks, resources=resources, target="sm_100a", cluster=(2, 1, 1))


def attention(softmaxes: int) -> Document:
    """Persistent attention: a load warp, an MMA warp, softmax warpgroups, a correction warpgroup and an epilogue warp, over
    4 x ``softmaxes`` + 4 mbarrier rings and 2 named barriers; tiles of K/V blocks."""
    each = range(softmaxes)
    loads = [ring(n, s, consumer_signal=Signal.COMMIT) for n, s in (("q", 1), ("k", 2), ("v", 2))]
    scores = [_accumulated(f"s{i}", ("q", "k")) for i in each]
    outputs = [_accumulated(f"o{i}", ("p", "v")) for i in each]
    weights = [channel(f"p{i}", 1, consumer_signal=Signal.COMMIT) for i in each]
    factors = [channel(f"c{i}", 1) for i in each]

    def put(name: str, *args, what: str = "fill") -> tuple:
        return acquire(name), *args, work(name, what), commit(name)

    multiply = [wait("k"), work("k", "tile", result="k")]
    for i in each:
        multiply += [acquire(f"s{i}"), work(f"s{i}", "mma", q="q", k="k"), commit(f"s{i}")]
    multiply += [release("k"), wait("v"), work("v", "tile", result="v")]
    for i in each:
        multiply += [wait(f"p{i}"), work(f"p{i}", "tile", result="p"), acquire(f"o{i}")]
        multiply += [work(f"o{i}", "mma", p="p", v="v"), release(f"p{i}"), commit(f"o{i}")]
    multiply.append(release("v"))
    load = loop(*put("k", what="load"), *put("v", what="load"))
    tasks = [
        task("load", 0, 1, tiles(*put("q", what="load"), load, stop=TILES)),
        task(
            "mma",
            1,
            1,
            tiles(wait("q"), work("q", "tile", result="q"), loop(*multiply), release("q"), stop=TILES),
        ),
    ]
    for i in each:
        body = [wait(f"s{i}"), work(f"s{i}", "read"), *put(f"c{i}"), sync("order")]
        body += [acquire(f"p{i}"), work(f"p{i}", "fill"), fence(), commit(f"p{i}"), release(f"s{i}")]
        tasks.append(task(f"softmax{i}", 4 * i + 4, 4, tiles(loop(*body), stop=TILES)))
    rescale: list = []
    for i in each:
        rescale += [wait(f"c{i}"), work(f"c{i}", "read"), release(f"c{i}")]
        rescale += [wait(f"o{i}"), work(f"o{i}", "read"), release(f"o{i}")]
    first = 4 * softmaxes + 4
    hand = (acquire("out"), work("out", "fill"), fence(), commit("out"))
    tasks.append(task("correction", first, 4, tiles(loop(*rescale), *hand, sync("done"), stop=TILES)))
    store = (
        wait("out"),
        work("out", "tile", result="t"),
        work("gmem", "store", tile="t"),
        group_commit("store_group"),
    )
    finish = (group_wait("store_group", 0, read=True), release("out"), sync("done"))
    tasks.append(task("epilogue", 2, 1, tiles(*store, *finish, stop=TILES)))
    return document(
        f"attention, {softmaxes} softmaxes",
        *tasks,
        resources=(*loads, *scores, *outputs, *weights, *factors, channel("out", 1), output("gmem")),
        barriers=(NamedBarrier("order", 1, 128 * softmaxes), NamedBarrier("done", 2, 160)),
        groups=(STORE,),
        symbols=(K, TILES),
        target="sm_100a",
    )


def _accumulated(name: str, parameters: tuple[str, ...]) -> Resource:
    """A ring in tensor memory that tcgen05.mma fills."""
    works = Work("mma", "producer", Engine.TCGEN05, parameters=parameters), Work("read", "consumer")
    return Resource(
        name, Space.TMEM, Pipeline(1, "UmmaAsync", consumer_signal=Signal.WARP), Storage(64, 1), works
    )


def rows() -> list[tuple[str, Document, dict, str]]:
    """Name, schedule, options, goal."""
    gemm = load(EXAMPLES / "persistent_gemm.warpdraft.json")
    return [
        ("ring S=2, N=64", two_tasks(64), {}, "5 ms"),
        ("chain of 5, S=3, N=8", chain(8), {}, "20 ms"),
        ("3 loads, MMA, epilogue, S=3, N=8", loads_to_mma(3, 8), {}, "10 ms"),
        ("4 loads, MMA, epilogue, S=3, N=8", loads_to_mma(4, 8), {}, "25 ms"),
        ("ring S=2, for all N", two_tasks(K), {}, "5 ms"),
        ("chain of 5, S=3, for all N", chain(K), {}, "20 ms"),
        ("3 loads, MMA, epilogue, S=3, all N", loads_to_mma(3, K), {}, "10 ms"),
        ("4 loads, MMA, epilogue, S=3, all N", loads_to_mma(4, K), {}, "25 ms"),
        ("2-CTA pairs, 32 warps, 20 resources", clustered(K), {}, "1000 ms"),
        ("attention, 2 softmaxes, all", attention(2), {}, "250 ms"),
        ("attention, 3 softmaxes, all", attention(3), {}, "250 ms"),
        ("GEMM, all trip counts", load(EXAMPLES / "gemm.warpdraft.json"), {}, ""),
        ("persistent GEMM, K = 64, 2 tiles", gemm, {"trip_counts": {"k_tiles": [64], "tiles": [2]}}, "40 ms"),
        ("persistent GEMM, all trip counts", gemm, {}, "50 ms"),
    ]


def best(run: Callable[[], Report], runs: int = RUNS) -> tuple[float, Report]:
    """The shortest time in seconds, and the report."""
    times, report = [], run()
    for _ in range(runs):
        start = time.process_time()
        report = run()
        times.append(time.process_time() - start)
    return min(times), report


def main() -> None:
    """Print the table."""
    print(f"{'schedule':<36}{'verdict':<10}{'scope':<8}{'events':>8}{'ms':>9}{'events/s':>12}{'goal':>9}")
    taken: dict[str, float] = {}
    for name, schedule, options, goal in rows():
        taken[name], report = best(lambda d=schedule, o=options: verify(d, **o))
        show(name, report, taken[name], goal)
        for finding in report.findings:
            print(f"    {finding.code} {finding.message}")
    series()
    compare(taken)


def compare(taken: dict[str, float]) -> None:
    """The checker of Task Scheduling on the same schedules, where it is installed: it takes one trip count."""
    print(
        f"\n{'Task Scheduling, one trip count':<36}{'says':<10}{'states':>10}{'ms':>11}{'times ours':>12}{'for all':>9}"
    )
    for name, (one, every) in THEIRS.items():
        found = task_scheduling.measured(name)
        if not found:
            print(f"{name:<36}not installed, or it fails")
        elif "late" in found:
            print(f"{name:<36}not done after {task_scheduling.LIMIT} s")
        else:
            says = ("safe" if found["safe"] else "unsafe") + (" (limit)" if found["limit"] else "")
            ratios = [f"{found['seconds'] / taken[row]:.0f}" if row else "" for row in (one, every)]
            print(
                f"{name:<34}{says:<14}{found['states']:>8}{1000 * found['seconds']:>11.1f}{ratios[0]:>12}{ratios[1]:>9}"
            )


def show(name: str, report: Report, seconds: float, goal: str = "") -> None:
    """One line of the table."""
    rate = report.events / seconds
    verdict = f"{report.verdict:<10}{report.scope.kind:<8}"
    print(f"{name:<36}{verdict}{report.events:>8}{1000 * seconds:>9.1f}{rate:>12,.0f}{goal:>9}")


def series() -> None:
    """The persistent GEMM at one trip count after the other, two tiles, without a proof."""
    gemm = load(EXAMPLES / "persistent_gemm.warpdraft.json")
    for trips in (16, 64, 256, 1024, 4096):
        options = {"trip_counts": {"k_tiles": [trips], "tiles": [2]}}
        seconds, report = best(lambda o=options: verify(gemm, **o), runs=3 if trips > 100 else RUNS)
        show(f"persistent GEMM, K = {trips}, listed", report, seconds)


if __name__ == "__main__":
    main()
