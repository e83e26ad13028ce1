"""WD210  unbalanced: stages are committed that nobody consumes."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import OpKind
from ..expressions import Operation
from ..findings import Finding, Severity
from ..program import EventKind
from ..run import Run
from ..tree import ops_of
from .base import Hazard, plural, unique
from .examples import K, acquire, commit, document, fence, loop, release, ring, task, wait, work
from .nearby import nearby

CODE, NAME = "WD210", "unbalanced"


def examine(run: Run) -> Iterator[Finding]:
    """Phases of full that completed and that no consumer waits for: an error where a producer is stuck behind them."""
    if run.execution.stopped:
        return
    left: dict[str, list[int]] = {}
    for b, barrier in enumerate(run.program.barriers):
        if barrier.side == "full" and _unseen(run, b):
            left.setdefault(barrier.resource, []).append(barrier.stage)
    stuck = [run.barrier(e.barrier) for _, e in run.blocked()] if left else []
    for resource, stages in left.items():
        if _has(run, resource, OpKind.WAIT):
            behind = any(b.resource == resource and b.side == "empty" and b.stage in stages for b in stuck)
            if behind and _asked(run, resource):
                continue  # what lacks is a release, and the hang says so
            yield _finding(run, resource, len(stages), behind)


def _has(run: Run, resource: str, kind: OpKind) -> bool:
    return any(o.target == resource and o.kind is kind for t in run.document.tasks for o in ops_of(t))


def _unseen(run: Run, b: int) -> bool:
    """Whether the last completed phase of ``b`` was not waited for, and will not be."""
    done = run.execution.state[b].completed
    if not done or run.execution.waits[b]:
        return False
    ahead = (
        e
        for w, s in enumerate(run.program.streams)
        for e in s.events[run.execution.at[w] :]
        if e.barrier == b and e.kind is EventKind.WAIT
    )
    return next(ahead, None) is None


def _asked(run: Run, resource: str) -> bool:
    """Whether each consumer waits as often as phases of full have completed: for one of them again and again."""
    full = [
        b
        for b, found in enumerate(run.program.barriers)
        if (found.resource, found.side) == (resource, "full")
    ]
    done = sum(run.execution.state[b].completed for b in full)
    waits = [
        sum(e.kind is EventKind.WAIT and e.barrier in full for e in s.events) for s in run.program.streams
    ]
    return all(count >= done for count in waits if count)


def _finding(run: Run, resource: str, count: int, stuck: bool) -> Finding:
    kinds = (OpKind.COMMIT, OpKind.WAIT)
    ops = [o for t in run.document.tasks for o in ops_of(t) if o.target == resource and o.kind in kinds]
    tasks = [t.name for t in run.document.tasks if any(o in ops for o in ops_of(t))]
    return Finding(
        CODE,
        NAME,
        Severity.ERROR if stuck else Severity.WARNING,
        f"{plural(count, 'stage')} of {resource} committed at the end that no consumer waits for"
        + (": the producer is stuck behind them" if stuck else ""),
        ops=unique(o.id for o in ops),
        resources=(resource,),
        tasks=tuple(tasks),
        expected="as many commits as releases",
        actual=f"{plural(count, 'commit')} too many",
    )


def _loops(more: int):
    stop = Operation("+", K, more) if more else K
    return document(
        "the producer runs one stage ahead of the consumer" if more else "as many commits as waits",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"), stop=stop)),
        task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab"))),
        resources=(ring(),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Commits and releases are balanced at the end of a kernel, and of a tile where the barrier is used again.",
    why="What is left over shifts every later phase by one: the next tile waits for a stage that nobody gives back.",
    bad=_loops(1),
    good=_loops(0),
    examine=examine,
    repair=nearby,
)
