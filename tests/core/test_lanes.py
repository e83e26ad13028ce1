"""Lanes of a warp: what strict lanes ask for, and barriers that take whole warps."""

import pytest

from warpdraft.core.document import GuardKind, Mbarrier, NamedBarrier, OpKind, Signal
from warpdraft.core.hazards.examples import (
    STORE,
    acquire,
    buffer,
    channel,
    commit,
    document,
    elect,
    fence,
    group_commit,
    group_wait,
    guard,
    loop,
    mbar_arrive,
    mbar_wait,
    op,
    output,
    release,
    ring,
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
    stated = body == (FILL, lane(commit("x")))  # the schedule elects the lane: nothing is implied
    assert ("WD213" in {f.code for f in verify(schedule).findings}) == stated


def test_the_finding_names_both_ops():
    (found,) = verify(handed(FILL, commit("x")), strict_lanes=True).errors
    assert found.ops == ("load.03", "load.02") and "one lane arrives for all that wrote x" in found.message


def test_all_lanes_behind_the_wait_of_one():
    use = lane(wait("x")), work("x", "read"), release("x")
    assert strict(handed(FILL, MEET, commit("x"), consumer=use)) == {"WD213"}
    assert {f.code for f in verify(handed(FILL, commit("x"), consumer=use)).errors} == {"WD213"}
    assert strict(handed(FILL, MEET, commit("x"), consumer=(use[0], MEET, *use[1:]))) == set()


@pytest.mark.parametrize(("count", "bad"), [(1, True), (32, False), (64, False), (33, True)])
def test_each_lane_speaks_for_itself(count, bad):
    """mbarrier.arrive by 32 lanes of the warp publishes what each has written."""
    schedule = document(
        "raw",
        task("a", 0, 1, work("s", "fill"), mbar_arrive("m", count=count)),
        task("b", 4, 1, mbar_wait("m"), work("s", "read")),
        resources=(buffer("s"),),
        mbarriers=(Mbarrier("m"),),
        symbols=(),
    )
    assert strict(schedule) == ({"WD213"} if bad else set())
    assert verify(schedule).findings == ()


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


def stored(*between, lanes_write=True, warps=1):
    """Lanes write a buffer, ``between`` follows, and one lane starts a bulk store of it."""
    written = work("s", "fill") if lanes_write else lane(work("s", "fill"))
    start = work("s", "tile", result="t"), work("out", "store", tile="t"), group_commit("store_group")
    return document(
        "stored",
        task("t", 0, warps, written, *between, elect(lane(*start), group_wait("store_group", read=True))),
        resources=(buffer("s"), output()),
        barriers=(NamedBarrier("meet", 1, 32 * warps),),
        groups=(STORE,),
        symbols=(),
    )


@pytest.mark.parametrize("strict_lanes", [False, True])
@pytest.mark.parametrize(
    ("between", "lanes_write", "missing"),
    [
        ((lane(fence()),), True, True),
        ((lane(fence()), MEET), True, True),  # the meeting orders lanes, not proxies
        ((MEET, lane(fence())), True, True),
        ((MEET, lane(fence()), fence()), True, False),
        ((fence(), MEET), True, False),
        ((lane(fence()), MEET), False, False),  # the lane that wrote fences
        ((fence(), MEET), False, False),
        ((MEET,), False, True),
    ],
)
def test_a_fence_orders_the_accesses_of_the_lanes_that_execute_it(
    between, lanes_write, missing, strict_lanes
):
    report = verify(stored(*between, lanes_write=lanes_write), strict_lanes=strict_lanes)
    apart = {"WD213"} if lanes_write and MEET not in between else set()
    assert {f.code for f in report.findings} == ({"WD501"} if missing else set()) | apart
    if missing and lanes_write:
        assert any("one elected lane" in note for found in report.findings for note in found.notes)


@pytest.mark.parametrize("whole", [False, True])
def test_reads_of_all_lanes_before_a_refill(whole):
    """The same the other way round: lanes read a stage that a copy then overwrites."""
    use = wait("ab"), work("ab", "read"), fence() if whole else lane(fence()), MEET, release("ab")
    schedule = document(
        "refill",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task("use", 4, 4, loop(*use)),
        resources=(ring(),),
    )
    for strict_lanes in (False, True):
        report = verify(schedule, strict_lanes=strict_lanes)
        assert {f.code for f in report.findings} == (set() if whole else {"WD501"})


@pytest.mark.parametrize(
    ("between", "bad"), [((fence(),), True), ((fence(), MEET), False), ((fence(), sync("meet")), False)]
)
def test_an_engine_that_one_lane_starts_on_what_all_wrote(between, bad):
    for strict_lanes in (False, True):
        found = verify(stored(*between), strict_lanes=strict_lanes).findings
        assert {f.code for f in found} == ({"WD213"} if bad else set())
