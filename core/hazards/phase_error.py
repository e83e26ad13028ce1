"""WD204  phase-error: a wait names another phase than the one that its pair completes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ..describe import phase
from ..diagnosis import CONTRIBUTIONS
from ..document import Mbarrier
from ..findings import Finding
from ..program import EventKind
from ..run import Run, places_before, prefix_steps
from .base import Hazard, error, unique
from .examples import document, mbar_arrive, mbar_wait, task
from .nearby import nearby
from .places import lapped, resources_of, where

CODE, NAME = "WD204", "phase-error"
CARRIED = "carry stage and phase over from one tile to the next"


def examine(run: Run) -> Iterator[Finding]:
    """Waits that pass at another generation than they mean, and waits stuck on the parity that has just gone by."""
    for i in run.incidents("alias"):
        yield _passes(run, i.stream, i.index, i.barrier, i.generation, i.passed)
    for i in run.incidents("early_pass", "overrun"):
        yield from _repeated(run, i.stream, i.index)
    for i in run.incidents("stale"):
        yield _passes(run, i.stream, i.index, i.barrier, i.generation + 1, i.generation)
    for w, event in run.blocked():
        if event.kind is EventKind.WAIT and event.number is None:
            yield from _wrong_parity(run, w)
    if not run.wrong:
        yield from _out_of_turn(run)


def _passes(run: Run, w: int, j: int, b: int, meant: int, passed: int) -> Finding:
    name = run.barrier(b).name
    return error(
        CODE,
        NAME,
        f"{where(run, w, j)} means {phase(meant)} of {name}, but passes at {phase(passed)}",
        ops=(run.event(w, j).op,),
        resources=resources_of(run, b),
        tasks=(run.task(w),),
        expected=f"{phase(meant)}, parity {meant & 1}",
        actual=f"{phase(passed)}, parity {passed & 1}",
        notes=(
            "the hardware compares one parity bit: flip it after every completed wait, and carry it over from one tile "
            "to the next",
        ),
        witness=prefix_steps(run, places_before(run, w, j), [(w, j, "")]),
    )


def _repeated(run: Run, w: int, j: int) -> Iterator[Finding]:
    """Around a wait that others do not keep to: one that names the parity of the wait before it, though its warp has
    signalled in between."""
    events, barrier = run.program.streams[w].events, run.event(w, j).barrier
    waits = [i for i, e in enumerate(events, 1) if e.kind is EventKind.WAIT and e.barrier == barrier]
    for before, place in pairwise(waits):
        parity = run.event(w, place).parity
        if j not in (before, place) or parity is None or run.event(w, before).parity != parity:
            continue
        if any(e.kind in CONTRIBUTIONS for e in events[before : place - 1]):
            yield _again(run, w, before, place)


def _again(run: Run, w: int, before: int, j: int) -> Finding:
    event = run.event(w, j)
    return error(
        CODE,
        NAME,
        f"{where(run, w, j)} waits for parity {event.parity} of {run.barrier(event.barrier).name}, as "
        f"{where(run, w, before)} did before: the phase that comes next has parity {1 - event.parity}",
        ops=(event.op,),
        resources=resources_of(run, event.barrier),
        tasks=(run.task(w),),
        expected=f"parity {1 - event.parity}",
        actual=f"parity {event.parity}",
        notes=(CARRIED,),
        witness=prefix_steps(run, places_before(run, w, j), [(w, j, "")]),
    )


def _out_of_turn(run: Run) -> Iterator[Finding]:
    """Nothing hangs or races, but a warp that waits as often as the barrier completes sees one phase twice: it works on
    old data."""
    for (w, b), every in run.execution.parities.items():
        passes = _without_repeats(run, w, every)
        done, fresh = run.execution.state[b].completed, passes[0][1] == 0
        if len(passes) not in ((done, done + 1) if fresh else (done,)):
            continue
        for turn, (j, phases) in enumerate(passes):
            if phases != turn + (0 if fresh else 1):
                yield _passes(run, w, j, b, turn - fresh, phases - 1)
                break


def _without_repeats(run: Run, w: int, passes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """``passes`` without waits that ask for the same phase again: nothing that the warp did in between could have let
    the others start the next one."""
    events, kept = run.program.streams[w].events, passes[:1]
    for (before, seen), (j, phases) in pairwise(passes):
        if phases != seen or any(e.kind in CONTRIBUTIONS for e in events[before : j - 1]):
            kept.append((j, phases))
    return kept


def _wrong_parity(run: Run, w: int) -> Iterator[Finding]:
    j = run.execution.at[w] + 1
    event = run.event(w, j)
    done = run.execution.state[event.barrier].completed
    seen = run.execution.passed.get((w, event.barrier), -1)
    if done == 0 or done <= seen:
        return  # no phase has completed that this warp has not seen: it waits for something to come
    if lapped(run, w, event) is not None:
        return
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
        notes=(CARRIED,),
        witness=prefix_steps(run, run.execution.at, [(w, j, "")]),
    )


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
    repair=nearby,
)
