"""The emulator and the verifier on the same mutants: what is proved safe is never stuck or wrong in any order."""

from pathlib import Path

import pytest

import warpdraft.assets
from warpdraft.backends.emulator import EmulationError, emulate_all
from warpdraft.core.document import Document, Op, OpKind
from warpdraft.core.edits import DeleteNode, Edit, EditError, MoveNode, SetField, SetPipeline, places
from warpdraft.core.store import load
from warpdraft.core.verify import verify

EXAMPLES = Path(warpdraft.assets.__file__).parent / "examples"
GROUP_WAITS = (OpKind.GROUP_WAIT, OpKind.GROUP_WAIT_READ)
PIPELINE = {"stages": (1, 2, 3), "consumer_count": (1, 4, 7, 9), "producer_count": (1, 2), "bytes": (1024,)}


def mutants(document: Document) -> dict[str, Edit]:
    """One edit each: a synchronisation left out, an op moved, a group count or a pipeline field changed.

    Works are only moved: without one the result is wrong for a reason that has nothing to do with synchronisation.
    """
    found: dict[str, Edit] = {}
    for place in places(document):
        op = place.node
        if not isinstance(op, Op):
            continue
        if op.kind is not OpKind.WORK:
            found[f"without {op.id}"] = DeleteNode(op.id)
        if op.kind in GROUP_WAITS:
            found |= {
                f"{op.id} leaves {n} open": SetField(op.id, "count", n) for n in range(4) if n != op.count
            }
        for step in (-1, 1, 2):
            if place.index + step >= 0:
                found[f"{op.id} moved by {step}"] = MoveNode(op.id, place.parent, place.index + step)
    for resource in (r for r in document.resources if r.pipeline):
        for field, values in PIPELINE.items():
            found |= {f"{resource.name}.{field} = {v}": SetPipeline(resource.name, field, v) for v in values}
    return found


def disagreements(document: Document) -> tuple[list[str], int, int]:
    """Mutants that are proved safe and not right; then how many are unsafe, and how many of these showed."""
    wrong, unsafe, shown = [], 0, 0
    for name, edit in mutants(document).items():
        try:
            mutant = edit.apply(document)
            verdict, outcome = verify(mutant).verdict, emulate_all(mutant)
        except (EditError, EmulationError):
            continue
        unsafe += verdict == "unsafe"
        shown += verdict == "unsafe" and outcome.verdict != "right"
        if verdict == "safe" and outcome.verdict != "right":
            wrong.append(f"{name}: {outcome.verdict} in order {outcome.order}")
    return wrong, unsafe, shown


def test_mutants_of_the_copy():
    wrong, unsafe, shown = disagreements(load(EXAMPLES / "tma_copy.warpdraft.json"))
    assert not wrong
    assert unsafe > 25 and shown > 0.8 * unsafe


@pytest.mark.slow  # two minutes each
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["gemm", "persistent_gemm"])
def test_mutants_of_the_gemms(name):
    wrong, unsafe, shown = disagreements(load(EXAMPLES / f"{name}.warpdraft.json"))
    assert not wrong
    assert unsafe > 60 and shown > 0.8 * unsafe
