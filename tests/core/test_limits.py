"""A check ends in time, whatever the document asks for, and says that it did not finish."""

from dataclasses import replace
from itertools import count
from math import inf
from time import process_time

import pytest

from warpdraft.core.document import Mbarrier
from warpdraft.core.expressions import Operation, Symbol
from warpdraft.core.first_error import ENOUGH, smallest_first
from warpdraft.core.hazards.examples import (
    K,
    acquire,
    channel,
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
from warpdraft.core.limits import OUT_OF_TIME
from warpdraft.core.verify import verify

HUGE = Symbol("huge", 10**9)


def copy(*, stop=K, warps=1, symbols=(K,), **pipeline):
    return document(
        "copy",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"), stop=stop)),
        task("use", 4, warps, loop(wait("ab"), work("ab", "read"), fence(), release("ab"), stop=stop)),
        resources=(ring(**pipeline),),
        symbols=symbols,
    )


def _stored(**changes):
    found = copy()
    (ab,) = found.resources
    return replace(found, resources=(replace(ab, storage=replace(ab.storage, **changes)),))


def nested(depth, trips, extra=()):
    fill, use = (acquire("x"), work("x", "fill"), commit("x")), (wait("x"), work("x", "read"), release("x"))
    for level in range(depth):
        fill, use = ((loop(*body, stop=trips, var=f"i{level}"),) for body in (fill, use))
    for stop in extra:  # one task alone
        fill = (loop(*fill, stop=trips**depth * stop, var="x"),)
    return document("nested", task("a", 0, 1, *fill), task("b", 4, 1, *use), resources=(channel("x"),))


def uneven(outer, inner):
    """One task runs its iterations in one loop, the other in two nested ones: no fixed point is looked for."""
    fill, use = (acquire("x"), work("x", "fill"), commit("x")), (wait("x"), work("x", "read"), release("x"))
    return document(
        "uneven",
        task("a", 0, 1, loop(*fill, stop=outer * inner)),
        task("b", 4, 1, loop(loop(*use, stop=inner, var="i"), stop=outer, var="o")),
        resources=(channel("x"),),
    )


CASES = {
    "a constant trip count": (uneven(10**5, 10**4), "incomplete", "more than 1500000 events"),
    "a least trip count": (
        copy(stop=Operation("max", HUGE, 1), symbols=(HUGE,)),
        "incomplete",
        "huge = 1000000000 makes more",
    ),
    "many loops in each other": (nested(4, 1000, extra=(3,)), "incomplete", "events"),
    "many short loops in each other": (nested(12, 12), "incomplete", OUT_OF_TIME),
    "a long program": (uneven(1000, 100), "incomplete", OUT_OF_TIME),
    "many warps": (copy(warps=1_000_000), "unsafe", "more than 1024 warps"),
    "many stages": (copy(stages=10**9), "unsafe", "stages are more than"),
}


@pytest.mark.parametrize("name", CASES)
def test_it_ends_in_time(name):
    schedule, verdict, reason = CASES[name]
    start = process_time()
    report = verify(schedule, budget=1)
    assert process_time() - start < 4  # a second, and the step that is then under way: not what others take
    assert report.verdict == verdict
    assert any(r in report.scope.reason for r in (reason, OUT_OF_TIME)), report.scope.reason


LONG = {
    "a constant trip count": copy(stop=10**9),
    "a least trip count": copy(stop=HUGE, symbols=(HUGE,)),
    "loops in each other": nested(4, 1000),
}


@pytest.mark.parametrize("name", LONG)
def test_long_loops_take_no_time(name):
    start = process_time()
    report = verify(LONG[name])  # on a busy machine a few milliseconds may last long
    assert process_time() - start < 4
    assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope


def test_nothing_to_check():
    """Nothing is safe about no task at all; tasks without ops can only break rules on sizes, and the verdict says so."""
    none, idle = verify(document("empty")), verify(document("idle", task("t", 0, 1)))
    assert (none.verdict, none.scope.reason) == ("incomplete", "there is no task to look at")
    assert (idle.verdict, idle.scope.kind) == ("safe", "all") and "nothing was executed" in idle.scope.reason


def test_many_warps_are_an_error_at_once():
    report = verify(copy(warps=1_000_000))
    assert [f.code for f in report.errors] == ["WD605"]


@pytest.mark.parametrize("turns", [1, 2, 3, 4, 5])
def test_who_has_no_time_left_is_not_stuck(monkeypatch, turns):
    """An execution that is cut short anywhere shows no deadlock, and no wrong parity."""
    left = count(turns, -1)
    for module in ("clocks", "sweep"):
        monkeypatch.setattr(f"warpdraft.core.{module}.perf_counter", lambda: 0.0 if next(left) > 0 else inf)
    ready, taken = Mbarrier("ready", 1), Mbarrier("taken", 1)
    schedule = document(
        "handed over, with written parities",
        task("a", 0, 1, *(op for p in (1, 0, 1, 0) for op in (mbar_wait("taken", p), mbar_arrive("ready")))),
        task("b", 4, 1, *(op for p in (0, 1, 0, 1) for op in (mbar_wait("ready", p), mbar_arrive("taken")))),
        mbarriers=(ready, taken),
        symbols=(),
    )
    report = verify(schedule)
    assert (report.verdict, report.scope.reason, report.findings) == ("incomplete", OUT_OF_TIME, ())


IMPOSSIBLE = {
    "a ring of 0 stages": copy(stages=0),
    "a ring of -1 stages": copy(stages=-1),
    "storage of 0 stages": _stored(stages=0),
    "storage of -1 B": _stored(bytes=-1),
    "an alignment of 0": _stored(alignment=0),
    "an array of 0 mbarriers": document(
        "none",
        task("a", 0, 1, mbar_arrive("go")),
        task("b", 4, 1, mbar_wait("go")),
        mbarriers=(Mbarrier("go", 1, stages=0),),
    ),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_sizes_that_nothing_can_have(name):
    """Files, edits and the authoring interface refuse them; a document made in memory is unsafe, and not executed."""
    report = verify(IMPOSSIBLE[name])
    assert report.verdict == "unsafe" and [f.code for f in report.errors] == ["WD601"]
    assert report.errors[0].resources and "was not executed" in report.scope.reason


@pytest.mark.parametrize("cluster", [(0, 1, 1), (-1, 2, 1)])
def test_a_cluster_of_no_cta(cluster):
    report = verify(replace(copy(), cluster=cluster))
    assert report.verdict == "unsafe" and [f.code for f in report.errors] == ["WD605"]


def test_little_time_is_left_for_what_else_is_wrong(monkeypatch):
    """The first error is told of as it is, whatever a long search for more would find."""
    twice = document(
        "twice",
        task("a", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"))),
        task("b", 4, 1, loop(wait("x"), work("x", "read"))),
        resources=(channel("x"),),
    )
    whole = verify(twice)
    monkeypatch.setattr("warpdraft.core.first_error.MORE", 0.0)
    report = verify(twice)
    assert report.verdict == whole.verdict == "unsafe" and report.scope.reason == ENOUGH
    assert [(f.code, f.case) for f in report.errors] == [(f.code, f.case) for f in whole.errors]


def test_in_a_hurry_the_smallest_cases_come_first():
    seen, cases = [], [({"k": n}, {}) for n in (1, 2, 9, 4, 7, 3)]
    for values, _ in smallest_first(cases, lambda: 2 in seen):
        seen.append(values["k"])
    assert seen == [1, 2, 3, 4, 7, 9]
