"""The predicted timelines of Blackwell's kernels: what bounds each, and what tensor memory holds."""

import pytest

from warpdraft.assets.examples import (
    blackwell_gemm,
    blackwell_pair_gemm,
    blackwell_scaled_gemm,
    persistent_gemm,
)
from warpdraft.core.simulate import bound, simulate

ONE, MANY = {"k_tiles": 64}, {"k_tiles": 32, "tiles": 4}
LOADS, EPILOGUE = (
    "TMA's work on smem_ab, for which tensor core waits",
    "task epilogue, which hands on acc, for which",
)


@pytest.mark.parametrize(
    ("module", "arguments", "values", "what"),
    [
        (blackwell_gemm, (4,), ONE, "tensor core, busy"),
        (blackwell_gemm, (3,), ONE, LOADS),
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
    """The MMAs when stages suffice, the loads when one is taken away, the epilogue with one accumulator."""
    assert bound(simulate(module.build(*arguments).document, values)).startswith(f"bounded by {what}")


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
