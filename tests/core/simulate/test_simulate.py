"""The predicted timeline on small rings whose times can be worked out by hand."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import warpdraft.assets
from warpdraft.core.document import (
    AsyncGroup,
    Document,
    Engine,
    Footprint,
    Loop,
    NamedBarrier,
    Op,
    OpKind,
    Pipeline,
    Resource,
    Space,
    Storage,
    Task,
    Token,
    Work,
)
from warpdraft.core.expressions import Symbol
from warpdraft.core.simulate import SM90_COSTS, default_values, simulate, to_perfetto
from warpdraft.core.store import load

K = Symbol("k_tiles", 1)
COSTS = SM90_COSTS
STAGE = 6400  # bytes: 100 cycles of transfer


def ring(stages=2, releases=None):
    works = (
        Work("load", "producer", Engine.TMA),
        Work("view", "consumer", view=True, returns=("tile",)),
    )
    stage = Resource(
        "ab", Space.SMEM, Pipeline(stages, "TmaAsync", consumer_count=releases), Storage(STAGE, stages), works
    )
    acc = Resource(
        "acc",
        Space.RMEM,
        storage=Storage(64),
        works=(
            Work("mma", "producer", Engine.WGMMA, parameters=("tile",), params=(("tile", (64, 256, 16)),)),
        ),
    )
    load = (
        Op("load.1", OpKind.ACQUIRE, "ab"),
        Op("load.2", OpKind.WORK, "ab", "load"),
        Op("load.3", OpKind.COMMIT, "ab"),
    )
    math = (
        Op("math.1", OpKind.WAIT, "ab"),
        Op("math.2", OpKind.WORK, "ab", "view", results=("tile",)),
        Op("math.3", OpKind.WORK, "acc", "mma", args=(("tile", Token("tile")),)),
        Op("math.4", OpKind.GROUP_COMMIT, "group"),
        Op("math.5", OpKind.GROUP_WAIT, "group", count=0),
        Op("math.6", OpKind.RELEASE, "ab"),
    )
    return Document(
        "ring",
        symbols=(K,),
        resources=(stage, acc),
        groups=(AsyncGroup("group", Engine.WGMMA),),
        tasks=(
            Task("load", 0, 1, (Loop("load.0", "domain", "k", load, 0, K),)),
            Task("math", 4, 4, (Loop("math.0", "domain", "k", math, 0, K),)),
        ),
    )


def bars(timeline, lane, kind=None):
    names = [x.name for x in timeline.lanes]
    return [b for b in timeline.bars if names[b.lane] == lane and kind in (None, b.kind)]


def test_first_stage_is_full_after_issue_transfer_and_latency():
    timeline = simulate(ring(), {"k_tiles": 1})
    (copy,) = bars(timeline, "TMA")
    issued = COSTS.wait_ready + COSTS.arrive + COSTS.tma_issue
    assert (copy.start, copy.end) == (issued, issued + STAGE // 64 + COSTS.tma_latency)
    wait = bars(timeline, "math.w0", "wait")[0]
    assert (wait.op, wait.start, wait.end) == ("math.1", 0, copy.end + COSTS.wake)
    assert (wait.resource, wait.stage) == ("ab", 0)
    arrow = next(a for a in timeline.arrows if a.to_op == "math.1")
    assert (timeline.lanes[arrow.lane].name, arrow.op, arrow.time, arrow.to_time) == (
        "TMA",
        "load.2",
        copy.end,
        wait.end,
    )
    assert timeline.ended and not timeline.blocked and not timeline.truncated


def test_products_take_the_cycles_of_their_shape():
    timeline = simulate(ring(), {"k_tiles": 3})
    products = bars(timeline, "tensor core")
    assert len(products) == 3  # one bar for the four warps of a warpgroup
    assert {b.end - b.start for b in products} == {2 * 64 * 256 * 16 // 4096 + COSTS.mma_latency}
    busy = dict(timeline.busy)
    assert busy["tensor core"] == 3 * 128 and busy["TMA"] == 3 * 100


def test_copies_share_one_bandwidth_and_overlap_in_rows():
    timeline = simulate(ring(stages=4), {"k_tiles": 4})
    copies = bars(timeline, "TMA")
    assert [b.row for b in copies] == [0, 1, 2, 3]
    assert all(b.start >= a.start + 100 for a, b in pairwise(copies))


def test_one_more_stage_is_never_slower():
    totals = [simulate(ring(stages=s), {"k_tiles": 12}).total for s in (1, 2, 3, 4)]
    assert totals == sorted(totals, reverse=True) and totals[0] > totals[-1]


def test_occupancy_covers_the_whole_time_of_every_stage_in_order():
    timeline = simulate(ring(), {"k_tiles": 5})
    for stage in (0, 1):
        spans = [s for s in timeline.stages if s.stage == stage]
        assert spans[0].start == 0 and spans[-1].end == timeline.total
        assert all(a.end == b.start for a, b in pairwise(spans))
        states = [s.state for s in spans if s.state != "empty"]
        assert states == ["filling", "full", "reading"] * (3 - stage)


def test_a_deadlock_gives_the_timeline_up_to_the_stop():
    timeline = simulate(ring(releases=5), {"k_tiles": 3})
    assert not timeline.ended
    stuck = {timeline.lanes[b.lane].name: (b.barrier, b.owed) for b in timeline.blocked}
    assert stuck["load.w0"] == ("empty ab[0]", "1 of 5 arrivals")
    assert stuck["math.w3"] == ("full ab[0]", "1 of 1 arrivals")
    waits = [b for b in timeline.bars if b.open]
    assert len(waits) == 5 and {b.end for b in waits} == {timeline.total}


def test_named_barrier_holds_all_until_the_last():
    body = (
        Op("t.0", OpKind.WORK, "slow", "work", footprint=Footprint("ranges", ranges=((0, 0), (0, 12800)))),
    )
    slow = Resource("slow", Space.SMEM, storage=Storage(12800), works=(Work("work", "consumer"),))
    document = Document(
        "d",
        resources=(slow,),
        barriers=(NamedBarrier("meet", 1, 64),),
        tasks=(Task("t", 0, 2, (*body, Op("t.1", OpKind.BARRIER_SYNC, "meet"))),),
    )
    timeline = simulate(document)
    (wait,) = bars(timeline, "t.w0", "wait")
    assert (wait.start, wait.end) == (COSTS.work, COSTS.work + 100 + COSTS.sync)
    (arrow,) = timeline.arrows
    assert (timeline.lanes[arrow.lane].name, arrow.op) == ("t.w1", "t.1")


def test_long_runs_are_cut_with_a_note():
    timeline = simulate(ring(), {"k_tiles": 1_000_000}, max_steps=5000)
    assert dict(timeline.values)["k_tiles"] < 1000
    assert "instead of 1000000" in timeline.notes[0]
    constant = (Loop("l", "domain", "k", (Op("f", OpKind.SYNC_WARP),), 0, 9000),)
    timeline = simulate(replace(ring(), tasks=(Task("t", 0, 1, constant),)), max_steps=500)
    assert timeline.ended and timeline.notes == ("longer loops simulated with 281 iterations",)


def test_a_run_without_loops_stops_at_the_limit():
    straight = tuple(Op(f"t.{i}", OpKind.SYNC_WARP) for i in range(900))
    timeline = simulate(replace(ring(), tasks=(Task("t", 0, 1, straight),)), max_steps=500)
    assert timeline.truncated and not timeline.ended and not timeline.blocked
    assert timeline.notes == ("stopped after 500 steps",) and len(timeline.bars) == 500


def test_an_extra_arrival_is_told_and_ignored():
    document = ring()
    resource = document.resources[0]
    once = replace(resource, pipeline=replace(resource.pipeline, producer_count=1))
    second = replace(
        document.tasks[0], name="load2", warp_idx=1
    )  # arms full too, which counts only one arrival
    document = replace(document, resources=(once, document.resources[1]), tasks=(*document.tasks, second))
    timeline = simulate(document, {"k_tiles": 1})
    assert timeline.notes == ("load.1 arrives once too often on full ab[0]: ignored",)


def test_default_values_are_small_and_allowed():
    document = replace(ring(), symbols=(replace(K, min=20),))
    assert default_values(document) == {"k_tiles": 20}


def test_perfetto_names_every_track_and_keeps_times():
    timeline = simulate(ring(), {"k_tiles": 2})
    trace = to_perfetto(timeline)
    events = trace["traceEvents"]
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    drawn = [e for e in events if e["ph"] == "X"]
    assert {(e["pid"], e["tid"]) for e in drawn} <= named
    assert len([e for e in drawn if e["cat"] != "stage"]) == len(timeline.bars)
    assert max(e["ts"] + e["dur"] for e in drawn) == timeline.total == trace["otherData"]["total_cycles"]
    assert len([e for e in events if e["ph"] == "s"]) == len(timeline.arrows)


@pytest.mark.parametrize("k", [1, 7])
def test_the_same_document_gives_the_same_timeline(k):
    assert simulate(ring(), {"k_tiles": k}) == simulate(ring(), {"k_tiles": k})


def test_predicted_cycles_agree_with_a_measured_kernel():
    """One CTA of a hand-written kernel with this main loop, H200, fp16, 2048 x 2048 x 2048, every op stamped: the last
    k-step is done after 35,230 cycles and the CTA after 38,900; the stamps take 3 to 4 % of that."""
    example = load(Path(warpdraft.assets.__file__).parent / "examples" / "persistent_gemm.warpdraft.json")
    timeline = simulate(example, {"k_tiles": 32, "tiles": 1})
    loop_ends = max(b.end for b in timeline.bars if b.op == "math.10")
    assert 0.95 < loop_ends / 35_230 < 1
    assert 0.92 < timeline.total / 38_900 < 1
