"""The predicted timelines of Blackwell's kernels: what bounds each, and what tensor memory holds."""

import pytest

from warpdraft.assets.examples import (
    blackwell_gemm,
    blackwell_pair_gemm,
    blackwell_scaled_gemm,
    persistent_gemm,
)
from warpdraft.core.simulate import bound, simulate
from warpdraft.core.simulate.bound import alone
from warpdraft.core.simulate.timeline import Bar, Lane, Timeline

ONE, SHORT, MANY = {"k_tiles": 64}, {"k_tiles": 4}, {"k_tiles": 32, "tiles": 4}
LOADS, EPILOGUE, TAIL = (
    "TMA's work on smem_ab, for which tensor core waits",
    "task epilogue, which hands on acc, for which",
    "task epilogue, alone at work for",
)


@pytest.mark.parametrize(
    ("module", "arguments", "values", "what"),
    [
        (blackwell_gemm, (4,), ONE, "tensor core, busy"),
        (blackwell_gemm, (3,), ONE, LOADS),
        (blackwell_gemm, (4,), SHORT, TAIL),
        (blackwell_gemm, (3,), SHORT, TAIL),
        (blackwell_pair_gemm, (4, 2), MANY, "tensor core, busy"),
        (blackwell_pair_gemm, (3, 2), MANY, LOADS),
        (blackwell_pair_gemm, (4, 1), MANY, EPILOGUE),
        (blackwell_scaled_gemm, (4, 2), MANY, "tensor core, busy"),
        (blackwell_scaled_gemm, (3, 2), MANY, LOADS),
        (blackwell_scaled_gemm, (4, 1), MANY, EPILOGUE),
        (persistent_gemm, (), MANY, "tensor core, busy"),
    ],
)
def test_what_bounds_it(module, arguments, values, what):
    """The MMAs when stages suffice, the loads when one is taken away, the epilogue with one accumulator: of one tile, it
    overlaps nothing, and bounds short sums."""
    assert bound(simulate(module.build(*arguments).document, values)).startswith(f"bounded by {what}")


def test_an_epilogue_is_alone_behind_the_only_tile_and_behind_the_last_of_many():
    """Behind a tile it takes as long however long the sum is; with one accumulator, part of it behind each."""
    short, long = (alone(simulate(blackwell_gemm.build().document, v)) for v in (SHORT, ONE))
    assert short["epilogue"] == long["epilogue"] > 3000
    one, two = (alone(simulate(blackwell_pair_gemm.build(4, n).document, MANY))["epilogue"] for n in (1, 2))
    assert one > two + 300 * (MANY["tiles"] - 1)
    more = alone(simulate(blackwell_pair_gemm.build().document, MANY | {"tiles": 8}))["epilogue"]
    assert more < 1.1 * two


def test_a_single_task_is_not_called_alone():
    lanes = Lane("copy.w0", "warp", "copy", 0), Lane("TMA", "engine")
    bars = Bar(0, "copy.01", (), 0, 10, "issue"), Bar(1, "copy.01", (), 10, 30, "in-flight")
    timeline = Timeline(lanes, bars, (), (), total=100, ended=True, busy=(("TMA", 20),))
    assert alone(timeline) == {} and bound(timeline).startswith("bounded by latencies: the busiest, TMA")
    other = Timeline(
        (*lanes, Lane("use.w0", "warp", "use", 1)),
        (*bars, Bar(2, "use.01", (), 25, 99, "work")),
        (),
        (),
        100,
        True,
    )
    assert alone(other) == {"copy": 25, "use": 69}


@pytest.fixture(scope="module")
def pair():
    return simulate(blackwell_pair_gemm.build().document, {"k_tiles": 4, "tiles": 3})


def test_columns_are_allocated_and_held_in_each_cta_of_a_pair(pair):
    allocated = [c for c in pair.columns if c.state == "allocated"]
    assert [(c.low, c.high, c.cta) for c in allocated] == [(0, 512, 0), (0, 512, 1)]
    held = [c for c in pair.columns if c.what]
    assert {(c.what, c.low, c.high) for c in held} == {("acc[0]", 0, 256), ("acc[1]", 256, 512)}
    first, second = ([c for c in held if c.what == f"acc[{stage}]"] for stage in (0, 1))
    assert any(
        one.state == "reading"
        and other.state == "filling"
        and one.start < other.end
        and other.start < one.end
        for one in first
        for other in second
    )
    last = max(b.end for b in pair.bars if b.op == "epilogue.02")
    assert all(c.start >= last - 20 and c.end <= pair.total for c in allocated)


def test_columns_without_a_pipeline_are_held_while_an_engine_works_on_them():
    timeline = simulate(blackwell_scaled_gemm.build().document, {"k_tiles": 3, "tiles": 1})
    factors = [c for c in timeline.columns if c.what == "sfa[0]"]
    assert {c.state for c in factors} == {"filling", "reading"} and len(factors) == 6
    assert {(c.low, c.high) for c in factors} == {(256, 260)}


def test_requests_for_tiles_have_a_lane(pair):
    lane = next(i for i, lane in enumerate(pair.lanes) if lane.name == "tile requests")
    assert [b.at for b in pair.bars if b.lane == lane] == [(("tile", i),) for i in range(3)]
    assert "tile requests" not in dict(pair.busy)
