"""Interleaved lanes: by warp and by loop, their cursors, counts and bytes, proofs, and what WD214 says of them."""

from dataclasses import replace

import pytest
from against_explorer import disagreement
from explorer import explore

from warpdraft.core.arrivals import armed_bytes, empty_count, first_acquire, full_count, made_in_lanes
from warpdraft.core.document import OpKind, Pipeline, Signal
from warpdraft.core.expressions import Operation, Symbol
from warpdraft.core.hazards import interleave
from warpdraft.core.hazards.examples import (
    K,
    acquire,
    channel,
    commit,
    document,
    elect,
    fence,
    loop,
    release,
    ring,
    task,
    wait,
    work,
)
from warpdraft.core.machine import Machine
from warpdraft.core.program import EventKind
from warpdraft.core.unroll import unroll
from warpdraft.core.verify import verify

FILL = acquire("x"), work("x", "fill"), commit("x")
READ = wait("x"), work("x", "read"), release("x")


def readers(stages, lanes, warps=4, starts=None, steps=None, stop=K, **pipeline):
    """One task fills the stages; ``lanes`` tasks read them in turn, each in steps of as many."""
    steps = lanes if steps is None else steps
    users = [
        task(f"use{i}", 4 + warps * i, warps, loop(*READ, start=start, step=steps, stop=stop))
        for i, start in enumerate(starts or range(lanes))
    ]
    pipeline = {"interleave": (1, 1, lanes, lanes)} | pipeline
    return document(
        f"{lanes} readers take {stages} stages in turn",
        task("load", 0, 1, loop(*FILL, stop=stop)),
        *users,
        resources=(channel("x", stages, **pipeline),),
        symbols=(stop,) if isinstance(stop, Symbol) else (),
    )


def by_warp(stages, lanes, trips=K, **pipeline):
    """A producer whose warps own every n-th stage, before one reader of all stages."""
    total = Operation("*", trips, lanes) if isinstance(trips, Symbol) else trips * lanes
    pipeline = {"interleave": (lanes, lanes, 1, 1)} | pipeline
    return document(
        f"{lanes} warps fill {stages} stages in turn",
        task("load", 0, lanes, loop(*FILL, stop=trips)),
        task("use", 4, 4, loop(*READ, stop=total)),
        resources=(channel("x", stages, **pipeline),),
        symbols=(trips,) if isinstance(trips, Symbol) else (),
    )


def codes(found):
    return {f.code for f in verify(found).errors}


def uses(found, name, kind, **values):
    """(stage, generation) of every wait of warps of task ``name`` on ``kind`` barriers, by warp."""
    program = unroll(found, values)
    return [
        [
            (program.barriers[e.barrier].stage, e.number)
            for e in s.events
            if e.kind is EventKind.WAIT and program.barriers[e.barrier].side == kind
        ]
        for s in program.streams
        if s.task == name
    ]


def test_a_lane_of_a_loop_takes_every_nth_stage():
    found = readers(4, 2, warps=1)
    assert uses(found, "use0", "full", k_tiles=7) == [[(0, 0), (2, 0), (0, 1), (2, 1)]]
    assert uses(found, "use1", "full", k_tiles=7) == [[(1, 0), (3, 0), (1, 1)]]


def test_the_warps_of_a_task_of_as_many_are_lanes():
    found = by_warp(4, 2)
    assert uses(found, "load", "empty", k_tiles=3) == [[(0, -1), (2, -1), (0, 0)], [(1, -1), (3, -1), (1, 0)]]
    loads = [s for s in unroll(found, {"k_tiles": 1}).streams if s.task == "load"]
    written = [a for s in loads for e in s.events for a in e.accesses]
    assert [(a.high - a.low, a.stage) for a in written] == [(1024, 0), (1024, 1)]  # whole stages, not slices
    assert Machine(found).classes(found.tasks[0]) == [(0,), (1,)]


def test_a_task_of_as_many_warps_goes_by_its_warps_even_in_such_a_loop():
    found = readers(4, 2, warps=2)
    assert uses(found, "use0", "full", k_tiles=3)[1] == [(1, 0), (3, 0)]


def test_with_cursors_of_their_own_a_work_is_for_the_stage_of_the_last_wait():
    body = wait("x"), work("x", "read"), wait("x"), work("x", "read"), release("x"), release("x")
    found = document(
        "two waits",
        task("use", 0, 1, loop(*body, start=1, step=2, stop=2)),
        resources=(channel("x", 8, interleave=(1, 1, 2, 2), advance_on_wait=True),),
        symbols=(),
    )
    events = unroll(found, {}).streams[0].events
    assert [e.stage for e in events if e.kind is EventKind.WORK] == [1, 3]
    assert [e.stage for e in events if e.kind is EventKind.ARRIVE] == [1, 3]


@pytest.mark.parametrize("signal, each", [(Signal.WARP, 1), (Signal.THREAD, 32), (Signal.LEADER, 1)])
def test_counts_are_those_of_one_lane(signal, each):
    found = by_warp(4, 2, producer_signal=signal)
    assert full_count(found, found.resources[0]) == each
    found = readers(4, 2, consumer_signal=signal)
    assert empty_count(found, found.resources[0]) == (1 if signal is Signal.LEADER else 4 * each)
    assert made_in_lanes(found, found.resources[0], "empty") == [empty_count(found, found.resources[0])] * 2


def tma_lanes(nbytes=1024, warps=False):
    fill = acquire("ab"), work("ab", "load"), commit("ab")
    read = loop(wait("ab"), work("ab", "read"), fence(), release("ab"))
    loads = (
        [task("load", 0, 2, loop(*fill, stop=Operation("//", K, 2)))]
        if warps
        else [task(f"load{i}", i, 1, loop(*fill, start=i, step=2)) for i in range(2)]
    )
    use = task("use", 4, 1, replace(read, stop=Operation("*", Operation("//", K, 2), 2)) if warps else read)
    return document(
        "lanes of copies", *loads, use, resources=(ring("ab", 4, bytes=nbytes, interleave=(2, 2, 1, 1)),)
    )


@pytest.mark.parametrize("warps", [False, True])
def test_each_lane_arms_the_bytes_of_its_own_copies(warps):
    found = tma_lanes(warps=warps)
    ab = found.resources[0]
    for t in found.tasks[:-1]:
        assert armed_bytes(found, ab, t, first_acquire(t, ab)) == 1024
    report = verify(found)
    assert report.verdict == "safe" and report.scope.kind == "all"
    assert "WD203" in codes(tma_lanes(512, warps))


@pytest.mark.parametrize(
    "found",
    [
        *(readers(s, n) for s, n in ((2, 2), (4, 2), (6, 2), (3, 3), (6, 3))),
        readers(4, 4, warps=2),
        *(by_warp(s, n) for s, n in ((2, 2), (4, 2), (3, 3))),
        readers(4, 2, advance_on_wait=True),
        readers(4, 2, starts=(1, 0)),
    ],
    ids=lambda d: d.name,
)
def test_lanes_are_proved_for_all_trip_counts(found):
    report = verify(found)
    assert (report.verdict, report.scope.kind) == ("safe", "all"), report.errors
    assert not report.findings


def dropped(found, name, kind):
    def without(body):
        kept = [n for n in body if getattr(n, "kind", None) is not kind]
        return tuple(replace(n, body=without(n.body)) if hasattr(n, "body") else n for n in kept)

    tasks = tuple(replace(t, body=without(t.body)) if t.name == name else t for t in found.tasks)
    return replace(found, tasks=tasks)


def changed(found, **pipeline):
    (x,) = found.resources
    return replace(found, resources=(replace(x, pipeline=replace(x.pipeline, **pipeline)),))


@pytest.mark.parametrize(
    "found, wanted",
    [
        (dropped(readers(4, 2), "use1", OpKind.RELEASE), "WD302"),
        (dropped(readers(4, 2), "use0", OpKind.WAIT), "WD401"),
        (changed(readers(4, 2), consumer_count=8), "WD201"),
        (changed(readers(4, 2, warps=1), interleave=(1, 1, 4, 4)), "WD214"),
        (changed(readers(4, 2), interleave=(1, 1, 1, 1)), "WD302"),
        (changed(by_warp(4, 2), interleave=(1, 1, 1, 1)), "WD302"),
        (changed(by_warp(4, 2), producer_count=2), "WD201"),
        (readers(4, 2, starts=(0, 2)), "WD214"),
        (readers(4, 2, steps=1), "WD214"),
        (readers(3, 2), "WD214"),
        (readers(4, 2, interleave=(1, 1, 2, 1)), "WD214"),
        (readers(4, 2, interleave=(1, 1, 0, 0)), "WD214"),
        (by_warp(6, 2, interleave=(3, 3, 1, 1)), "WD214"),
        (by_warp(6, 2, interleave=(6, 6, 1, 1)), "WD214"),
    ],
)
def test_mutants_are_found(found, wanted):
    assert wanted in codes(found)


def test_strides_may_differ_where_each_side_has_its_cursor():
    found = readers(4, 2, interleave=(1, 1, 2, 1), advance_on_wait=True)
    assert not list(interleave.check(changed(found, interleave=(1, 1, 2, 2))))
    texts = [f.message for f in interleave.check(readers(4, 2, interleave=(1, 1, 2, 1)))]
    assert texts == ["x has wait stride 2 and release stride 1, but one cursor for both"]


def test_loops_of_two_lanes_in_one_task_are_no_lane():
    body = loop(*READ, step=2, stop=4), loop(*READ, start=1, step=2, stop=4)
    found = document("both", task("use", 0, 1, *body), resources=(channel("x", 4, interleave=(1, 1, 2, 2)),))
    (finding,) = interleave.check(found)
    assert "loops that begin in lanes 0 and 1" in finding.actual


def test_one_elected_warp_of_lanes_leaves_the_others_without():
    found = by_warp(4, 2)
    load = replace(found.tasks[0], body=(loop(*FILL[:2], elect(FILL[2])),))
    found = document(
        "elected",
        replace(load, src=(), dst=()),
        found.tasks[1],
        resources=found.resources,
    )
    assert made_in_lanes(found, found.resources[0], "full") == [1, 0]
    assert "WD214" in codes(found)


@pytest.mark.parametrize("stages, lanes", [(2, 2), (4, 2), (3, 3)])
@pytest.mark.parametrize("wrong", ["", "count", "release", "lane"])
def test_every_interleaving_agrees(stages, lanes, wrong):
    trips = 4 if lanes == 2 else 3
    found = readers(stages, lanes, warps=1, stop=trips, steps=lanes)
    if wrong == "lane":
        found = readers(stages, lanes, warps=1, stop=trips, starts=[0] * lanes)
    found = dropped(found, "use1", OpKind.RELEASE) if wrong == "release" else found
    found = changed(found, consumer_count=2) if wrong == "count" else found
    program = unroll(found, {}, representatives=True)
    assert disagreement(program) == ""
    assert explore(program).deadlock == (wrong != "" and trips > stages)


def test_a_pipeline_without_four_strides_is_plain():
    found = changed(readers(4, 1), interleave=())
    assert verify(found).verdict == "safe"
    assert Pipeline(2).interleave == (1, 1, 1, 1)
