"""The family of Hopper GEMMs: every member is proved for all trip counts, compiles without spills, and is right in the
emulator in every order; a body of the author's own is copied into the module."""

import importlib.util
import re
from dataclasses import replace

import pytest

from warpdraft.assets.examples import own_epilogue_gemm
from warpdraft.assets.examples.hopper.gemm import gemm
from warpdraft.assets.examples.hopper.plan import Plan
from warpdraft.backends.cutedsl import LoweringError, compile_module, lower
from warpdraft.backends.cutedsl.cubin import register_requests
from warpdraft.backends.emulator import EmulationError, emulate, emulate_all
from warpdraft.core import verify
from warpdraft.core.document import Guard, Loop, OpKind
from warpdraft.core.edits import DeleteNode
from warpdraft.core.tree import walk

PING_PONG = Plan(tile=(128, 128, 64), ping_pong=True, subtile=32)
PROMOTED = Plan(tile=(64, 128, 128), apart=True, dtype="e4m3", out="fp16", promote=2)
SMALL = Plan(tile=(128, 64, 64), cluster=(1, 1))
PLANS = {
    "cluster 1 x 2": Plan(cluster=(1, 2)),
    "cluster 2 x 2": Plan(cluster=(2, 2)),
    "ping-pong alone": replace(PING_PONG, cluster=(1, 1)),
    "apart": Plan(tile=(64, 256, 64), apart=True, cluster=(1, 2)),
    "apart, columns, with a residual": Plan(
        tile=(64, 128, 64), apart=True, cluster=(1, 1), orders="mn", bias=True, residual=True
    ),
    "256 x 128": Plan(tile=(256, 128, 64), subtile=32),
    "64 x 128": Plan(tile=(64, 128, 64), cluster=(1, 1)),
    "128 x 64": SMALL,
    "columns of A contiguous": Plan(orders="mk"),
    "columns of both, batched": Plan(orders="mn", batched=True),
    "e4m3 ping-pong": replace(PING_PONG, tile=(128, 128, 128), dtype="e4m3", out="bf16"),
    "e4m3, promoted": PROMOTED,
    "e4m3, promoted, 192 columns": replace(PROMOTED, tile=(64, 192, 128)),
    "e4m3, promoted, shared": replace(PROMOTED, tile=(128, 128, 128), apart=False, bias=True, promote=3),
    "e4m3, sums in sixteen parts": Plan(
        tile=(128, 128, 128), dtype="e4m3", out="fp32", splits=16, subtile=32, cluster=(1, 1)
    ),
    "sums in four parts": Plan(tile=(128, 128, 64), splits=4, cluster=(1, 1)),
    "fp32": Plan(tile=(128, 128, 64), out="fp32", subtile=32, cluster=(1, 1)),
    "bias and gelu": Plan(bias=True, activation="gelu"),
}
WGMMA = {
    "256 x 128": ("m64n128k16.f32.f16.f16", 8),
    "64 x 128": ("m64n128k16.f32.f16.f16", 4),
    "e4m3 ping-pong": ("m64n128k32.f32.e4m3.e4m3", 8),
    "e4m3, promoted": ("m64n128k32.f32.e4m3.e4m3", 4),
    "cluster 1 x 2": ("m64n256k16.f32.f16.f16", 4),
    "apart": ("m64n256k16.f32.f16.f16", 4),
}


@pytest.mark.parametrize("name", PLANS)
def test_proved(name):
    report = verify(gemm(PLANS[name], "member").document)
    assert (report.verdict, report.scope.kind) == ("safe", "all")


@pytest.mark.parametrize(
    "name",
    [
        "cluster 2 x 2",
        "ping-pong alone",
        "apart, columns, with a residual",
        "128 x 64",
        "columns of both, batched",
        "sums in four parts",
        "fp32",
    ],
)
def test_emulated(name):
    plan = PLANS[name]
    (m, n, k), (down, across) = plan.tile, plan.cluster
    sizes = {"M": plan.parts * m * down + 24, "N": n * across + 40, "K": 2 * k + 16}
    outcome = emulate_all(gemm(plan, "member").document, sizes)
    assert (outcome.verdict, outcome.notes) == ("right", ())


def test_emulated_epilogues():
    plan = replace(SMALL, bias=True, activation="silu", residual=True)
    assert emulate(gemm(plan, "member").document, {"M": 152, "N": 104, "K": 136}).verdict == "right"
    plan = replace(SMALL, bias=True, activation="relu", dtype="e4m3", out="fp16", tile=(128, 64, 128))
    assert emulate(gemm(plan, "member").document, {"M": 152, "N": 104, "K": 272}).verdict == "right"


def test_a_release_of_the_own_cta_only_shows_in_the_emulator():
    """Two CTAs fill each other's stages: releasing one's own is not enough."""
    made = gemm(Plan(), "member").document
    rings = [r for r in made.resources if r.pipeline and r.name == "smem_ab"]
    wrong = replace(rings[0], pipeline=replace(rings[0].pipeline, multicast=(0, 0), consumer_count=8))
    broken = replace(made, resources=tuple(wrong if r is rings[0] else r for r in made.resources))
    assert verify(broken).verdict == "unsafe"
    outcomes = [emulate_all(broken, {"M": 256, "N": 256, "K": 64 * k}) for k in (6, 9)]
    assert any(o.verdict != "right" for o in outcomes)


@pytest.mark.parametrize("task", ["math0", "math1"])
def test_in_turn_each_gives_back_what_the_other_needs(task):
    """A stage is free when both have given it back: without the one that does not multiply, the load waits for ever."""
    made = gemm(PLANS["ping-pong alone"], "member").document
    loops = [
        n
        for t in made.tasks
        if t.name == task
        for n in walk(t.body)
        if isinstance(n, Loop) and n.kind == "domain"
    ]
    (passed,) = (loop for loop in loops if len(loop.body) == 2)
    broken = DeleteNode(next(o.id for o in passed.body if o.kind is OpKind.RELEASE)).apply(made)
    assert "WD301" in {f.code for f in verify(broken).findings}


@pytest.mark.parametrize("k_tiles", [1, 2, 3, 5])
def test_promoted_sums(k_tiles):
    """Less than what is promoted, just as much, and more of it, with and without a rest; several tiles of a CTA."""
    plan = replace(PROMOTED, tile=(64, 64, 128), cluster=(1, 1))
    sizes = {"M": 408, "N": 136, "K": 128 * k_tiles - 16}
    assert emulate(gemm(plan, "member").document, sizes).verdict == "right"


def test_what_is_promoted_must_be_complete():
    made = gemm(PROMOTED, "member").document
    waits = [
        op
        for loop in (n for t in made.tasks for n in walk(t.body) if isinstance(n, Guard) and n.period == 2)
        for op in loop.body
        if op.kind is OpKind.GROUP_WAIT
    ]
    assert len(waits) == 2
    assert "WD408" in {f.code for f in verify(DeleteNode(waits[0].id).apply(made)).findings}


def test_a_sum_that_is_never_cleared_shows_in_the_emulator():
    made = gemm(replace(PROMOTED, tile=(64, 64, 128), cluster=(1, 1)), "member").document
    clears = [n.id for t in made.tasks for n in walk(t.body) if getattr(n, "work", "") == "clear"]
    broken = DeleteNode(clears[0]).apply(made)
    assert emulate(broken, {"M": 136, "N": 72, "K": 400}).verdict == "wrong"


def test_long_sums_that_are_not_promoted_are_warned_of():
    """Measured: benchmarks/gpu/fp8.py."""
    plain = Plan(tile=(128, 256, 128), dtype="e4m3", out="fp16")
    assert "LONGEST = 6144\n" in lower(gemm(plain, "member").document)
    assert "LONGEST = 98304\n" in lower(gemm(PLANS["e4m3, sums in sixteen parts"], "member").document)
    for plan in (PROMOTED, Plan()):
        assert "LONGEST = 0\n" in lower(gemm(plan, "member").document)
    assert "LONGEST = 6144\n" in lower(gemm(replace(PROMOTED, promote=64), "member").document)


def test_accumulators_that_leave_no_registers_for_a_sum_are_refused():
    with pytest.raises(ValueError, match="128 registers of a thread, and its sum as many"):
        Plan(tile=(128, 256, 128), dtype="e4m3", promote=2)


@pytest.mark.parametrize(
    "works, message",
    [
        ({"whole": {"subtiles": 2}}, "sm90.add_fragment: adds whole accumulators, not one of 2 subtiles"),
        ({"mma": {"period": 0}}, "parameter 'period' must be a positive integer, not 0"),
    ],
)
def test_what_cannot_be_promoted_is_refused(works, message):
    made = gemm(replace(PROMOTED, tile=(64, 64, 128), cluster=(1, 1)), "member").document
    changed = [
        replace(
            r,
            works=tuple(
                replace(w, params=tuple((dict(w.params) | works.get(w.name, {})).items())) for w in r.works
            ),
        )
        for r in made.resources
    ]
    wrong = replace(made, resources=tuple(changed))
    with pytest.raises(LoweringError, match=message):
        lower(wrong)
    with pytest.raises(EmulationError, match=message):
        emulate(wrong, {"M": 136, "N": 72, "K": 400})


def test_sizes_that_do_not_fit_are_refused():
    source = lower(gemm(Plan(tile=(128, 256, 128), dtype="e4m3", out="fp16"), "member").document)
    for line in ("K % 16 != 0", "N % 8 != 0", "M < 1", "N < 1"):
        assert f"if {line}:" in source
    assert "rows of a must be a multiple of 16 elements" in source
    assert "columns of a must be a multiple of 8 elements" in lower(gemm(Plan(orders="mk"), "m").document)


def test_a_grid_of_half_clusters_is_refused():
    made = gemm(Plan(), "member").document
    wrong = replace(made, kernel=replace(made.kernel, grid=made.kernel.grid.left))
    assert "the grid must be one CTA for each tile" in lower(wrong)
    with pytest.raises(EmulationError, match="in whole clusters, the output's tiles need"):
        emulate(wrong)


def test_what_is_added_to_begins_as_zero():
    source = lower(gemm(PLANS["sums in four parts"], "member").document)
    assert 'ADDED = ("c",)' in source and "CopyReduceBulkTensorTileS2GOp" in source
    assert "ADDED = ()" in lower(gemm(Plan(), "member").document)
    batched = replace(PLANS["sums in four parts"], batched=True)
    with pytest.raises(LoweringError, match="for one matrix, not for a batch"):
        lower(gemm(batched, "member").document)


def test_a_body_of_the_authors_own_is_copied():
    source = lower(own_epilogue_gemm.build().document)
    assert "def swish_apply(fragment):" in source and "LOG2_E = 1.4426950408889634" in source
    assert "# one instruction each" in source  # comments, too
    assert len(re.findall(r'op\.own\("math\.\d+", swish_apply, ', source)) == Plan().subtiles


@pytest.mark.parametrize(
    "code, message",
    [
        ("def apply(self, stage_info, fragment):\n    return helper(fragment)", "the body uses 'helper'"),
        ("def apply(self, stage_info, fragment):\n    return self.x", "the body uses 'self'"),
        ("apply = 3", "not constants and then one method"),
        ("def apply(", "cannot be read"),
    ],
)
def test_a_body_that_cannot_be_copied(code, message):
    made = own_epilogue_gemm.build().document
    resources = tuple(
        replace(r, works=tuple(replace(w, code=code) for w in r.works)) if r.name == "swish" else r
        for r in made.resources
    )
    with pytest.raises(LoweringError, match=message):
        lower(replace(made, resources=resources))


@pytest.mark.skipif(importlib.util.find_spec("cutlass") is None, reason="the CuTe DSL is not installed")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", PLANS)
def test_compiled(name):
    compiled = compile_module(lower(gemm(PLANS[name], "member").document))
    assert compiled.resources.stack_bytes == 0
    assert set(register_requests(compiled.cubin)) == set(PLANS[name].registers)  # setmaxnreg has come through
    if name in WGMMA:
        shape, count = WGMMA[name]
        assert compiled.ptx.count(f"wgmma.mma_async.sync.aligned.{shape}") == count * PLANS[name].parts
