"""WD208  participation: the warps that reach a named barrier are not those that its count needs."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, NamedBarrier
from ..edits import SetBarrier
from ..findings import Finding, Fix
from ..program import EventKind
from ..run import Run, join_clocks, prefix_steps
from .base import Hazard, error, listed, plural, unique
from .cohorts import MEET, cohorts, reach
from .examples import document, sync, task
from .places import where

CODE, NAME = "WD208", "participation"


def examine(run: Run) -> Iterator[Finding]:
    """Named barriers that stay open for want of warps, and those that some of the warps complete without the others."""
    for b in dict.fromkeys(e.barrier for _, e in run.blocked() if e.kind is EventKind.SYNC):
        found = reach(run, b)
        needed = run.execution.state[b].expects or run.barrier(b).count
        if sum(found.values()) < needed:
            yield _short(run, b, found, needed)
    for i in run.incidents("misassigned", "count_mismatch"):
        if i.kind == "count_mismatch" or cohorts(run, i) == MEET:
            yield _alone(run, i)


def _short(run: Run, b: int, found: dict[str, int], needed: int) -> Finding:
    blocked = [(w, e) for w, e in run.blocked() if e.barrier == b and e.kind is EventKind.SYNC]
    barrier, total = run.barrier(b), sum(found.values())
    tasks = listed(f"{t} ({plural(n, 'warp')})" for t, n in found.items())
    return error(
        CODE,
        NAME,
        f"{barrier.name} needs {32 * needed} threads, but only {tasks} can reach it: {32 * total} threads",
        ops=unique(e.op for _, e in blocked),
        resources=unique([barrier.resource]),
        tasks=tuple(found),
        expected=f"{32 * total} threads",
        actual=f"{32 * needed} threads",
        witness=prefix_steps(
            run, run.execution.at, [(w, run.execution.at[w] + 1, "waits for ever") for w, _ in blocked]
        ),
    )


def _alone(run: Run, i) -> Finding:
    other = i.other or (i.stream, i.index)
    barrier = run.barrier(i.barrier)
    needed = 32 * sum(reach(run, i.barrier).values())
    return error(
        CODE,
        NAME,
        f"{where(run, *other)} and {where(run, i.stream, i.index)} are to meet at {barrier.name}, but "
        f"{32 * barrier.count} threads complete it without the others",
        ops=unique((run.event(i.stream, i.index).op, run.event(*other).op)),
        resources=unique([barrier.resource]),
        tasks=unique((run.task(i.stream), run.task(other[0]))),
        expected=f"{needed} threads",
        actual=f"{32 * barrier.count} threads",
        witness=prefix_steps(run, join_clocks(run, (i.stream, i.index, i.base)), [(i.stream, i.index, "")]),
    )


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """The count of those that reach it."""
    wanted = finding.expected.split()[0]
    for barrier in document.barriers:
        if barrier.name in finding.resources and wanted.isdigit():
            yield Fix(
                f"set {barrier.name} to {wanted} threads", (SetBarrier(barrier.name, "threads", int(wanted)),)
            )


def _reduction(threads: int):
    return document(
        f"a barrier of {threads} threads inside one task of 128",
        task("reduce", 0, 4, sync("part")),
        task("load", 4, 4),
        barriers=(NamedBarrier("part", 1, threads),),
        symbols=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="The warps that reach a named, CTA or cluster barrier are those that its count needs.",
    why="A barrier with a count waits for that many threads, whether or not they exist; with too small a count it "
    "lets some through before the others have come.",
    bad=_reduction(256),
    good=_reduction(128),
    examine=examine,
    repair=repair,
)
