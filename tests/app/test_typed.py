"""What people type, and what it means."""

import pytest

from warpdraft.app import typed
from warpdraft.core.document import Token
from warpdraft.core.expressions import Symbol, ceil_div

K, N = Symbol("k_tiles", 1), Symbol("n")


@pytest.mark.parametrize(
    "text, value",
    [("4", 4), (" 48KiB ", 49152), ("1_000", 1000), ("0x10", 16), ("", None), ("49,152", 49152)],
)
def test_numbers(text, value):
    assert typed.number(text) == value


@pytest.mark.parametrize("text", ["many", "4.5", "--4", "1e3"])
def test_what_is_no_number_is_told(text):
    with pytest.raises(typed.NotUnderstood, match="whole number"):
        typed.number(text)


@pytest.mark.parametrize(
    "text, value",
    [
        ("k_tiles", K),
        ("4", 4),
        ("-1", -1),
        ("k_tiles - 1", K - 1),
        ("2 * n + k_tiles", 2 * N + K),
        ("ceil_div(n, 64)", ceil_div(N, 64)),
    ],
)
def test_bounds(text, value):
    assert typed.integer(text, (K, N)) == value


@pytest.mark.parametrize(
    "text", ["nobody", "k_tiles(", "k_tiles.x", "__import__('os')", "1.5", "True", "k_tiles / 2", "max(1)"]
)
def test_what_is_no_bound_is_told(text):
    with pytest.raises(typed.NotUnderstood):
        typed.integer(text, (K, N))


@pytest.mark.parametrize(
    "text, value",
    [("tiles", Token("tiles")), ("0", 0), ("(1, 2)", (1, 2)), ("'x'", "x"), ("True", True), ("[1]", (1,))],
)
def test_arguments(text, value):
    assert typed.argument(text) == value


@pytest.mark.parametrize("text", ["a b", "f()", "{1: 2}", "b'x'"])
def test_what_is_no_argument_is_told(text):
    with pytest.raises(typed.NotUnderstood):
        typed.argument(text)


def test_names():
    assert typed.names("a, b c") == ("a", "b", "c")
    with pytest.raises(typed.NotUnderstood):
        typed.names("a, 3b")
