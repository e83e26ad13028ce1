"""Each common mistake gets a fix that verifies: one mutation of an example or of a small ring at a time."""

import os

import pytest
from mutations import SCHEDULES, broken

from warpdraft.core.fixes import applied, fixes_for
from warpdraft.core.verify import verify

LONG = bool(os.environ.get("WARPDRAFT_LONG"))
RINGS = ("copy_ring", "thread_ring", "mma_ring")
# Of the examples, in the usual run, mistakes that the rings do not have.
CHOSEN = {
    "persistent_gemm": (
        "guard math.08 from 2",
        "missing release math.09",
        "missing sync math.16",
        "stage of math.14",
    ),
    "attention": ("missing release lower.10", "missing wait_read upper.29"),
    "ping_pong": ("barrier id of epilogue0, twice", "missing commit first.11", "registers of load"),
}


def cases():
    for name, make in SCHEDULES.items():
        for kind, schedule in broken(make()):
            if LONG or name in RINGS or kind.startswith(CHOSEN[name]):
                yield pytest.param(schedule, id=f"{name}: {kind}")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("schedule", list(cases()))
def test_a_fix_is_offered_that_verifies(schedule):
    report = verify(schedule)
    if report.verdict == "safe":
        return  # no mistake after all: nothing relied on it
    for finding in report.errors:
        for fix in fixes_for(schedule, finding, budget=60, before=report):
            after = verify(applied(schedule, fix))
            assert not {f.code for f in after.errors} - {f.code for f in report.errors}
            if not after.errors:
                assert after.verdict == "safe"
                return
    raise AssertionError([(f.code, f.ops, f.message) for f in report.errors])


def test_each_kind_is_there():
    """The table covers what it says, and every schedule is right before it is broken."""
    kinds = " ".join(kind for make in SCHEDULES.values() for kind, _ in broken(make()))
    for wanted in (
        "producer count", "consumer count", "bytes of", "capacity", "barrier id", "threads of", "missing acquire",
        "missing commit", "missing wait", "missing release", "missing fence", "missing group commit",
        "missing group wait", "missing sync", "early release", "early commit", "wrong order", "guard", "stage of",
        "registers of",
    ):  # fmt: skip
        assert wanted in kinds
    assert all(verify(make()).verdict == "safe" for make in SCHEDULES.values())


def test_the_time_to_find_fixes_is_bounded():
    from time import perf_counter

    schedule = dict(broken(SCHEDULES["ping_pong"]()))["producer count of turn"]
    report = verify(schedule)
    start = perf_counter()
    for finding in report.errors:
        fixes_for(schedule, finding, budget=0.5, before=report)
    assert (
        perf_counter() - start < len(report.errors) * 0.5 + 5
    )  # one check may have begun just before the end
