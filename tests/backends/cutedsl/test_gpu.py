"""Exported kernels on a GPU: right for every size, right after every edit, and as fast as the library."""

import re

import pytest

from warpdraft.assets.examples.hopper.gemm import gemm
from warpdraft.assets.examples.hopper.members import members
from warpdraft.assets.examples.hopper.plan import Plan
from warpdraft.backends.cutedsl import Measurement, lower, profile_module, read_records, run_sizes
from warpdraft.core.document import OpKind
from warpdraft.core.tree import ops_of

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(300)]


# Ragged; smaller than one tile; K of 8, of one k tile, of less than a ring, of more, of 65,536; a CTA with several tiles.
SIZES = (
    {"M": 1000, "N": 1016, "K": 520},
    {"M": 8, "N": 8, "K": 8},
    {"M": 136, "N": 2056, "K": 72},
    {"M": 4096, "N": 4096, "K": 64},
    {"M": 4096, "N": 4096, "K": 200},
    {"M": 1000, "N": 4104, "K": 4096},
    {"M": 264, "N": 136, "K": 65536},
)


def assert_right(found: tuple[Measurement, ...]) -> None:
    """Every size gave the right result, and the process ended well."""
    assert [(m.sizes, m.state, m.message) for m in found if m.state != "right"] == []


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("name", ["gemm", "persistent_gemm", "store_task"])
def test_gemm_is_right(document, name, dtype):
    assert_right(run_sizes(lower(document(name)), SIZES, {"dtype": dtype}, timing=False))


@pytest.mark.parametrize(
    "tile", [(64, 64, 4, 8), (64, 128, 4, 6), (128, 64, 4, 6), (256, 128, 8, 3), (128, 192, 8, 4)]
)
def test_every_tile_is_right(tiled, tile):
    assert_right(run_sizes(lower(tiled(*tile)), SIZES, timing=False))


FAMILY = {
    "2 x 1": Plan(),
    "1 x 2": Plan(cluster=(1, 2)),
    "2 x 2": Plan(cluster=(2, 2)),
    "ping-pong": Plan(tile=(128, 128, 64), ping_pong=True, subtile=32),
    "apart": Plan(tile=(64, 256, 64), apart=True, cluster=(1, 2)),
    "apart, columns": Plan(tile=(64, 128, 64), apart=True, orders="mn"),
    "apart, residual": Plan(tile=(64, 128, 64), apart=True, cluster=(1, 1), bias=True, residual=True),
    "256 x 128": Plan(tile=(256, 128, 64), subtile=32),
    "64 x 128": Plan(tile=(64, 128, 64), cluster=(1, 1)),
    "128 x 64": Plan(tile=(128, 64, 64), cluster=(1, 1)),
    "columns": Plan(orders="mn"),
    "e4m3": Plan(tile=(128, 256, 128), dtype="e4m3", out="fp16"),
    "e4m3, promoted": Plan(tile=(64, 192, 128), apart=True, dtype="e4m3", out="fp16", promote=2),
    "e4m3, promoted, shared": Plan(
        tile=(128, 128, 128), cluster=(1, 1), dtype="e4m3", out="bf16", bias=True, promote=3
    ),
    "e4m3, split": Plan(
        tile=(128, 128, 128), dtype="e4m3", out="fp32", splits=16, subtile=32, cluster=(1, 1)
    ),
    "split": Plan(tile=(128, 128, 64), splits=4),
    "epilogue": Plan(tile=(128, 128, 64), cluster=(1, 1), bias=True, activation="silu", residual=True),
    "bf16": Plan(dtype="bf16", bias=True, activation="gelu"),
    "ping-pong, epilogue": Plan(
        tile=(128, 128, 64),
        cluster=(1, 1),
        ping_pong=True,
        subtile=32,
        bias=True,
        activation="silu",
        residual=True,
    ),
}
EVEN = (
    {"M": 1040, "N": 1024, "K": 528},
    {"M": 16, "N": 16, "K": 16},
    {"M": 128, "N": 128, "K": 64},
    {"M": 144, "N": 2064, "K": 4112},
    {"M": 272, "N": 144, "K": 65536},
)


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("build", ["", "watchdog"])
def test_the_family_is_right(name, build):
    """Multiples of 16 elements: rows and columns of every type are then multiples of 16 bytes.

    Hopper's tensor cores keep fewer bits of sums of e4m3 than fp32 has: long ones need several accumulators."""
    sizes = EVEN[:-1] if name == "e4m3" else EVEN
    assert_right(run_sizes(lower(gemm(FAMILY[name], name).document, build=build), sizes, timing=False))


@pytest.mark.parametrize("name", ["persistent_gemm", "ping_pong_gemm", "residual_gemm"])
def test_a_profile_build_is_right_and_records_every_op(document, name):
    made = document(name)
    source = lower(made, build="profile")
    found, records = profile_module(source, {"M": 1000, "N": 1016, "K": 520})
    assert_right((found,))
    sent = {op for op in re.findall(r'"([\w.]+)"', source.split("OPS = ")[1].splitlines()[0])}
    sent = {op for op in sent if re.search(rf'op\.\w+\(\s*(#.*\s*)?"{re.escape(op)}"', source)}
    assert {op for warp in records["warps"] for op in warp["ops"]} == sent
    for warp in records["warps"]:
        first, last = warp["clock"]
        for begin, end in (pair for pairs in warp["ops"].values() for pair in pairs if any(pair)):
            assert (begin - first) % 2**32 <= (end - first) % 2**32 <= (last - first) % 2**32
    assert read_records(made, records).bars


@pytest.mark.parametrize("name", ["fp8_gemm", "members"])
def test_long_sums_of_e4m3_are_right(document, name):
    """The shortest that TMA addresses, and up to 65,536."""
    made = document(name) if name == "fp8_gemm" else members("e4m3")["square"].document
    sizes = tuple({"M": 512, "N": 768, "K": k} for k in (16, 4096, 16384, 65536))
    assert_right(run_sizes(lower(made), sizes, timing=False))


def test_long_sums_in_one_accumulator_are_warned_of():
    """They are as inexact as the library's with fast accumulation."""
    source = lower(gemm(FAMILY["e4m3"], "fast").document)
    short, long = run_sizes(source, ({"M": 512, "N": 768, "K": k} for k in (6144, 16384)), timing=False)
    assert (short.state, short.message) == ("right", "")
    assert long.state == "wrong" and "promote partial sums" in long.message


def test_a_batch_is_right():
    sizes = tuple({**size, "L": 3} for size in EVEN)
    assert_right(run_sizes(lower(gemm(Plan(batched=True), "batch").document), sizes, timing=False))


def test_a_body_of_the_authors_own_is_right(document):
    assert_right(run_sizes(lower(document("own_epilogue_gemm")), SIZES, timing=False))


def test_edited_gemm_is_right(document, edit):
    assert_right(run_sizes(lower(document(edit)), SIZES, timing=False))


def test_copy_is_right(document):
    assert_right(run_sizes(lower(document("tma_copy")), ({"M": 1}, {"M": 1000}, {"M": 65536}), timing=False))


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
@pytest.mark.parametrize("name", ["gemm", "persistent_gemm"])
def test_gemm_keeps_up_with_the_library(document, name, dtype):
    (found,) = run_sizes(lower(document(name)), ({"M": 4096, "N": 4096, "K": 4096},), {"dtype": dtype})
    assert found.state == "right"
    assert found.ratio >= 0.90


def test_copy_keeps_up_with_the_library(document):
    (found,) = run_sizes(lower(document("tma_copy")), ({"M": 1 << 20},))
    assert found.state == "right"
    assert found.ratio >= 0.85


def test_a_hanging_kernel_is_reported(document):
    found = run_sizes(lower(document("broken_deadlock")), SIZES[:1], seconds=20)
    assert [m.state for m in found] == ["hung"]


def test_a_watchdog_build_says_who_waits(document):
    made = document("broken_deadlock")
    (found,) = run_sizes(lower(made, build="watchdog"), SIZES[:1], seconds=60)
    assert found.state == "hung"
    waits = {op.id for t in made.tasks for op in ops_of(t) if op.kind in (OpKind.ACQUIRE, OpKind.WAIT)}
    assert {w.op for w in found.waiting} <= waits
    assert sum(w.warps for w in found.waiting) > 0
    assert_right(run_sizes(lower(document("persistent_gemm"), build="watchdog"), SIZES, timing=False))
