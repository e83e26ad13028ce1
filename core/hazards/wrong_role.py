"""WD101  wrong-role: a task reads a resource that it does not declare as source, or writes one that is no destination."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..document import Document, Op, Task
from ..edits import SetTask
from ..findings import Finding, Fix
from ..tree import ops_of
from .base import Hazard, error
from .examples import acquire, commit, document, fence, loop, release, ring, task, wait, work
from .places import side_of

CODE, NAME = "WD101", "wrong-role"
SIDES = {"src": ("reads", "src_resources"), "dst": ("writes", "dst_resources")}


def check(document: Document) -> Iterator[Finding]:
    """Uses of a resource in a role that the task did not declare, once for each task and resource."""
    for t in document.tasks:
        seen = set()
        for op in ops_of(t):
            side = side_of(document, op)
            if not side or op.target in getattr(t, side) or (op.target, side) in seen:
                continue
            seen.add((op.target, side))
            yield _finding(t, op, side)


def _finding(task: Task, op: Op, side: str) -> Finding:
    does, declared = SIDES[side]
    has = ", ".join(getattr(task, side)) or "none"
    return error(
        CODE,
        NAME,
        f"{task.name} {does} {op.target} at {op.id}, which is not in its {declared}",
        ops=(op.id,),
        resources=(op.target,),
        tasks=(task.name,),
        expected=f"{op.target} in {declared}",
        actual=has,
    )


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """Declare it."""
    side = next(s for s, (_, words) in SIDES.items() if words in finding.expected)
    for t in document.tasks:
        if t.name in finding.tasks:
            wanted = (*getattr(t, side), *finding.resources)
            yield Fix(f"add {finding.expected} of {t.name}", (SetTask(t.name, side, wanted),))


def _copy(declares: bool):
    found = document(
        "load declares what it writes" if declares else "load does not declare what it writes",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab"))),
        resources=(ring(),),
    )
    return found if declares else replace(found, tasks=(replace(found.tasks[0], dst=()), found.tasks[1]))


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="A task reads only its source resources and writes only its destination resources.",
    why="Lowering hands each task the pipeline states of what it declares: an undeclared use has no state to follow.",
    bad=_copy(False),
    good=_copy(True),
    check=check,
    repair=repair,
)
