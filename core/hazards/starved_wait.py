"""WD302  starved-wait: a wait for an arrival that nobody can make."""

from __future__ import annotations

from collections.abc import Iterator

from ..describe import iteration, words
from ..diagnosis import Stuck, diagnose
from ..findings import Finding
from ..program import BarrierKind, EventKind
from ..run import Run, agent_name, prefix_steps
from .base import Hazard, error, listed
from .examples import acquire, commit, document, fence, loop, release, ring, task, wait, work
from .nearby import nearby
from .places import contributors, resources_of, state, where

CODE, NAME = "WD302", "starved-wait"


def examine(run: Run) -> Iterator[Finding]:
    """The blocked warps that no other warp can free."""
    if run.execution.stopped or not run.execution.blocked:
        return
    diagnosis = diagnose(run)
    for w in diagnosis.starved:
        event = diagnosis.stuck[w].event
        if event.drain or event.kind is EventKind.REGISTERS:
            continue  # WD218, WD303 say so
        yield _finding(run, diagnosis.stuck[w], diagnosis.stuck)


def _finding(run: Run, stuck: Stuck, others: dict[int, Stuck]) -> Finding:
    w, event, b = stuck.stream, stuck.event, stuck.barrier
    j = run.execution.at[w] + 1
    text = words(event, run.program.streams[w], run.program.barriers)
    return error(
        CODE,
        NAME,
        f"{where(run, w, j)} {text}, which {_nobody(run, b)}",
        ops=(event.op,),
        resources=resources_of(run, b),
        tasks=(run.task(w),),
        expected="an arrival that completes the phase",
        actual=state(run, b),
        notes=tuple(_after(run, others, w)),
        witness=prefix_steps(run, run.execution.at, [(w, j, f"{text}, for ever")]),
    )


def _nobody(run: Run, b: int) -> str:
    makers = contributors(run, b)
    named = run.barrier(b).kind is not BarrierKind.MBARRIER
    pending = getattr(run.execution.state[b], "pending", 1)
    if not pending:
        return "has all its arrivals, but the bytes delivered are not those expected"
    if named:
        return f"lacks warps: {state(run, b)}, and the others are done or stuck"
    if not makers:
        return "no task completes"
    return f"can no longer complete: {makers} will not arrive on it again"


def _after(run: Run, others: dict[int, Stuck], w: int) -> Iterator[str]:
    """Who is stuck because of this one."""
    waiting = [u for u, s in others.items() if any(v == w for v, _ in s.owing)]
    if waiting:
        yield f"{listed(agent_name(run, u) for u in waiting)} wait in turn for {agent_name(run, w)}"
    at = iteration(run.event(w, run.execution.at[w] + 1))
    if at:
        yield f"it happens at {at}"


def _copy(*more):
    return document(
        "nobody consumes the ring" if not more else "a consumer gives the stages back",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        *more,
        resources=(ring(),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="No wait for an arrival that nobody can make.",
    why="The warp spins on the barrier for ever; the kernel never ends.",
    bad=_copy(),
    good=_copy(task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab")))),
    examine=examine,
    repair=nearby,
)
