"""WD204  phase-error: a wait names another phase than the one that its pair completes."""

from __future__ import annotations

from collections.abc import Iterator

from ..describe import phase
from ..document import Mbarrier
from ..findings import Finding
from ..program import EventKind
from ..run import Run, join_clocks, prefix_steps
from .base import Hazard, error, unique
from .examples import document, mbar_arrive, mbar_wait, task
from .places import resources_of, where

CODE, NAME = "WD204", "phase-error"


def examine(run: Run) -> Iterator[Finding]:
    """Waits that passed at another generation than they mean, and waits stuck on the parity that has just gone by."""
    for i in run.incidents("alias"):
        place = where(run, i.stream, i.index)
        name = run.barrier(i.barrier).name
        yield error(
            CODE,
            NAME,
            f"{place} means {phase(i.generation)} of {name}, but passes at {phase(i.passed)}",
            ops=(run.event(i.stream, i.index).op,),
            resources=resources_of(run, i.barrier),
            tasks=(run.task(i.stream),),
            expected=phase(i.generation),
            actual=phase(i.passed),
            notes=("the hardware compares one parity bit: two phases apart look the same",),
            witness=prefix_steps(
                run, join_clocks(run, (i.stream, i.index, i.base)), [(i.stream, i.index, "")]
            ),
        )
    for i in run.incidents("stale"):
        name = run.barrier(i.barrier).name
        yield error(
            CODE,
            NAME,
            f"{where(run, i.stream, i.index)} passes at {phase(i.generation)} of {name}, which this warp has seen before: "
            f"it does not wait for {phase(i.generation + 1)}",
            ops=(run.event(i.stream, i.index).op,),
            resources=resources_of(run, i.barrier),
            tasks=(run.task(i.stream),),
            expected=f"parity {(i.generation + 1) & 1}",
            actual=f"parity {i.generation & 1}",
            notes=(
                "flip the parity after every completed wait, and carry it over from one tile to the next",
            ),
            witness=prefix_steps(
                run, join_clocks(run, (i.stream, i.index, i.base)), [(i.stream, i.index, "")]
            ),
        )
    for w, event in run.blocked():
        if event.kind is EventKind.WAIT and event.number is None:
            yield from _wrong_parity(run, w)


def _wrong_parity(run: Run, w: int) -> Iterator[Finding]:
    j = run.execution.at[w] + 1
    event = run.event(w, j)
    done = run.execution.state[event.barrier].completed
    seen = _phases_seen(run, w, event.barrier, j)
    if done == 0 or done <= seen:
        return  # no phase has completed that this warp has not seen: it waits for something to come
    name = run.barrier(event.barrier).name
    yield error(
        CODE,
        NAME,
        f"{where(run, w, j)} waits for parity {event.parity} of {name}, but the phase it has not seen yet, "
        f"{phase(done - 1)}, has parity {(done - 1) & 1}",
        ops=unique((event.op,)),
        resources=resources_of(run, event.barrier),
        tasks=(run.task(w),),
        expected=f"parity {(done - 1) & 1}",
        actual=f"parity {event.parity}",
        notes=("carry stage and phase over from one tile to the next",),
        witness=prefix_steps(run, run.execution.at, [(w, j, "")]),
    )


def _phases_seen(run: Run, w: int, b: int, j: int) -> int:
    """How many phases of ``b`` had completed when stream ``w`` last passed a wait on it (-1: it never did)."""
    return run.execution.passed.get((w, b), -1)


def _copy(parity_of_second_tile: int):
    return document(
        "parity restarts with each tile",
        task("producer", 0, 1, mbar_arrive("ready"), mbar_wait("taken"), mbar_arrive("ready")),
        task(
            "consumer",
            4,
            1,
            mbar_wait("ready", parity=0),
            mbar_arrive("taken"),
            mbar_wait("ready", parity=parity_of_second_tile),
        ),
        mbarriers=(Mbarrier("ready", 1), Mbarrier("taken", 1)),
        symbols=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Each wait names the phase that its pair completes; parity carries over from tile to tile.",
    why="A wait tests one parity bit. With the wrong one it passes at once, on old data, or never.",
    bad=_copy(0),
    good=_copy(1),
    examine=examine,
)
