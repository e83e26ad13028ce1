"""WD411  stale-read: a read finds the bytes of another use of the stage than the one that it waited for."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import GuardKind
from ..findings import Finding
from ..races import Misread
from ..run import Run, prefix_steps
from .base import Hazard, error, unique
from .examples import acquire, channel, commit, document, guard, loop, release, task, wait, work
from .misreads import misreads
from .nearby import nearby
from .places import accessed, where

CODE, NAME = "WD411", "stale-read"


def examine(run: Run) -> Iterator[Finding]:
    """Reads that do not see the write with which their wait pairs them (I2)."""
    return (_finding(run, found) for found in misreads(run, unwritten=False))


def _finding(run: Run, found: Misread) -> Finding:
    read, last = found.read, found.last
    clock = list(read.base[: len(run.program.streams)])
    clock[read.stream] = read.index - 1
    return error(
        CODE,
        NAME,
        f"{where(run, read.stream, read.index)} reads {accessed(read)} for phase {found.meant}, but finds what "
        f"{where(run, last.stream, last.index)} wrote for phase {found.found}",
        ops=unique((read.event.op, last.event.op)),
        resources=unique((read.access.resource, last.access.resource)),
        tasks=unique((run.task(read.stream), run.task(last.stream))),
        expected=f"a write between acquire and commit of phase {found.meant}",
        actual=f"the last one was for phase {found.found}",
        witness=prefix_steps(run, clock, [(read.stream, read.index, "")]),
    )


def _ring(*body, name: str):
    return document(
        name,
        task("load", 0, 1, loop(acquire("x"), *body, commit("x"))),
        task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"))),
        resources=(channel("x", stages=1),),
    )


_FILL = work("x", "fill")

HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="A read sees the write that its phase of the pipeline pairs it with.",
    why="Barriers and bytes are in order, and the numbers are those of an earlier iteration.",
    bad=_ring(
        guard(GuardKind.EVERY, _FILL, loop="k", period=2), name="every second stage is handed on unfilled"
    ),
    good=_ring(_FILL, name="every stage is filled"),
    examine=examine,
    repair=nearby,
)
