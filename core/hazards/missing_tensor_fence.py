"""WD506  missing-tcgen05-fence: a barrier orders tcgen05 work of two warps, but one of them does not fence at it."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, OpKind
from ..edits import InsertNode, places
from ..fencing import fences_nothing
from ..findings import Finding, Fix
from ..races import Pair
from ..run import Run, join_clocks, prefix_steps
from ..tree import find_task
from .base import Hazard, error, unique
from .examples import (
    acquire,
    commit,
    document,
    fence_after,
    fence_before,
    loop,
    op,
    release,
    task,
    tensor,
    wait,
    wait_ld,
    work,
)
from .missing_proxy_fence import next_crossing
from .places import accessed, verb, where

CODE, NAME = "WD506", "missing-tcgen05-fence"


def examine(run: Run) -> Iterator[Finding]:
    """Ordered accesses of tensor memory by two warps whose tasks state their fences, without the one on that side."""
    for pair, side in run.execution.fencing.missing.values():
        yield _finding(run, pair, side)


def _finding(run: Run, pair: Pair, side: str) -> Finding:
    x, y = pair
    waiting = side == "after"
    w, j = (y.stream, y.index) if waiting else (x.stream, x.index)
    task, at = run.task(w), run.event(w, j).op
    crossing = "" if waiting else next_crossing(run, w, j)
    before = f", and before {crossing}" if crossing else ""
    return error(
        CODE,
        NAME,
        f"the {verb(x)} of {accessed(x)} by {where(run, x.stream, x.index)} and the {verb(y)} of {accessed(y)} by "
        f"{where(run, y.stream, y.index)} are ordered by barriers, but {task} does not fence tcgen05 {side} them",
        ops=unique((at, y.event.op, x.event.op)),
        resources=unique((y.access.resource, x.access.resource)),
        tasks=unique((task, run.task(y.stream), run.task(x.stream))),
        expected=f"tcgen05_fence_after() between the wait and {at}"
        if waiting
        else f"tcgen05_fence_before() after {at} is complete{before}",
        actual="none",
        notes=(_why_held(run.document, task),),
        witness=prefix_steps(
            run,
            join_clocks(run, (x.stream, x.index, x.base), (y.stream, y.index, y.base)),
            [(y.stream, y.index, "")],
            [(x.stream, x.index)],
        ),
    )


def _why_held(document: Document, name: str) -> str:
    task = find_task(document, name)
    if task is not None and fences_nothing(document, task):
        return f"the stock bodies of {name} do not fence"
    return f"{name} states its tcgen05 fences elsewhere, so all of its works are held to them"


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """Fence in front of the work that waited, or of the op that hands it on."""
    wanted = OpKind.TCGEN05_FENCE_AFTER if "fence_after" in finding.expected else OpKind.TCGEN05_FENCE_BEFORE
    at = finding.ops[0] if wanted is OpKind.TCGEN05_FENCE_AFTER else finding.expected.rpartition(" ")[2]
    for place in places(document):
        if place.node.id == at:
            yield Fix(f"{wanted.value} before {at}", (InsertNode(place.parent, place.index, op(wanted)),))


def _drain(first, *rest):
    return document(
        "the epilogue fences behind every wait" if not rest else "the epilogue fences behind its first wait",
        task("mma", 0, 1, loop(acquire("acc"), fence_after(), work("acc", "mma"), commit("acc"))),
        task(
            "epilogue",
            4,
            4,
            *rest,
            loop(wait("acc"), *first, work("acc", "load"), wait_ld(), fence_before(), release("acc")),
        ),
        resources=(tensor(),),
        target="sm_100a",
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Between a barrier and the tcgen05 work that it orders stands a tcgen05 fence, on both sides; a commit is one.",
    why="tcgen05 works run on their own, and a barrier orders threads: without tcgen05.fence::after_thread_sync a load may "
    "run ahead of the wait in front of it. Tasks that state no such fence are trusted to do it inside their works, unless "
    "these are stock bodies.",
    bad=_drain((), fence_after()),
    good=_drain((fence_after(),)),
    examine=examine,
    repair=repair,
)
