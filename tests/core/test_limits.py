"""A check ends in time, whatever the document asks for, and says that it did not finish."""

from time import perf_counter

import pytest

from warpdraft.core.expressions import Symbol
from warpdraft.core.hazards.examples import (
    K,
    acquire,
    channel,
    commit,
    document,
    fence,
    loop,
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


def nested(depth, trips):
    fill, use = (acquire("x"), work("x", "fill"), commit("x")), (wait("x"), work("x", "read"), release("x"))
    for level in range(depth):
        fill, use = ((loop(*body, stop=trips, var=f"i{level}"),) for body in (fill, use))
    return document("nested", task("a", 0, 1, *fill), task("b", 4, 1, *use), resources=(channel("x"),))


CASES = {
    "a constant trip count": (copy(stop=10**9), "incomplete", "more than 1500000 events"),
    "a least trip count": (copy(stop=HUGE, symbols=(HUGE,)), "incomplete", "huge = 1000000000 makes more"),
    "many loops in each other": (nested(4, 1000), "incomplete", "events"),
    "many short loops in each other": (nested(12, 12), "incomplete", OUT_OF_TIME),
    "a long program": (copy(stop=100_000), "incomplete", OUT_OF_TIME),
    "many warps": (copy(warps=1_000_000), "unsafe", "more than 1024 warps"),
    "many stages": (copy(stages=10**9), "unsafe", "stages are more than"),
}


@pytest.mark.parametrize("name", CASES)
def test_it_ends_in_time(name):
    schedule, verdict, reason = CASES[name]
    start = perf_counter()
    report = verify(schedule, budget=1)
    assert perf_counter() - start < 6  # a second, and what it takes on a busy machine
    assert report.verdict == verdict and reason in report.scope.reason


def test_many_warps_are_an_error_at_once():
    report = verify(copy(warps=1_000_000))
    assert [f.code for f in report.errors] == ["WD605"]
