"""Periods of expressions, against their values."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpdraft.core.expressions import LoopVariable, Operation, Symbol, evaluate
from warpdraft.core.periods import NoPeriod, period

K, T, N = LoopVariable("k"), LoopVariable("t"), Symbol("n")
SMALL = st.integers(-4, 7)
INNER = st.recursive(
    SMALL | st.sampled_from([K, T, N]),
    lambda inner: st.one_of(
        st.builds(Operation, st.sampled_from(["+", "-", "*"]), inner, inner),
        st.builds(Operation, st.sampled_from(["//", "%", "ceil_div"]), inner, st.integers(1, 6)),
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(INNER, st.sampled_from(["k", "t", "n"]), st.lists(st.integers(0, 40), min_size=3, max_size=3))
def test_the_value_comes_again(expression, name, values):
    try:
        step = period(expression, name)
    except NoPeriod:
        return
    k, t, n = values

    def value(**more):
        found = {"k": k, "t": t, "n": n}
        found[name] += more.get("by", 0)
        return evaluate(expression, {"n": found["n"]}, {"k": found["k"], "t": found["t"]})

    assert value(by=step) == value(by=3 * step) == value()


@pytest.mark.parametrize(
    ("expression", "name", "expected"),
    [
        (K % 3, "k", 3),
        (K // 3 % 2, "k", 6),
        ((T * N + K) % 3, "t", 3),
        ((T * N + K) // 3 % 2, "n", 6),
        (K * 2 % 6, "k", 3),
        (K % 6 % 3, "k", 3),
        ((K & 1) ^ 1, "k", 2),
        (K >> 2 & 3, "k", 16),
        (K % 3, "t", 1),
    ],
)
def test_periods(expression, name, expected):
    assert period(expression, name) == expected


@pytest.mark.parametrize("expression", [K, K + T % 2, K // 3, K % N, N // K])
def test_none(expression):
    with pytest.raises(NoPeriod):
        period(expression, "k")


def test_bits_are_arithmetic():
    for k in range(-8, 9):
        known = {"k": k}
        for built, expected in [
            (K & 3, k & 3),
            (K >> 1, k >> 1),
            (K << 2, k << 2),
            (K ^ 1, k ^ 1),
            ((K & 1) ^ 1, (k & 1) ^ 1),
        ]:
            assert evaluate(built, {}, known) == expected
