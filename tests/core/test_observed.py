"""Phases that no wait has seen over (WD219), and fences in loops without iterations (WD504)."""

from warpdraft.core.document import Mbarrier
from warpdraft.core.hazards.conditional_fence import HAZARD as CONDITIONAL
from warpdraft.core.hazards.examples import (
    acquire,
    channel,
    commit,
    document,
    loop,
    mbar_arrive,
    mbar_wait,
    release,
    task,
    wait,
    work,
)
from warpdraft.core.verify import verify


def signalled(*body, waiter=()):
    tasks = [task("signal", 0, 1, *body), *([task("other", 4, 1, *waiter)] if waiter else [])]
    return document("m", *tasks, mbarriers=(Mbarrier("m", 1),), symbols=())


def codes(schedule, **options):
    return {f.code for f in verify(schedule, **options).findings}


def test_a_wait_of_the_arriving_warp_is_enough():
    assert codes(signalled(mbar_arrive("m"), mbar_wait("m", parity=0), mbar_arrive("m"))) == set()


def test_the_last_phase_needs_no_wait():
    assert codes(signalled(mbar_arrive("m"))) == set()


def test_a_wait_after_the_arrive_is_too_late():
    (found,) = verify(signalled(mbar_arrive("m"), mbar_arrive("m"), mbar_wait("m", parity=1))).errors
    assert (
        found.code == "WD219"
        and found.ops == ("signal.01", "signal.02")
        and "phase 1 of m[0]" in found.message
    )


def test_rings_observe_all_their_phases():
    for stages in (1, 2, 3):
        schedule = document(
            "ring",
            task("load", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"))),
            task("use", 4, 4, loop(wait("x"), work("x", "read"), release("x"))),
            resources=(channel("x", stages),),
        )
        assert codes(schedule, trip_counts={"k_tiles": range(9)}) == set()


def test_the_loop_without_iterations_is_named():
    (found,) = verify(CONDITIONAL.bad).errors
    assert found.case == (("k_tiles", 0),) and "runs zero times here" in found.notes[0]
    assert codes(CONDITIONAL.bad, trip_counts={"k_tiles": [1, 2]}) == set()
