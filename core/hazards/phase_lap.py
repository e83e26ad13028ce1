"""WD205  phase-lap: a barrier can complete the next phase before a waiter has seen this one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..arrivals import producer_signal
from ..describe import phase
from ..document import Document, Op, OpKind, Signal, Task
from ..edits import SetTask
from ..findings import Finding, Fix
from ..program import EventKind
from ..routes import TMA
from ..run import Run, agent_name, join_clocks, prefix_steps
from ..tree import find_node, find_resource
from .base import Hazard, error, unique
from .examples import acquire, channel, commit, document, loop, release, task, wait, work
from .nearby import nearby
from .places import lapped, resources_of, where

CODE, NAME = "WD205", "phase-lap"


def examine(run: Run) -> Iterator[Finding]:
    """Waits that may be passed over, and waits that were."""
    for i in run.incidents("overrun"):
        if run.barrier(i.barrier).side in ("named", "cluster") or _begins(run, i.stream, i.index):
            continue
        yield _finding(run, i.stream, i.index, i.barrier, i.generation, i.base, i.other, i.clock)
    for w, event in run.blocked():
        generation = lapped(run, w, event) if event.kind is EventKind.WAIT else None
        if generation is not None:
            j = run.execution.at[w] + 1
            yield _finding(run, w, j, event.barrier, generation, run.execution.base[w], None)


def _begins(run: Run, w: int, j: int) -> bool:
    """Whether it is an init, whose order WD211 looks at."""
    return run.event(w, j).kind is EventKind.LIFETIME


def _finding(run: Run, w: int, j: int, b: int, generation: int, base, other, passing=()) -> Finding:
    """``passing``: what the contributions of the next phase know (without: all that was executed)."""
    name = run.barrier(b).name
    ops = [run.event(w, j).op]
    message = f"{where(run, w, j)} waits for {phase(generation)} of {name}, which can complete the phase after it first"
    notes = ["the parity bit has then come round again: the wait blocks although its phase is over"]
    last = [(w, j, f"waits for {phase(generation)} of {name}, which is over")]
    clock = join_clocks(run, (w, j, base))
    if _copying_task(run.document, ops[0]) is not None and run.program.streams[w].warp:
        notes.append(
            f"only the first warp of {run.task(w)} issues its copies, the others just wait: give {run.task(w)} one warp, or "
            "put the bracket in elect_warp(0)"
        )
    if other is not None:
        ops.append(run.event(*other).op)
        notes.insert(0, f"{agent_name(run, other[0])} does not wait for it before {run.event(*other).op}")
        clock = [max(own, more) for own, more in zip(clock, passing or run.execution.at, strict=False)]
    return error(
        CODE,
        NAME,
        message,
        ops=unique(ops),
        resources=resources_of(run, b),
        tasks=unique([run.task(w), *([run.task(other[0])] if other else [])]),
        expected="the next phase completes after every waiter has passed this one",
        actual="nothing makes it wait",
        notes=tuple(notes),
        witness=prefix_steps(run, clock, last),
    )


def _copying_task(doc: Document, op_id: str) -> Task | None:
    """The task of several warps whose op ``op_id`` acquires a stage for copies, which its first warp issues."""
    found = find_node(doc, op_id)
    acquires = found is not None and isinstance(found.node, Op) and found.node.kind is OpKind.ACQUIRE
    resource = find_resource(doc, found.node.target) if acquires else None
    if resource is None or resource.pipeline is None or producer_signal(doc, resource) != TMA:
        return None
    return next((t for t in doc.tasks if t.name == found.task.name and t.num_warps > 1), None)


def repair(doc: Document, finding: Finding) -> Iterator[Fix]:
    """One warp for a task whose others only wait; else what stands nearby."""
    task = _copying_task(doc, finding.ops[0])
    if task is not None:
        yield Fix(f"give {task.name} one warp", (SetTask(task.name, "num_warps", 1),))
    yield from nearby(doc, finding)


def _led(signal: Signal):
    slot = replace(channel("slot", stages=1, producer_signal=Signal.LEADER, consumer_signal=signal))
    return document(
        "the first warp releases for all" if signal is Signal.LEADER else "each warp releases",
        task("producer", 0, 1, loop(acquire("slot"), work("slot", "fill"), commit("slot"))),
        task("consumer", 4, 4, loop(wait("slot"), release("slot"))),
        resources=(slot,),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="No barrier completes the next phase before each waiter has seen this one.",
    why="An mbarrier shows a waiter one parity bit. A warp that comes two phases late sees the old value again and hangs, "
    "once in many runs. Counting credits cannot show this.",
    bad=_led(Signal.LEADER),
    good=_led(Signal.WARP),
    examine=examine,
    repair=repair,
)
