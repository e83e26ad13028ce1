"""Arrival counts derived from the table of signals."""

from dataclasses import replace

import pytest

from warpdraft.core.arrivals import (
    armed_bytes,
    arrivals_by,
    bracket_bytes,
    empty_count,
    first_acquire,
    full_count,
)
from warpdraft.core.document import (
    Document,
    Engine,
    Guard,
    GuardKind,
    Mbarrier,
    Op,
    OpKind,
    Pipeline,
    Resource,
    Signal,
    Space,
    Task,
    Work,
)
from warpdraft.core.expressions import Symbol
from warpdraft.core.hazards.examples import (
    K,
    acquire,
    commit,
    document,
    elect,
    fence,
    guard,
    loop,
    mbar_arrive,
    mbar_wait,
    release,
    ring,
    task,
    wait,
    work,
)
from warpdraft.core.raw_counts import derived_raw_count
from warpdraft.core.verify import verify


def counts(pipeline, producer_warps=1, consumer_warps=4, engine=None, guard=None):
    resource = Resource(
        "r", Space.SMEM, pipeline, works=(Work("fill", "producer", engine), Work("read", "consumer"))
    )
    produce = (
        Op("p.0", OpKind.ACQUIRE, "r"),
        Op("p.1", OpKind.WORK, "r", "fill"),
        Op("p.2", OpKind.COMMIT, "r"),
    )
    release = Op("c.1", OpKind.RELEASE, "r")
    consume = (Op("c.0", OpKind.WAIT, "r"), Guard("c.9", guard, (release,)) if guard else release)
    tasks = (Task("p", 0, producer_warps, produce), Task("c", 4, consumer_warps, consume))
    document = Document("d", resources=(resource,), tasks=tasks)
    return full_count(document, resource), empty_count(document, resource)


@pytest.mark.parametrize(
    ("type", "expected"),
    [
        ("TmaAsync", (1, 4)),
        ("AsyncAsync", (64, 128)),
        ("TmaUmma", (1, 1)),
        ("UmmaAsync", (1, 128)),
        ("AsyncUmma", (64, 1)),
        ("UmmaUmma", (1, 1)),
    ],
)
def test_each_pipeline_type_derives_its_counts(type, expected):
    assert counts(Pipeline(2, type), producer_warps=2) == expected


def test_without_a_type_the_engines_of_the_works_decide():
    assert counts(Pipeline(2), engine=Engine.TMA, producer_warps=2) == (1, 4)
    assert counts(Pipeline(2), producer_warps=2) == (2, 4)


def test_declared_counts_win_and_an_election_narrows_the_derived_ones():
    assert counts(Pipeline(2, "TmaAsync", producer_count=32, consumer_count=128)) == (32, 128)
    assert counts(Pipeline(2, "AsyncAsync"), guard=GuardKind.ELECT_WARP)[1] == 32
    assert counts(Pipeline(2, "AsyncAsync"), guard=GuardKind.ELECT_LANE)[1] == 4


def test_a_leader_signal_counts_once_a_task():
    assert arrivals_by(Signal.LEADER, leader=True) == 1
    assert arrivals_by(Signal.LEADER, leader=False) == 0
    assert arrivals_by(Signal.LEADER_THREADS, leader=True) == 32


class TestCopiesInALoop:
    """Copies in a loop between one acquire and its commit."""

    def schedule(self, stop, symbols=()):
        half = Work("load", "producer", Engine.TMA, tx=512)
        ab = replace(ring("ab"), works=(half, Work("read", "consumer")))
        copies = loop(work("ab", "load"), stop=stop, var="part")
        return document(
            "parts",
            task("load", 0, 1, loop(acquire("ab"), copies, commit("ab"), stop=5)),
            task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab"), stop=5)),
            resources=(ab,),
            symbols=symbols,
        )

    def test_constant_trips_are_counted(self):
        found = self.schedule(2)
        first = first_acquire(found.tasks[0], found.resources[0])
        assert armed_bytes(found, found.resources[0], found.tasks[0], first) == 1024
        assert {f.code for f in verify(found).errors} == {
            "WD401"
        }  # both copies fill the whole stage: no WD203, no hang

    def test_trips_of_run_time_are_an_error(self):
        n = Symbol("n", 1)
        report = verify(self.schedule(n, (n,)))
        assert report.errors[0].code == "WD203" and "as many as its bounds say" in report.errors[0].message

    def test_loops_around_the_acquire_do_not_count(self):
        found = self.schedule(1)
        first = first_acquire(found.tasks[0], found.resources[0])
        assert bracket_bytes(found, found.resources[0], found.tasks[0], first) == 512


READY = mbar_arrive("m")


@pytest.mark.parametrize(
    ("bodies", "count"),
    [
        ([(1, (READY,)), (1, (mbar_wait("m"),))], 1),
        ([(4, (READY,))], 4),
        ([(1, (READY, READY, mbar_wait("m")))], 2),
        ([(1, (READY, mbar_wait("m"), READY, mbar_wait("m")))], 1),
        ([(1, (loop(READY, READY, mbar_wait("m")),))], 2),
        ([(1, (loop(READY, mbar_wait("other"), READY),))], 1),  # a phase may have ended in between
        ([(1, (loop(READY), loop(READY)))], 1),
        ([(2, (elect(READY, warp=0), elect(READY, warp=1)))], 2),
        ([(2, (elect(READY, mbar_wait("m")), elect(READY, warp=1)))], 1),
        ([(1, (guard(GuardKind.WHEN_TRUE, READY, key="a"), guard(GuardKind.WHEN_FALSE, READY, key="a")))], 1),
        ([(1, (mbar_arrive("m", stage=0), mbar_arrive("m", stage=1)))], 1),
        ([(1, (mbar_arrive("m", count=32), READY))], 33),
        ([(1, (READY, READY)), (3, (READY,))], 5),
    ],
)
def test_the_count_of_a_raw_mbarrier_is_what_comes_before_the_next_wait(bodies, count):
    tasks = [task(f"t{i}", 4 * i, warps, *body) for i, (warps, body) in enumerate(bodies)]
    schedule = document("m", *tasks, mbarriers=(Mbarrier("m", stages=2), Mbarrier("other", 1)), symbols=(K,))
    assert derived_raw_count(schedule, "m") == count


def test_two_arrivals_a_phase_by_one_task_are_no_finding():
    schedule = document(
        "twice",
        task("a", 0, 1, loop(READY, READY, mbar_wait("back"))),
        task("b", 4, 1, loop(mbar_wait("m"), mbar_arrive("back"))),
        mbarriers=(Mbarrier("m"), Mbarrier("back")),
    )
    assert verify(schedule).findings == ()


def test_a_count_that_cannot_be_derived_is_asked_for():
    """Between its two arrivals the task waits for something else: they could be of two phases."""
    schedule = document(
        "twice",
        task("a", 0, 1, READY, mbar_wait("go"), READY),
        task("b", 4, 1, mbar_arrive("go"), mbar_wait("m")),
        mbarriers=(Mbarrier("m"), Mbarrier("go")),
        symbols=(),
    )
    notes = [note for found in verify(schedule).errors for note in found.notes]
    assert any("1 is derived" in note and "declare count=" in note for note in notes)
    right = replace(schedule, mbarriers=(Mbarrier("m", 2), Mbarrier("go")))
    assert verify(right).findings == ()
