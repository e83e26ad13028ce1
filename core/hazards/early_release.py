"""WD403  early-release: a stage is released while an asynchronous read of it is in flight."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, OpKind
from ..edits import MoveNode, places
from ..findings import Finding, Fix
from ..run import Run
from ..tree import find_node
from .base import Hazard
from .conflicts import races
from .examples import (
    MMA,
    accumulator,
    acquire,
    commit,
    document,
    group_commit,
    group_wait,
    loop,
    release,
    ring,
    task,
    wait,
    work,
)

CODE, NAME = "WD403", "early-release"
WAITS = (OpKind.GROUP_WAIT, OpKind.GROUP_WAIT_READ)


def examine(run: Run) -> Iterator[Finding]:
    """Refills of a stage under an asynchronous read."""
    return races(run, CODE, NAME)


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """Move the release behind the next group wait of its block."""
    found = find_node(document, finding.ops[0]) if finding.ops else None
    if found is None or getattr(found.node, "kind", None) is not OpKind.RELEASE:
        return
    place = next(p for p in places(document) if p.node.id == found.node.id)
    block = found.parents[-1].body if found.parents else found.task.body
    for index in range(place.index + 1, len(block)):
        if getattr(block[index], "kind", None) in WAITS:
            title = f"release {found.node.target} after {block[index].id}"
            yield Fix(title, (MoveNode(found.node.id, place.parent, index),))
            return


def _gemm(*end):
    return document(
        "the stage is released behind the wait"
        if end[-1].kind is OpKind.RELEASE
        else "the stage is released at once",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task(
            "math",
            4,
            4,
            loop(
                wait("ab"),
                work("ab", "tile", result="t"),
                work("acc", "mma", tile="t"),
                group_commit("mma_group"),
                *end,
            ),
        ),
        resources=(ring(), accumulator()),
        groups=(MMA,),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="A stage is not released while an asynchronous read of it is in flight.",
    why="wgmma and tcgen05 read shared memory after their issue: the next copy overwrites their operands.",
    bad=_gemm(release("ab"), group_wait("mma_group")),
    good=_gemm(group_wait("mma_group"), release("ab")),
    examine=examine,
    repair=repair,
)
