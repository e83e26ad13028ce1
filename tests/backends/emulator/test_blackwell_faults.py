"""The same faults in every Blackwell kernel: each shows as wrong tiles or as a stall, and the verifier finds it."""

from pathlib import Path

import pytest

import warpdraft.assets
from warpdraft.assets.examples import blackwell_scaled_gemm
from warpdraft.backends.emulator import Outcome, emulate_all
from warpdraft.core.document import Document, Loop, OpKind
from warpdraft.core.edits import DeleteNode, MoveNode, SetPipeline
from warpdraft.core.footprints import stage_bytes
from warpdraft.core.store import load
from warpdraft.core.tree import find_resource, find_task, ops_of, walk
from warpdraft.core.verify import verify

EXAMPLES = Path(warpdraft.assets.__file__).parent / "examples"
WIDE = "blackwell_wide_scaled_gemm"  # tiles of 256 columns, one accumulator
NAMES = ("blackwell_gemm", "blackwell_pair_gemm", "blackwell_scaled_gemm", WIDE)
PERSISTENT = NAMES[1:]
SIZES = {"M": 1024, "N": 512, "K": 288}  # several tiles a CTA, each with a ragged sum


def example(name: str) -> Document:
    if name == WIDE:
        return blackwell_scaled_gemm.build(3, 1, columns=256).document
    return load(EXAMPLES / f"{name}.warpdraft.json")


def op_of(document: Document, task: str, kind: OpKind, which: int = 0) -> str:
    return [op.id for op in ops_of(find_task(document, task)) if op.kind is kind][which]


def loop_of(document: Document, task: str, kind: str) -> str:
    return next(n.id for n in walk(find_task(document, task).body) if isinstance(n, Loop) and n.kind == kind)


def without(task: str, kind: OpKind):
    return lambda document: DeleteNode(op_of(document, task, kind)).apply(document)


def early_release(task: str, loop: str):
    """The task's first release, directly behind the wait that its loop begins with."""
    return lambda document: MoveNode(
        op_of(document, task, OpKind.RELEASE), loop_of(document, task, loop), 1
    ).apply(document)


def armed_for(share: float):
    """The ring's barriers expect this share of the bytes that come: of a pair's, in both CTAs."""

    def change(document: Document) -> Document:
        all_bytes = stage_bytes(find_resource(document, "smem_ab")) * (2 if document.cluster[0] > 1 else 1)
        return SetPipeline("smem_ab", "bytes", int(share * all_bytes)).apply(document)

    return change


FAULTS = {
    "early release of a stage": (NAMES, early_release("mma", "domain"), "wrong"),
    "early release of an accumulator": (PERSISTENT, early_release("epilogue", "tile"), "wrong"),
    "no wait for a stage": (
        NAMES,
        without("mma", OpKind.WAIT),
        "wrong or deadlock",
    ),  # by the number of stages
    "no wait for an accumulator": (NAMES, without("epilogue", OpKind.WAIT), "wrong"),
    "no wait for an empty stage": (NAMES, without("load", OpKind.ACQUIRE), "deadlock"),
    "no wait for loaded registers": (NAMES, without("epilogue", OpKind.TCGEN05_WAIT_LD), "wrong"),
    "too few bytes": (NAMES, armed_for(0.5), "deadlock"),
    "too many bytes": (NAMES, armed_for(2), "deadlock"),
}


def outcome(document: Document) -> Outcome:
    return emulate_all(document, SIZES, seeds=2)


@pytest.mark.parametrize("name", NAMES)
def test_the_kernels_are_right_at_these_sizes(name):
    assert outcome(example(name)).verdict == "right"


@pytest.mark.timeout(300)  # by the clock, on a busy machine
@pytest.mark.parametrize(("fault", "name"), [(f, n) for f, (names, _, _) in FAULTS.items() for n in names])
def test_a_fault_shows_and_is_found(fault, name):
    _, change, shows = FAULTS[fault]
    broken = change(example(name))
    found = outcome(broken)
    assert found.verdict in shows.split(" or ")
    if found.verdict == "wrong":
        assert found.wrong_tiles
    else:
        assert found.blocked and all(b.owed for b in found.blocked)
    assert verify(broken).verdict == "unsafe"
