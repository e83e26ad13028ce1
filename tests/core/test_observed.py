"""Phases that no wait has seen over (WD219), and fences in loops without iterations (WD504)."""

import pytest

from warpdraft.core.document import Mbarrier, OpKind
from warpdraft.core.hazards.conditional_fence import HAZARD as CONDITIONAL
from warpdraft.core.hazards.examples import (
    acquire,
    channel,
    commit,
    document,
    loop,
    mbar_arrive,
    mbar_wait,
    op,
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


def all_to_all(ctas, *between, apart=False):
    """Each CTA arrives on the barriers of all, and waits for its own before it does so again."""
    arrives = [mbar_arrive("m", ctas=(c,)) for c in range(ctas)] if apart else [mbar_arrive("m", ctas="all")]
    meet = op(OpKind.CLUSTER_SYNC)
    return document(
        "all to all",
        task("t", 0, 1, meet, loop(*arrives, mbar_wait("m"), *between), meet),
        mbarriers=(Mbarrier("m", ctas),),
        cluster=(ctas, 1, 1),
    )


@pytest.mark.parametrize("ctas", [2, 4])
def test_the_wait_of_one_cta_says_nothing_of_the_barriers_of_others(ctas):
    """PTX asks for a wait on the very barrier. Where arrivals are made one by one its phase may not even be over."""
    assert codes(all_to_all(ctas)) == {"WD219"}
    assert codes(all_to_all(ctas, apart=True)) == {"WD206"}
    for apart in (False, True):
        assert codes(all_to_all(ctas, op(OpKind.CLUSTER_SYNC), apart=apart)) == set()


def test_barriers_in_turn_need_no_other():
    """Who arrives on one of two for the next phase has heard on the other that its last phase was seen over."""
    turns = [n for name in "ab" for n in (mbar_arrive(name, ctas="all"), mbar_wait(name))]
    meet = op(OpKind.CLUSTER_SYNC)
    found = document(
        "in turn",
        task("t", 0, 1, meet, loop(*turns), meet),
        mbarriers=(Mbarrier("a", 4), Mbarrier("b", 4)),
        cluster=(4, 1, 1),
    )
    assert codes(found) == set()
