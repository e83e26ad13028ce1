"""Garbage is collected less often while a check runs, and as before when none does."""

import gc
from pathlib import Path

import pytest

from warpdraft.core.clocks import Execution
from warpdraft.core.garbage import ALLOCATIONS, seldom_collected
from warpdraft.core.store import load
from warpdraft.core.verify import verify

EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"


@pytest.fixture(autouse=True)
def usual():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_seldom_inside_and_as_before_outside():
    with seldom_collected():
        assert gc.get_threshold() == (ALLOCATIONS, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)


def test_checks_that_overlap_leave_what_the_first_found():
    one, two = seldom_collected(), seldom_collected()
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    assert gc.get_threshold()[0] == ALLOCATIONS
    two.__exit__(None, None, None)
    assert gc.get_threshold() == (700, 10, 10)


def test_after_an_error_too():
    with pytest.raises(KeyError), seldom_collected():
        raise KeyError
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("threshold", [0, 1_000_000])
def test_what_is_rarer_or_off_stays_so(threshold):
    gc.set_threshold(threshold, 10, 10)
    with seldom_collected():
        assert gc.get_threshold()[0] == threshold
    assert gc.get_threshold()[0] == threshold


@pytest.mark.parametrize(
    "name, verdict",
    [
        ("persistent_gemm", "safe"),  # the one that all pieces are forked from is left
        ("broken_early_release", "unsafe"),
    ],
)
def test_executions_are_freed_at_once(name, verdict):
    document = load(EXAMPLES / f"{name}.warpdraft.json")
    gc.collect()
    gc.disable()
    try:
        before = sum(isinstance(x, Execution) for x in gc.get_objects())
        assert verify(document).verdict == verdict
        after = sum(isinstance(x, Execution) for x in gc.get_objects())
    finally:
        gc.enable()
    assert after <= before + 1
