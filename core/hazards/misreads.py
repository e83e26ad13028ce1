"""Which reads of an execution find something else than the schedule means, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..document import Document, Loop, OpKind
from ..races import Misread
from ..run import Run
from ..tree import find_resource, find_work, made_once, ops_of, placed
from ..unroll import trip_count


def misreads(run: Run, *, unwritten: bool) -> Iterator[Misread]:
    """Reads of what nobody wrote, or of the bytes of another use. None where phases or accesses are out of order anyway."""
    if run.execution.incidents:
        return
    racing = {r.access.resource for pair in run.execution.races.found.values() for r in pair}
    for found in run.execution.races.misread.values():
        if (found.last is None) is unwritten and found.read.access.resource not in racing:
            yield found


@made_once
def filled(document: Document) -> tuple[str, ...]:
    """The resources that the schedule itself is to fill: some task writes them, or commits stages that it could fill. What
    no task writes comes from outside."""
    ops = {(o.target, o.kind, o.work) for t in document.tasks for o in ops_of(t)}
    committed = {name for name, kind, _ in ops if kind is OpKind.COMMIT}
    found = []
    for r in document.resources:
        works = [w.name for w in r.works if w.role == "producer" and not (w.auxiliary or w.view)]
        stored = works and r.pipeline and r.storage and r.name in committed
        if stored or any((r.name, OpKind.WORK, name) in ops for name in works):
            found.append(r.name)
    return tuple(found)


@made_once
def writers(document: Document, name: str) -> tuple[str, ...]:
    """The ids of the ops that write resource ``name``."""
    resource = find_resource(document, name)
    return tuple(
        op.id
        for task in document.tasks
        for op in ops_of(task)
        if op.target == name
        and op.kind is OpKind.WORK
        and getattr(find_work(resource, op.work), "role", "") == "producer"
    )


def idle_loops(run: Run, ids: Sequence[str]) -> list[str]:
    """The loops around ops ``ids`` that run zero times in this execution."""
    values = dict(run.program.values)
    return [loop.id for loop in _loops_around(run.document, ids) if trip_count(loop, values) == 0]


@made_once
def _loops_around(document: Document, ids: Sequence[str]) -> tuple[Loop, ...]:
    parents = (p for found in placed(document) if found.node.id in ids for p in found.parents)
    return tuple({p.id: p for p in parents if isinstance(p, Loop)}.values())
