"""Lanes of a warp: what strict lanes ask for, and barriers that take whole warps."""

import pytest

from warpdraft.core.document import GuardKind, Mbarrier, NamedBarrier, OpKind, Signal
from warpdraft.core.hazards.examples import (
    acquire,
    buffer,
    channel,
    commit,
    document,
    guard,
    loop,
    mbar_arrive,
    mbar_wait,
    op,
    release,
    sync,
    task,
    wait,
    work,
)
from warpdraft.core.report import report_json
from warpdraft.core.verify import verify

MEET = op(OpKind.SYNC_WARP)


def lane(*body):
    return guard(GuardKind.ELECT_LANE, *body)


def handed(*body, warps=1, consumer=None, **pipeline):
    return document(
        "handed",
        task("load", 0, warps, loop(acquire("x"), *body)),
        task("use", 4, 1, loop(*(consumer or (wait("x"), work("x", "read"), release("x"))))),
        resources=(channel("x", **pipeline),),
        barriers=(NamedBarrier("meet", 1, 32),),
    )


def strict(schedule):
    return {f.code for f in verify(schedule, strict_lanes=True).errors}


FILL = work("x", "fill")


@pytest.mark.parametrize(
    ("body", "fields", "bad"),
    [
        ((FILL, commit("x")), {}, True),
        ((FILL, MEET, commit("x")), {}, False),
        ((FILL, sync("meet"), commit("x")), {}, False),
        ((MEET, FILL, commit("x")), {}, True),
        ((FILL, commit("x")), {"producer_signal": Signal.THREAD}, False),
        ((FILL, lane(commit("x"))), {"producer_signal": Signal.THREAD}, True),
        ((FILL, commit("x")), {"producer_signal": Signal.LEADER}, True),
        ((FILL, commit("x")), {"producer_signal": Signal.LEADER_THREADS}, False),
        ((lane(FILL), commit("x")), {}, False),
        ((lane(FILL, commit("x")),), {}, False),
        ((FILL, lane(MEET), commit("x")), {}, True),
    ],
)
def test_one_lane_speaks_for_all(body, fields, bad):
    schedule = handed(*body, **fields)
    assert ("WD213" in strict(schedule)) == bad
    assert "WD213" not in {f.code for f in verify(schedule).findings}


def test_the_finding_names_both_ops():
    (found,) = verify(handed(FILL, commit("x")), strict_lanes=True).errors
    assert found.ops == ("load.03", "load.02") and "one lane arrives for all that wrote x" in found.message


def test_all_lanes_behind_the_wait_of_one():
    use = lane(wait("x")), work("x", "read"), release("x")
    assert strict(handed(FILL, MEET, commit("x"), consumer=use)) == {"WD213"}
    assert strict(handed(FILL, MEET, commit("x"), consumer=(use[0], MEET, *use[1:]))) == set()


def test_a_raw_arrival_is_one_lane():
    def schedule(*meeting):
        return document(
            "raw",
            task("a", 0, 1, work("s", "fill"), *meeting, mbar_arrive("m")),
            task("b", 4, 1, mbar_wait("m"), work("s", "read")),
            resources=(buffer("s"),),
            mbarriers=(Mbarrier("m"),),
            symbols=(),
        )

    assert strict(schedule()) == {"WD213"} and strict(schedule(MEET)) == set()


def test_the_scope_says_which_lanes():
    schedule = handed(FILL, MEET, commit("x"))
    for lanes, words in ((True, "lane"), (False, "warp")):
        report = verify(schedule, strict_lanes=lanes)
        assert report.scope.lanes == report_json(schedule, report)["scope"]["lanes"] == words


@pytest.mark.parametrize(
    "kind", [OpKind.BARRIER_SYNC, OpKind.BARRIER_ARRIVE, OpKind.SYNC_WARP, OpKind.CLUSTER_SYNC]
)
def test_barriers_take_whole_warps(kind):
    barrier = op(kind, "meet" if kind.value.startswith("barrier") else "")
    schedule = document(
        "meet", task("t", 0, 1, lane(barrier)), barriers=(NamedBarrier("meet", 1, 32),), symbols=()
    )
    assert {f.code for f in verify(schedule).errors} >= {"WD220"}
