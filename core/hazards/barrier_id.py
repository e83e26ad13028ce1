"""WD209  barrier-id: a hardware barrier that does not exist, or that two groups of warps share without order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..document import Document, NamedBarrier
from ..edits import SetBarrier
from ..findings import Finding, Fix
from ..run import Run, join_clocks, prefix_steps
from .base import Hazard, error, unique, warning
from .cohorts import CLASH, cohorts
from .examples import document, sync, task
from .places import where

CODE, NAME = "WD209", "barrier-id"
IDS = 16  # PTX ISA, barrier{.cta}: barriers 0 .. 15


def check(document: Document) -> Iterator[Finding]:
    """Ids and thread counts that the hardware does not have."""
    for barrier in document.barriers:
        if not 0 <= barrier.id < IDS:
            yield error(
                CODE,
                NAME,
                f"{barrier.name} uses hardware barrier {barrier.id}; there are 16, numbered from 0",
                resources=(barrier.name,),
                expected="0 to 15",
                actual=str(barrier.id),
            )
        if barrier.threads < 32 or barrier.threads % 32:
            yield error(
                CODE,
                NAME,
                f"{barrier.name} counts {barrier.threads} threads; whole warps take part: a multiple of 32",
                resources=(barrier.name,),
                expected=f"{max(32, -(-barrier.threads // 32) * 32)} threads",
                actual=f"{barrier.threads} threads",
            )
    zero = [b for b in document.barriers if b.id == 0]
    if len({b.threads for b in zero}) > 1:
        yield warning(
            CODE,
            NAME,
            f"{zero[0].name} and {zero[1].name} both use hardware barrier 0, which __syncthreads() uses by convention",
            resources=tuple(b.name for b in zero),
        )


def examine(run: Run) -> Iterator[Finding]:
    """Two groups of warps whose generations on one id nothing orders."""
    for i in run.incidents("misassigned", "count_mismatch"):
        if cohorts(run, i) != CLASH:
            continue
        other = i.other or (i.stream, i.index)
        barrier = run.barrier(i.barrier)
        yield error(
            CODE,
            NAME,
            f"{where(run, i.stream, i.index)} and {where(run, *other)} use hardware barrier {barrier.name} for "
            "different meetings, and nothing orders them",
            ops=unique((run.event(i.stream, i.index).op, run.event(*other).op)),
            resources=unique([barrier.resource]),
            tasks=unique((run.task(i.stream), run.task(other[0]))),
            expected="an id for each group of warps",
            actual="one id",
            notes=("warps of one group may complete the other's generation: some go on early, others hang",),
            witness=prefix_steps(
                run, join_clocks(run, (i.stream, i.index, i.base)), [(i.stream, i.index, "")]
            ),
        )


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """A free id, or whole warps."""
    used = {b.id for b in document.barriers}
    free = next((i for i in range(1, IDS) if i not in used), None)
    shared = [b for b in document.barriers if finding.ops and b.id in _ids(document, finding)]
    if free is not None and len(shared) > 1:
        second = shared[-1]
        yield Fix(f"give {second.name} the free id {free}", (SetBarrier(second.name, "id", free),))
    for barrier in document.barriers:
        if barrier.name not in finding.resources:
            continue
        if not 0 <= barrier.id < IDS and free is not None:
            yield Fix(f"give {barrier.name} the free id {free}", (SetBarrier(barrier.name, "id", free),))
        if finding.expected.endswith("threads"):
            threads = int(finding.expected.split()[0])
            yield Fix(
                f"set {barrier.name} to {threads} threads", (SetBarrier(barrier.name, "threads", threads),)
            )


def _ids(document: Document, finding: Finding) -> set[int]:
    return {b.id for b in document.barriers if b.name in finding.resources}


def _two_groups(second: NamedBarrier):
    first = NamedBarrier("left_barrier", 1, 128)
    barriers = (first, second)
    return document(
        "two warpgroups, one hardware barrier" if second.id == 1 else "a barrier for each warpgroup",
        task("left", 0, 4, sync("left_barrier"), sync("left_barrier")),
        task("right", 4, 4, sync("right_barrier"), sync("right_barrier")),
        barriers=barriers,
        symbols=(),
    )


_SHARED = NamedBarrier("right_barrier", 1, 128)

HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Named barriers have ids 0..15 and whole warps, and no two unordered groups of warps use one id.",
    why="The hardware has sixteen barriers a CTA and counts threads, not names: two meetings on one id mix.",
    bad=_two_groups(_SHARED),
    good=_two_groups(replace(_SHARED, id=2)),
    check=check,
    examine=examine,
    repair=repair,
)
