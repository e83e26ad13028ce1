"""Splitting a load task: two warps fill the same ring side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..arrivals import derived_empty_count, derived_full_count
from ..document import Document, Op, OpKind, Resource, Space, Task, Token
from ..tree import find_resource, find_work, walk
from . import trees
from .base import (
    Edit,
    EditError,
    FreshIds,
    check_new_name,
    resource_named,
    task_named,
    with_resource,
    with_task,
)
from .nodes import renumbered

_SHARED_BARRIERS = {
    OpKind.BARRIER_SYNC,
    OpKind.BARRIER_ARRIVE,
    OpKind.MBARRIER_INIT,
    OpKind.MBARRIER_INVAL,
    OpKind.MBARRIER_ARRIVE,
    OpKind.MBARRIER_EXPECT,
    OpKind.MBARRIER_ARRIVE_EXPECT,
    OpKind.TCGEN05_COMMIT,
    OpKind.CP_ASYNC_ARRIVE,
    OpKind.CP_ASYNC_ARRIVE_NOINC,
}


@dataclass(frozen=True, slots=True)
class SplitTask(Edit):
    """Move the producer works ``works`` of one ring from ``task`` into a new task ``name`` on warps from ``warp_idx``.

    Each half keeps the loops, the consumer works whose values it uses, and an acquire and commit of its own; copies find
    their stage as before. Counts left to derive stay so; declared ones grow by what the new task adds.

    before: ``load: loop k: [coord_a, coord_b, acquire, load_a, load_b, commit]``
    after ``SplitTask("load", ("load_b",), "load_b", 1)``:
    ``load: loop k: [coord_a, acquire, load_a, commit]`` and ``load_b: loop k: [coord_b, acquire, load_b, commit]``
    """

    task: str
    works: tuple[str, ...]
    name: str
    warp_idx: int

    def apply(self, document: Document) -> Document:
        task = task_named(document, self.task)
        check_new_name(self.name, (t.name for t in document.tasks), "task")
        ring = self._ring(document, task)
        if any(isinstance(n, Op) and n.kind in _SHARED_BARRIERS for n in walk(task.body)):
            raise EditError(f"{task.name} meets other tasks at a barrier: its participants would change")
        kept = _half(document, task, lambda op: not self._moves(op, ring))
        moved = _half(document, task, lambda op: self._goes_along(document, task, op, ring))
        ids = FreshIds(document, self.name)
        new: dict[str, str] = {}
        twin = replace(
            moved,
            name=self.name,
            warp_idx=self.warp_idx,
            body=tuple(renumbered(node, ids, new) for node in moved.body),
            source=None,
        )
        position = document.tasks.index(task) + 1
        changed = with_task(document, kept)
        changed = replace(changed, tasks=(*changed.tasks[:position], twin, *changed.tasks[position:]))
        return _raise_counts(document, changed)

    def _moves(self, op: Op, ring: Resource) -> bool:
        return op.kind is OpKind.WORK and op.target == ring.name and op.work in self.works

    def _goes_along(self, document: Document, task: Task, op: Op, ring: Resource) -> bool:
        """The moved works, what opens and closes their bracket, and everything that the task reads."""
        if op.target == ring.name:
            return op.kind is not OpKind.WORK or op.work in self.works
        resource = find_resource(document, op.target)
        written = resource is not None and resource.name in task.dst and resource.space is not Space.QUEUE
        return not written

    def _ring(self, document: Document, task: Task) -> Resource:
        """The one resource that has all of the works; EditError where the works do not split a ring in two halves."""
        if not self.works:
            raise EditError("choose the works that go to the new task")
        ops = [n for n in walk(task.body) if isinstance(n, Op) and n.kind is OpKind.WORK]
        rings = {op.target for op in ops if op.work in self.works and op.target in task.dst}
        missing = set(self.works) - {op.work for op in ops if op.target in rings}
        if missing:
            raise EditError(f"{task.name} writes nothing with {min(missing)}")
        if len(rings) != 1:
            raise EditError("the works must belong to one ring")
        ring = resource_named(document, rings.pop())
        if ring.pipeline is None:
            raise EditError(f"{ring.name} has no pipeline to share between two tasks")
        made = {op.work for op in ops if op.target == ring.name and _is_producer(ring, op)}
        if not made - set(self.works):
            raise EditError(f"{task.name} would have nothing left to write to {ring.name}")
        return ring


def _is_producer(resource: Resource, op: Op) -> bool:
    work = find_work(resource, op.work)
    return work is not None and work.role == "producer"


def _half(document: Document, task: Task, keep) -> Task:
    """``task`` with the ops that ``keep`` accepts, less consumer works whose values only the others used."""
    needed_before = _unused(document, task, task.body)
    body = trees.change_nodes(task.body, lambda n: (n,) if not isinstance(n, Op) or keep(n) else ())
    while True:
        idle = _unused(document, task, body) - needed_before
        smaller = trees.change_nodes(body, lambda n, idle=idle: () if _drops(n, idle) else (n,))
        if smaller is body:
            break
        body = smaller
    body = _without_idle_waits(task, body)
    used = {n.target for n in walk(body) if isinstance(n, Op)}
    used |= {getattr(n, "queue", "") for n in walk(body)}
    return replace(
        task,
        body=body,
        src=tuple(n for n in task.src if n in used),
        dst=tuple(n for n in task.dst if n in used),
    )


def _drops(node, idle: set[str]) -> bool:
    return node.id in idle if isinstance(node, Op) else not node.body


def _unused(document: Document, task: Task, body: trees.Body) -> set[str]:
    """Ids of works that only read, and none of whose results another op takes. A queue's works drive the loop: they stay."""
    taken = {v.name for n in walk(body) if isinstance(n, Op) for _, v in n.args if isinstance(v, Token)}
    out = set()
    for op in (n for n in walk(body) if isinstance(n, Op) and n.kind is OpKind.WORK and n.results):
        resource = find_resource(document, op.target)
        queue = resource is not None and resource.space is Space.QUEUE
        if op.target not in task.dst and not queue and taken.isdisjoint(op.results):
            out.add(op.id)
    return out


def _without_idle_waits(task: Task, body: trees.Body) -> trees.Body:
    """Less the waits and releases of pipelines whose every work went to the other half."""
    before = {n.target for n in walk(task.body) if isinstance(n, Op) and n.kind is OpKind.WORK}
    after = {n.target for n in walk(body) if isinstance(n, Op) and n.kind is OpKind.WORK}
    gone = before - after
    return trees.change_nodes(
        body, lambda n: () if (n.target in gone if isinstance(n, Op) else not n.body) else (n,)
    )


def _raise_counts(before: Document, after: Document) -> Document:
    """Declared arrival counts, raised by the arrivals that the split has added."""
    for resource in before.resources:
        pipeline = resource.pipeline
        if pipeline is None:
            continue
        full = derived_full_count(after, resource) - derived_full_count(before, resource)
        empty = derived_empty_count(after, resource) - derived_empty_count(before, resource)
        if full and pipeline.producer_count is not None:
            pipeline = replace(pipeline, producer_count=pipeline.producer_count + full)
        if empty and pipeline.consumer_count is not None:
            pipeline = replace(pipeline, consumer_count=pipeline.consumer_count + empty)
        if pipeline is not resource.pipeline:
            after = with_resource(after, replace(resource, pipeline=pipeline))
    return after
