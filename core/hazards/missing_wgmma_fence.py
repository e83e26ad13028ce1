"""WD505  missing-wgmma-fence: a wgmma uses registers that the warp has accessed with no wgmma.fence between."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, OpKind
from ..edits import InsertNode, places
from ..fencing import Unfenced
from ..findings import Finding, Fix
from ..run import Run, places_before, prefix_steps
from .base import Hazard, error, unique
from .examples import (
    MMA,
    accumulator,
    acquire,
    commit,
    document,
    group_commit,
    group_wait,
    loop,
    op,
    release,
    ring,
    task,
    wait,
    work,
)
from .places import where

CODE, NAME = "WD505", "missing-wgmma-fence"


def examine(run: Run) -> Iterator[Finding]:
    """wgmmas of tasks that state their fences, without one."""
    return (_finding(run, found) for found in run.execution.fencing.wgmma.values())


def _finding(run: Run, found: Unfenced) -> Finding:
    event, task = run.event(found.stream, found.index), run.task(found.stream)
    since = f" since {found.touched} accessed {found.resource}" if found.touched else " yet"
    clock = places_before(run, found.stream, found.index)
    return error(
        CODE,
        NAME,
        f"the wgmma of {where(run, found.stream, found.index)} has no wgmma.fence before it{since}",
        ops=unique((event.op, found.touched)),
        resources=unique((found.resource or event.accesses[-1].resource,)),
        tasks=(task,),
        expected=f"wgmma_fence() between {found.touched or 'the start'} and {event.op}",
        actual="none",
        notes=(f"{task} states its wgmma fences elsewhere, so all of its works are held to them",),
        witness=prefix_steps(run, clock, [(found.stream, found.index, "")]),
    )


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """Fence in front of the wgmma."""
    for place in places(document):
        if finding.ops and place.node.id == finding.ops[0]:
            yield Fix(
                f"wgmma_fence before {place.node.id}",
                (InsertNode(place.parent, place.index, op(OpKind.WGMMA_FENCE)),),
            )


def _tiles(before, inside):
    use = loop(
        wait("ab"),
        work("ab", "tile", result="t"),
        work("acc", "mma", tile="t"),
        group_commit("mma_group"),
        group_wait("mma_group"),
        release("ab"),
        stop=2,
    )
    return document(
        "accumulators are multiplied into again behind a fence"
        if inside
        else "only the first tile is fenced",
        task("load", 0, 1, loop(loop(acquire("ab"), work("ab", "load"), commit("ab"), stop=2), var="tile")),
        task("math", 4, 4, *before, loop(*inside, use, work("acc", "read"), var="tile")),
        resources=(ring(), accumulator()),
        groups=(MMA,),
    )


_FENCE = op(OpKind.WGMMA_FENCE)

HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="wgmma.fence stands before the first wgmma, and between accesses to registers and the wgmma that uses them.",
    why="wgmma touches registers on its own time: without the fence it may read an operand before it is there, or overwrite "
    "an accumulator that is still being read. Stock bodies fence inside; tasks that state no fence are trusted to.",
    bad=_tiles((_FENCE,), ()),
    good=_tiles((), (_FENCE,)),
    examine=examine,
    repair=repair,
)
