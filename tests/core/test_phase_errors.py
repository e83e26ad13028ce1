"""Waits on an explicit parity (WD204): repeated ones are right where nothing can have come in between. Laps (WD205)."""

import pytest

from warpdraft.core.document import Mbarrier, Signal
from warpdraft.core.fixes import applied, fixes_for
from warpdraft.core.hazards.examples import (
    acquire,
    commit,
    document,
    fence,
    loop,
    mbar_arrive,
    mbar_wait,
    release,
    ring,
    task,
    wait,
    work,
)
from warpdraft.core.unroll import unroll
from warpdraft.core.verify import verify


def handed(consumer, last=()):
    """Two phases of `ready`: the second is armed once the consumer has arrived on `taken`."""
    return document(
        "handed",
        task("producer", 0, 1, mbar_arrive("ready"), mbar_wait("taken", 0), mbar_arrive("ready"), *last),
        task("consumer", 4, 1, *consumer),
        mbarriers=(Mbarrier("ready", 1), Mbarrier("taken", 1)),
        symbols=(),
    )


def codes(schedule):
    return {f.code for f in verify(schedule).findings}


ZERO, ONE, TAKEN = mbar_wait("ready", 0), mbar_wait("ready", 1), mbar_arrive("taken")


@pytest.mark.parametrize(
    "consumer",
    [
        (ZERO, TAKEN, ONE),
        (ZERO, ZERO, TAKEN, ONE),
        (ZERO, TAKEN, ONE, ONE),
        (ZERO, ZERO, TAKEN, ONE, ONE),
        (ZERO, ZERO, TAKEN),  # as many waits as phases
        (ZERO, ZERO, ZERO, TAKEN, ONE),
    ],
)
def test_a_wait_repeated_before_anything_can_come(consumer):
    assert codes(handed(consumer)) == set()


@pytest.mark.parametrize(
    "consumer",
    [
        (ZERO, TAKEN, ZERO),
        (ZERO, ZERO, TAKEN, ZERO),
        (ZERO, TAKEN, ZERO, ONE),
    ],
)
def test_a_wait_repeated_behind_an_arrival_that_lets_the_next_phase_come(consumer):
    assert "WD204" in codes(handed(consumer))


def test_old_data_without_a_hang():
    """The consumer gives back what it has, waits for the same phase again, and only that lets the next one start."""
    consumer = (ZERO, mbar_arrive("taken"), ZERO, mbar_arrive("taken"))
    schedule = handed(consumer)
    schedule = document(
        "late",
        *schedule.tasks,
        mbarriers=(Mbarrier("ready", 1), Mbarrier("taken", 2)),
        symbols=(),
    )
    assert codes(schedule) == {"WD204"}


def restarted(tiles):
    """A hand-over whose parities start again with each tile, of one phase each."""
    empty, full = mbar_wait("taken", 1), mbar_wait("ready", 0)
    return document(
        "restarted",
        task("load", 0, 1, *(op for _ in range(tiles) for op in (empty, mbar_arrive("ready")))),
        task("use", 4, 1, *(op for _ in range(tiles) for op in (full, mbar_arrive("taken")))),
        mbarriers=(Mbarrier("ready", 1), Mbarrier("taken", 1)),
        symbols=(),
    )


@pytest.mark.parametrize("tiles", [2, 3, 4, 5])
def test_parities_that_start_again_are_the_cause(tiles):
    """However many tiles there are: what they bring about (laps, arrivals in another phase) has another name."""
    found = [f for f in verify(restarted(tiles)).errors if f.code != "WD302"]
    assert {f.code for f in found} == {"WD204"}
    assert {f.ops for f in found} >= {("load.02",), ("use.02",)}
    assert all("did before" in f.message for f in found)


def test_a_lap_is_no_wrong_parity():
    """The waiter asks for the right one; the other may come round twice before it looks."""
    waits = (mbar_wait("gate", 1), mbar_wait("gate", 0))
    schedule = document(
        "gate",
        task("slow", 0, 1, *waits),
        task("fast", 4, 1, mbar_arrive("gate"), mbar_arrive("gate")),
        mbarriers=(Mbarrier("gate", 1),),
        symbols=(),
    )
    assert "WD205" in codes(schedule) and "WD204" not in codes(schedule)


def copies(warps, signal=None):
    return document(
        "copy",
        task("load", 0, warps, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab"))),
        resources=(ring(producer_signal=signal),),
    )


@pytest.mark.parametrize("warps", [1, 2, 4])
def test_copies_are_one_warps_business(warps):
    """The first warp acquires, arms and copies; the others have no event of the pipeline at all, and cannot be lapped."""
    report = verify(copies(warps))
    assert report.findings == () and report.verdict == "safe" and report.scope.kind == "all"
    (_, *others) = (s for s in unroll(copies(warps), {"k_tiles": 3}).streams if s.task == "load")
    assert all(not s.events for s in others)


def test_warps_that_wait_while_another_copies():
    """As Task Scheduling's TaskWarpLeader has it: nothing keeps the others from being lapped, and one warp is enough."""
    schedule = copies(4, Signal.LEADER_THREADS)
    report = verify(schedule)
    assert {f.code for f in report.findings} == {"WD205"}
    for found in report.errors:
        assert any("only the first warp of load issues its copies" in note for note in found.notes)
        (fix, *_) = fixes_for(schedule, found, before=report)
        assert fix.title == "give load one warp" and verify(applied(schedule, fix)).verdict == "safe"
