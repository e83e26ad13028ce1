"""Named and cluster barriers that other warps reach than they count (WD208), and what is another mistake (WD209)."""

from dataclasses import replace

import pytest

from warpdraft.core.document import GuardKind, Mbarrier, NamedBarrier, OpKind
from warpdraft.core.hazards.examples import (
    bar_arrive,
    document,
    elect,
    guard,
    loop,
    mbar_arrive,
    mbar_wait,
    op,
    sync,
    task,
)
from warpdraft.core.verify import verify

CLUSTER = op(OpKind.CLUSTER_SYNC)


def met(threads, *tasks, **fields):
    barriers = (NamedBarrier("meet", 1, threads),)
    return document("met", *tasks, barriers=barriers, symbols=(), **fields)


def errors(schedule):
    return {f.code: f for f in verify(schedule).errors}


@pytest.mark.parametrize(
    ("threads", "tasks", "reach"),
    [
        (64, [task("a", 0, 4, sync("meet"))], 128),
        (64, [task("a", 0, 3, sync("meet"))], 96),
        (128, [task("a", 0, 8, sync("meet"))], 256),
        (128, [task("a", 0, 4, sync("meet")), task("b", 4, 1, sync("meet"))], 160),
        (128, [task("a", 0, 4, sync("meet")), task("b", 4, 1, bar_arrive("meet"))], 160),
        (128, [task("a", 0, 4, loop(sync("meet"), stop=3)), task("b", 4, 2, sync("meet"))], 192),
        (128, [task("a", 0, 4, bar_arrive("meet")), task("b", 4, 4, sync("meet"))], 256),
    ],
)
def test_more_threads_than_it_counts(threads, tasks, reach):
    found = errors(met(threads, *tasks))
    assert {"WD208"} <= set(found) <= {"WD208", "WD302"}
    assert found["WD208"].expected == f"{reach} threads" and f"declare {reach}" in found["WD208"].message


def test_the_right_count():
    for threads, tasks in (
        (128, [task("a", 0, 4, sync("meet"))]),
        (160, [task("a", 0, 4, sync("meet")), task("b", 4, 1, bar_arrive("meet"))]),
        (32, [task("a", 0, 4, elect(sync("meet")))]),
    ):
        assert verify(met(threads, *tasks)).findings == ()


def test_groups_that_each_have_the_count_clash():
    pair = [task("a", 0, 4, sync("meet")), task("b", 4, 4, sync("meet"))]
    three = [task("a", 0, 4, sync("meet")), task("b", 4, 2, sync("meet")), task("c", 6, 2, sync("meet"))]
    assert set(errors(met(128, *pair))) == set(errors(met(128, *three))) == {"WD209"}


def test_two_names_of_one_hardware_barrier_that_count_differently():
    schedule = document(
        "ids",
        task("a", 0, 4, sync("left")),
        task("b", 4, 2, sync("right")),
        barriers=(NamedBarrier("left", 1, 128), NamedBarrier("right", 1, 64)),
        symbols=(),
    )
    assert "WD209" in errors(schedule)


def test_a_declaration_can_be_wrong_in_two_ways():
    schedule = document("ids", task("a", 0, 1), barriers=(NamedBarrier("x", 17, 48),), symbols=())
    assert [f.code for f in verify(schedule).errors] == ["WD209", "WD209"]


@pytest.mark.parametrize(
    ("first", "second", "severity"), [(1, 1, None), (2, 2, None), (1, 0, "error"), (2, 1, "warning")]
)
def test_cluster_barriers_are_for_every_warp(first, second, severity):
    schedule = document(
        "cluster", task("a", 0, 4, *[CLUSTER] * first), task("b", 4, 2, *[CLUSTER] * second), symbols=()
    )
    report = verify(schedule)  # who has exited is not waited for (PTX ISA, barrier.cluster)
    assert [(f.code, f.severity) for f in report.findings] == ([("WD208", severity)] if severity else [])


@pytest.mark.parametrize(
    ("often", "seldom"),
    [
        (loop(sync("meet"), stop=3), loop(sync("meet"), stop=2)),
        (loop(sync("meet"), stop=4), loop(guard(GuardKind.EVERY, sync("meet"), period=2), stop=4)),
    ],
)
def test_warps_that_come_less_often(often, seldom):
    found = errors(met(128, task("a", 0, 2, often), task("b", 4, 2, seldom)))
    assert {"WD208", "WD302"} <= set(found) <= {"WD206", "WD208", "WD302"}
    assert found["WD208"].tasks == ("a", "b") and found["WD208"].ops == ("a.01",)


def test_a_cycle_through_the_barrier_is_none_of_participation():
    """Both come as often; each waits for the other in between."""
    wait_first = (mbar_wait("done"), sync("meet"))
    schedule = met(64, task("a", 0, 1, *wait_first), task("b", 4, 1, *wait_first[::-1], mbar_arrive("done")))
    schedule = replace(schedule, mbarriers=(Mbarrier("done", 1),))
    assert not {"WD208"} & set(errors(schedule))
