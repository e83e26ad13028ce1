"""Two timelines of one schedule that disagree about order."""

from dataclasses import replace
from pathlib import Path

import warpdraft.assets
from warpdraft.core.simulate import SM90_COSTS, Bar, Lane, Timeline, differences, simulate
from warpdraft.core.store import load

GEMM = load(Path(warpdraft.assets.__file__).parent / "examples" / "persistent_gemm.warpdraft.json")
LANES = (Lane("a.w0", "warp", "a", 0), Lane("b.w0", "warp", "b", 0), Lane("TMA", "engine"))


def timeline(*bars):
    return Timeline(LANES, bars, (), (), max(b.end for b in bars), True)


def test_the_same_timeline():
    found = simulate(GEMM, {"k_tiles": 8, "tiles": 2})
    assert differences(found, found) == ()


def test_a_wait_that_is_held_up_in_one_only():
    at = (("k", 1),)
    one = timeline(Bar(0, "a.1", at, 10, 400, "wait"), Bar(1, "b.1", at, 0, 10, "issue"))
    other = timeline(Bar(0, "a.1", at, 10, 40, "issue"), Bar(1, "b.1", at, 0, 700, "wait"))
    found = differences(one, other)
    assert [tuple(d) for d in found] == [("b.w0", "b.1", at, 10, 700), ("a.w0", "a.1", at, 390, 30)]
    assert {(d.op, d.one, d.other) for d in differences(other, one)} == {("b.1", 700, 10), ("a.1", 30, 390)}


def test_other_iterations_engines_and_short_waits_say_nothing():
    one = timeline(Bar(0, "a.1", (("k", 1),), 10, 400, "wait"), Bar(2, "a.2", (), 0, 900, "in-flight"))
    other = timeline(Bar(0, "a.1", (("k", 2),), 10, 40, "issue"), Bar(2, "a.2", (), 0, 9, "in-flight"))
    assert differences(one, other) == ()
    short = timeline(Bar(0, "a.1", (("k", 1),), 10, 60, "wait"))
    assert differences(short, timeline(Bar(0, "a.1", (("k", 1),), 10, 40, "issue"))) == ()


def test_slower_copies_hold_up_the_products():
    """The loader waits for the math warps; with slow copies these wait for it as well."""
    values = {"k_tiles": 16, "tiles": 1}
    usual, slow = (simulate(GEMM, values, replace(SM90_COSTS, tma_bytes_per_cycle=b)) for b in (200, 20))
    assert {d.op for d in differences(usual, slow)} == {"math.03"}
