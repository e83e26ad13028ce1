"""WD109  unknown-work: a schedule calls something that is no work of the resource."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Op, OpKind, Task
from ..findings import Finding
from ..tree import find_target, find_work, ops_of
from .base import Hazard, error, listed
from .examples import acquire, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD109", "unknown-work"
PIPELINE = (
    OpKind.ACQUIRE,
    OpKind.COMMIT,
    OpKind.TRY_ACQUIRE,
    OpKind.WAIT,
    OpKind.RELEASE,
    OpKind.TRY_WAIT,
)


def check(document: Document) -> Iterator[Finding]:
    """Unknown works, targets and stages."""
    for t in document.tasks:
        for op in ops_of(t):
            problem = _problem(document, op)
            if problem:
                message, expected = problem
                yield _finding(t, op, message, expected)


def _problem(document: Document, op: Op) -> tuple[str, str] | None:
    target = find_target(document, op.target) if op.target else None
    if op.target and target is None:
        return f"{op.id} names {op.target}, which does not exist", "a declared name"
    if op.kind is OpKind.WORK and hasattr(target, "works") and find_work(target, op.work) is None:
        names = listed(w.name for w in target.works) or "none"
        return f"{op.target} has no work {op.work}", names
    if op.kind in PIPELINE and getattr(target, "pipeline", None) is None:
        return f"{op.kind.value} of {op.target}, which has no pipeline", "a resource with a pipeline"
    stages = _stages(target)
    if op.stage is not None and stages and not 0 <= op.stage < stages:
        return f"{op.target} has no stage {op.stage}", f"a stage below {stages}"
    return None


def _stages(target) -> int:
    if getattr(target, "pipeline", None) is not None:
        return 0
    if hasattr(target, "storage"):
        return target.storage.stages if target.storage else 0
    return getattr(target, "stages", 0)


def _finding(t: Task, op: Op, message: str, expected: str) -> Finding:
    return error(
        CODE,
        NAME,
        f"{t.name}: {message}",
        ops=(op.id,),
        resources=(op.target,) if op.target else (),
        tasks=(t.name,),
        expected=expected,
        actual=op.work or op.target,
    )


def _ring(name: str):
    return document(
        f"the producer calls {name}",
        task("load", 0, 1, loop(acquire("x"), work("x", name), commit("x")), dst=("x",)),
        task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"))),
        resources=(channel("x"),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="What a schedule calls is a decorated work method of the resource.",
    why="Nothing can be lowered or checked for it: the step would silently be missing.",
    bad=_ring("fil"),
    good=_ring("fill"),
    check=check,
)
