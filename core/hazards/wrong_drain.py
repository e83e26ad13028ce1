"""WD218  wrong-drain: a task drains a pipeline that it does not fill, or of which not all is released."""

from __future__ import annotations

from collections.abc import Iterator

from ..cursors import pipeline_ops
from ..diagnosis import diagnose
from ..document import Document, GuardKind, OpKind, Task
from ..expressions import Symbol
from ..findings import Finding
from ..run import Run, agent_name, prefix_steps
from ..tree import ops_of
from .base import Hazard, error, listed, unique
from .examples import acquire, commit, document, fence, guard, loop, op, release, ring, task, wait, work
from .places import state

CODE, NAME = "WD218", "wrong-drain"


def check(document: Document) -> Iterator[Finding]:
    """Tasks that drain a pipeline which they do not fill; that acquire its stages, though another acquires and fills it."""
    used = [(t, pipeline_ops(t)) for t in document.tasks]
    kinds = OpKind.ACQUIRE, OpKind.COMMIT, OpKind.WORK, OpKind.PRODUCER_TAIL
    for name in (r.name for r in document.resources if r.pipeline):
        acquires, commits, works, tails = ((name, k) for k in kinds)
        fill = [t for t, of in used if commits in of]
        for t, of in used:
            if tails in of and commits not in of:
                yield _not_its_own(name, t, [o.id for o in ops_of(t) if (o.target, o.kind) == tails], fill)
        owners = [t for t, of in used if acquires in of and commits in of]
        for t, of in used if owners else ():
            if acquires in of and commits not in of and works not in of:
                yield error(
                    CODE,
                    NAME,
                    f"{t.name} waits for stages of {name} to be released, but it is {owners[0].name} that fills them",
                    ops=tuple(o.id for o in ops_of(t) if (o.target, o.kind) == acquires),
                    resources=(name,),
                    tasks=(t.name, owners[0].name),
                    expected=f"{owners[0].name} alone drains {name}, from the stage that its own cursor is at",
                    actual=f"{t.name} has committed nothing to it",
                )


def _not_its_own(name: str, t: Task, drained: list[str], fill: list[Task]) -> Finding:
    return error(
        CODE,
        NAME,
        f"{t.name} drains {name}, "
        + (f"but it is {listed(f.name for f in fill)} that fills it" if fill else "which nobody fills"),
        ops=tuple(drained),
        resources=(name,),
        tasks=unique((t.name, *(f.name for f in fill))),
        expected="only who fills a pipeline drains it, by its own cursor",
        actual=f"{t.name} has committed nothing to it: its cursor is at the first stage",
    )


def examine(run: Run) -> Iterator[Finding]:
    """Tasks that drain for ever: nobody releases all the stages."""
    if run.execution.stopped or not run.execution.blocked:
        return
    found: dict[str, tuple[int, int]] = {}
    diagnosis = diagnose(run)
    for stuck in (diagnosis.stuck[w] for w in diagnosis.starved):
        lapped = run.execution.state[stuck.barrier].completed > (stuck.event.number or 0)
        if stuck.event.drain and not lapped:  # WD205 speaks of the other
            found.setdefault(run.barrier(stuck.barrier).resource, (stuck.stream, stuck.barrier))
    for resource, (w, b) in found.items():
        yield _finding(run, resource, w, b)


def _finding(run: Run, resource: str, w: int, b: int) -> Finding:
    j = run.execution.at[w] + 1
    stated = any(o.id == run.event(w, j).op and o.kind is OpKind.PRODUCER_TAIL for o in ops_of(_task(run, w)))
    at_end = "" if stated else " at its end, as other CTAs arrive on it"
    ops = [
        (t.name, o.id)
        for t in run.document.tasks
        for o in ops_of(t)
        if o.target == resource and o.kind in (OpKind.WAIT, OpKind.RELEASE)
    ]
    return error(
        CODE,
        NAME,
        f"{agent_name(run, w)} drains {resource}{at_end}, but {run.barrier(b).name} is not "
        "released as often as it is filled",
        ops=unique((run.event(w, j).op, *(id for _, id in ops))),
        resources=(resource,),
        tasks=unique((run.task(w), *(name for name, _ in ops))),
        expected="every stage that was filled is released",
        actual=state(run, b),
        witness=prefix_steps(run, run.execution.at, [(w, j, "waits for ever")]),
    )


def _task(run: Run, w: int) -> Task:
    return next(t for t in run.document.tasks if t.name == run.task(w))


def _delayed(*last):
    lagging = guard(GuardKind.EVERY, release("ab"), loop="k", start=1)
    end, trips = op(OpKind.CLUSTER_SYNC), Symbol("k_tiles", 1)
    return document(
        "every stage is given back" if last else "a shared ring whose last stage is not given back",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"), stop=trips), end),
        task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), lagging, stop=trips), *last, end),
        resources=(ring(cta_layout=(1, 2, 1, 1), advance_on_wait=True),),
        symbols=(trips,),
        cluster=(2, 1, 1),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Only the task that fills a pipeline drains it, and what it drains is released: every stage that CTAs share.",
    why="A producer may not leave while consumers of other CTAs still arrive on its barriers, so it waits for all stages "
    "that it has filled: one that is never released keeps the kernel from ending.",
    bad=_delayed(),
    good=_delayed(release("ab")),
    check=check,
    examine=examine,
)
