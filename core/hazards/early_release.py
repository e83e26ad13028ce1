"""WD403  early-release: a stage is released while an asynchronous read of it is in flight."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Guard, Node, OpKind
from ..edits import DeleteNode, InsertNode, MoveNode, Place, body_of, places
from ..findings import Finding, Fix
from ..run import Run
from ..tree import Placed, find_node, walk
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
from .nearby import nearby

CODE, NAME = "WD403", "early-release"
WAITS = (OpKind.GROUP_WAIT, OpKind.GROUP_WAIT_READ)


def examine(run: Run) -> Iterator[Finding]:
    """Refills of a stage under an asynchronous read."""
    return races(run, CODE, NAME)


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """Move the release, or the guard around it, behind the next group wait; or wait for the group in front of it."""
    found = find_node(document, finding.ops[0]) if finding.ops else None
    if found is not None and getattr(found.node, "kind", None) is OpKind.RELEASE:
        yield from _release_later(document, found)
    yield from nearby(document, finding)


def _release_later(document: Document, found: Placed) -> Iterator[Fix]:
    at = {p.node.id: p for p in places(document)}
    inner: list[Node] = [
        found.node
    ]  # the release, then each guard around it as long as it holds nothing else
    for parent in reversed(found.parents):
        if not isinstance(parent, Guard) or len(parent.body) != 1:
            break
        inner.append(parent)
    for node in reversed(inner):
        body = body_of(document, at[node.id].parent) or ()
        behind = next((i for i in range(at[node.id].index + 1, len(body)) if _waits(body[i])), None)
        if behind is not None:
            title = f"release {found.node.target} after {body[behind].id}"
            yield Fix(title, (MoveNode(node.id, at[node.id].parent, behind),))
            if node is not found.node:  # the same without the guard
                yield Fix(
                    f"{title}, each time",
                    (MoveNode(found.node.id, at[node.id].parent, behind + 1), DeleteNode(node.id)),
                )
    yield from _wait_first(document, found, at[inner[-1].id])


def _waits(node: Node) -> bool:
    return getattr(node, "kind", None) in WAITS


def _wait_first(document: Document, found: Placed, place: Place) -> Iterator[Fix]:
    """Wait for all of the group that was committed last before the release."""
    commits = [n for n in walk(found.task.body) if getattr(n, "kind", None) is OpKind.GROUP_COMMIT]
    before = []
    for node in walk(found.task.body):
        if node is found.node:
            break
        before += [node.target] if node in commits else []
    if before:
        wait_op = group_wait(before[-1], 0)
        title = f"wait for all of {before[-1]} before {found.node.target} is released"
        yield Fix(title, (InsertNode(place.parent, place.index, wait_op),))


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
