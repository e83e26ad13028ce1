"""WD702  pdl-unwaited-access: memory of the preceding grid is touched before anyone has waited for that grid."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import NamedBarrier
from ..findings import Finding
from ..incidents import Note
from ..run import Run, prefix_steps
from ..tree import ops_of
from .base import Hazard, error, listed, unique
from .examples import (
    PDL_WAIT,
    acquire,
    commit,
    document,
    fence,
    loop,
    release,
    ring,
    sync,
    task,
    wait,
    wait_grid,
    work,
)
from .places import where

CODE, NAME = "WD702", "pdl-unwaited-access"


def examine(run: Run) -> Iterator[Finding]:
    """Works on what depends on the preceding grid that no ``griddepcontrol.wait`` happens before, each op once."""
    touches, seen = run.machine.grid.touches, set()
    for note in run.execution.notes:
        if note.op in touches and note.op not in seen and not grid_waited(run, note):
            seen.add(note.op)
            yield _finding(run, note, touches[note.op])


def grid_waited(run: Run, note: Note) -> bool:
    """Whether the preceding grid is known to be complete at ``note``."""
    waits, e = run.machine.grid.waits, run.execution
    return any(e.races.finished(n, note.stream, note.index, note.base) for n in e.notes if n.op in waits)


def _finding(run: Run, note: Note, resource: str) -> Finding:
    waits = [o.id for t in run.document.tasks for o in ops_of(t) if o.id in run.machine.grid.waits]
    return error(
        CODE,
        NAME,
        f"{where(run, note.stream, note.index)} touches {resource} before the preceding grid is known to be complete",
        ops=unique((note.op, *waits)),
        resources=(resource,),
        tasks=(run.task(note.stream),),
        expected="a griddepcontrol.wait by this warp, or by one that this warp has heard from since",
        actual=f"nothing orders {listed(waits)} before it" if waits else "no warp waits",
        witness=prefix_steps(run, note.base, [(note.stream, note.index, "")]),
    )


def _load(*waiting, others=()):
    return document(
        "the loader waits for the preceding grid" if waiting else "only another warp waits, and tells nobody",
        task("load", 0, 1, *waiting, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task("use", 4, 1, *others, loop(wait("ab"), work("ab", "read"), fence(), release("ab"))),
        resources=(ring(), PDL_WAIT),
        barriers=(NamedBarrier("meet", 1, 64),),
        graph=(("pdl_wait", "ab"),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Whoever reads what the preceding grid wrote, or writes what it uses, waits for that grid first, or hears from one "
    "that did.",
    why="With dependent launch this grid starts while the preceding one still runs: it reads what is not there yet, or "
    "overwrites what is still in use, whenever the two happen to overlap.",
    bad=_load(others=(wait_grid(),)),
    good=_load(wait_grid(), sync("meet"), others=(sync("meet"),)),
    examine=examine,
)
