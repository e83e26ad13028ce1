"""Bounds that grow evenly from some value on, and proofs over them."""

import pytest

from warpdraft.core.expressions import Operation, evaluate
from warpdraft.core.growth import NoGrowth, grows
from warpdraft.core.hazards.examples import (
    K,
    acquire,
    channel,
    commit,
    document,
    loop,
    release,
    task,
    wait,
    work,
)
from warpdraft.core.verify import verify


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (Operation("max", K, 3), (1, 1, 3)),
        (Operation("min", K, 3), (1, 0, 3)),
        (1 - Operation("min", K, 1), (1, 0, 1)),
        (1 // (K + 1), (1, 0, 1)),
        (6 // (K + 1) + K, (1, 1, 6)),
        (Operation("min", K // 2, 5) * 2, (2, 0, 10)),
        (Operation("max", K % 3, K - 4), (3, 3, 6)),
    ],
)
def test_bounds_that_settle(expression, expected):
    p, s, since = grows(expression, "k_tiles")
    assert (p, s, since) == expected
    for x in range(since, since + 30):
        assert evaluate(expression, {"k_tiles": x + p}) == evaluate(expression, {"k_tiles": x}) + s


@pytest.mark.parametrize("expression", [Operation("max", K, 300), K // K, 5 // (3 - K), -1 // (K + 1)])
def test_bounds_without_growth(expression):
    with pytest.raises(NoGrowth):
        grows(expression, "k_tiles")


@pytest.mark.parametrize("late", [0, 3, 17])
def test_what_goes_wrong_once_a_bound_has_settled_is_found(late):
    """A loop that runs once from so many iterations on: on both sides, then on that of the reader alone."""
    more = Operation("min", Operation("max", K - late, 0), 1)
    fill, read = (
        (acquire("x"), work("x", "fill"), commit("x")),
        (wait("x"), work("x", "read"), release("x")),
    )

    def extra(*writers):
        load = task("load", 0, 1, loop(*fill), *(loop(*fill, stop=more) for _ in writers))
        use = task("use", 4, 1, loop(*read), loop(*read, stop=more))
        return document("extra", load, use, resources=(channel("x"),))

    assert (verify(extra(1)).verdict, verify(extra(1)).scope.kind) == ("safe", "all")
    assert verify(extra()).verdict == "unsafe"
