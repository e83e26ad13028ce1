"""Blackwell's kernels in the emulator: right for all shapes and orders, and wrong or stuck where something is missing."""

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

import warpdraft.assets
from warpdraft.backends.emulator import ORDERS, EmulationError, emulate, emulate_all
from warpdraft.core.document import Document
from warpdraft.core.edits import DeleteNode, MoveNode, SetPipeline
from warpdraft.core.store import load
from warpdraft.core.tree import find_node
from warpdraft.core.verify import verify

EXAMPLES = Path(warpdraft.assets.__file__).parent / "examples"
SHAPES, SEEDS = (20, 50) if os.environ.get("WARPDRAFT_LONG") else (3, 5)


def example(name: str) -> Document:
    return load(EXAMPLES / f"{name}.warpdraft.json")


def shapes(name: str) -> list[dict[str, int]]:
    """Sizes of which none is a multiple of a tile, but for the first, whose K is less than one."""
    chosen = random.Random(name)
    ragged = [
        {"M": chosen.randrange(1, 400), "N": 8 * chosen.randrange(1, 70), "K": 8 * chosen.randrange(1, 45)}
        for _ in range(SHAPES - 1)
    ]
    return [{"M": 136, "N": 264, "K": 8}, *ragged]


@pytest.mark.parametrize("shape", range(SHAPES))
@pytest.mark.parametrize("name", ["blackwell_gemm"])
def test_random_shapes_in_seeded_interleavings(name, shape):
    document, sizes = example(name), shapes(name)[shape]
    for seed in range(SEEDS):
        outcome = emulate(document, sizes, seed=seed, order=ORDERS[(seed + shape) % len(ORDERS)])
        assert outcome.verdict == "right" and not outcome.notes, (sizes, outcome)


@pytest.fixture(scope="module")
def gemm() -> Document:
    return example("blackwell_gemm")


def edited(document: Document, *edits) -> Document:
    for edit in edits:
        document = edit.apply(document)
    return document


BREAKS = {
    "registers used before the wait for their load": (DeleteNode("epilogue.09"),),
    "an accumulator loaded before it is complete": (DeleteNode("epilogue.05"),),
    "a stage given back before the MMA that reads it": (MoveNode("mma.08", "mma.04", 2),),
    "a stage used before it is full": (MoveNode("mma.05", "mma.04", 2),),
    "columns freed while others still load them": (MoveNode("epilogue.55", "epilogue", 7),),
    "columns that nobody allocated": (DeleteNode("epilogue.02"),),
}


@pytest.mark.parametrize("what", BREAKS)
def test_each_fault_shows_as_wrong_tiles_and_has_a_finding(gemm, what):
    broken = edited(gemm, *BREAKS[what])
    outcome = emulate_all(broken, seeds=2)
    assert outcome.verdict == "wrong" and outcome.wrong_tiles
    assert verify(broken).verdict == "unsafe"


@pytest.mark.parametrize(
    "resource, field, value", [("smem_ab", "bytes", 16384), ("acc", "producer_count", 2)]
)
def test_wrong_counts_and_bytes_stall(gemm, resource, field, value):
    outcome = emulate(edited(gemm, SetPipeline(resource, field, value)))
    assert outcome.verdict == "deadlock"
    assert any(b.warp == "mma.w0" or b.warp.startswith("epilogue") for b in outcome.blocked)


def test_bodies_of_another_target_are_refused(gemm):
    with pytest.raises(EmulationError, match=r"sm100\.tcgen05_mma: is for sm_100a, not for sm_90a"):
        emulate(replace(gemm, target="sm_90a"))


def test_the_faults_are_made_where_they_are_meant(gemm):
    kinds = {id: find_node(gemm, id).node.kind for id in ("epilogue.05", "epilogue.09", "mma.05", "mma.08")}
    assert list(kinds.values()) == ["wait", "tcgen05_wait_ld", "wait", "release"]
