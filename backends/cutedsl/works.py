"""Lowers works: the queue's own, views, and stock bodies by their names."""

from __future__ import annotations

from warpdraft.core.document import Op, Resource, Space, Work
from warpdraft.core.footprints import engine_of
from warpdraft.core.op_integers import chosen
from warpdraft.core.schedulers import fences_itself, has_slots
from warpdraft.core.tensor_core import COMMITTED
from warpdraft.core.tree import find_work

from .. import vocabulary
from .bodies import BODIES
from .bodies.body import WorkCall
from .errors import LoweringError
from .own import lower_own
from .syntax import Comment, Expression, Line, Statement, assign, binary, expression
from .task import TaskBuilder
from .tokens import StageView


def lower_work(task: TaskBuilder, op: Op) -> tuple[Statement, ...]:
    """The statements of one work op."""
    resource = task.resource(op)
    work = find_work(resource, op.work)
    if work is None:
        raise LoweringError(f"{resource.name} has no work {op.work!r}", op.id)
    if op.ctas and engine_of(resource, work) in COMMITTED:
        raise LoweringError(
            "an MMA of a pair is lowered by its pipelines: give one the layout, leave cta= out", op.id
        )
    if resource.space is Space.QUEUE:
        return _queue(task, op, resource, work)
    if resource.space is Space.PDL and not work.body:
        method = "wait_grid" if work.role == "consumer" else "launch_dependents"
        return (Line(task.operation(method, op), op=op.id),)
    if work.view:
        return _view(task, op, resource, work)
    body = BODIES.get(work.body)
    if body is None:
        what = f"{resource.name}.{work.name}"
        target = task.document.target
        known = ", ".join(sorted(n for n in BODIES if target in vocabulary.BODIES[n].targets))
        if work.code:
            return lower_own(WorkCall(task, op, resource, work))
        if not work.body:
            raise LoweringError(f"{what} has no body; stock bodies are {known}", op.id)
        raise LoweringError(
            f"{what}: body {work.body!r} is not one of {known}, and the document does not have its source",
            op.id,
        )
    call = WorkCall(task, op, resource, work)
    call.stock(vocabulary.check, task.document, resource, work)
    return body.lower(call)


def _view(task: TaskBuilder, op: Op, resource: Resource, work: Work) -> tuple[Statement, ...]:
    """A view touches nothing: it notes the stage, in a variable where the stage moves."""
    stage = task.stage(resource, work.role, op)
    if resource.pipeline is None and isinstance(chosen(op.stage), int):
        for result in op.results:
            task.bind(result, StageView(resource, stage))
        return (Comment(f"op {op.id}: stage {chosen(op.stage)} of {resource.name}"),)
    names = [task.variable(result) for result in op.results]
    for result, name in zip(op.results, names, strict=True):
        task.bind(result, StageView(resource, expression(name)))
    targets = tuple(expression(name) for name in names)
    return (Line(stage, targets, op.id, f"stage of {resource.name}"),) if targets else ()


def _queue(task: TaskBuilder, op: Op, queue: Resource, work: Work) -> tuple[Statement, ...]:
    """A static persistent queue: CTAs take tiles in turn; a dynamic one: they ask, and read what they are answered."""
    if has_slots(queue) and op.work == "fetch_work_tile":
        ring, slot = _slot(task, queue, work, op)
        barrier = binary(f"{ring}.full", "+", task.stage(queue, "producer", op))
        line = task.operation("request_tile", op, barrier, slot, task.module.cluster.size)
        return (Line(line, op=op.id),)
    tile = task.work_tile(queue.name)
    if op.work == "init_work_tile":
        return (assign(tile, expression("block"), op.id),)
    if has_slots(queue) and op.work == "get_and_advance_work_tile":
        _, slot = _slot(task, queue, work, op)
        fence = fences_itself(queue, work)
        return (assign(tile, task.operation("read_tile", op, slot, task.module.cluster.size, fence), op.id),)
    if op.work == "get_and_advance_work_tile":
        return (assign(tile, binary(tile, "+", "blocks"), op.id),)
    raise LoweringError(f"{queue.name}.{op.work} is no work of a queue that is lowered", op.id)


def _slot(task: TaskBuilder, queue: Resource, work: Work, op: Op) -> tuple[str, Expression]:
    """The queue's barriers, and the place of a response (16 bytes)."""
    storage = task.module.storage
    slots = storage.responses.get(queue.name)
    if slots is None:
        raise LoweringError(f"{queue.name}: responses that have storage of their own are not lowered", op.id)
    return storage.rings[queue.name], binary(slots, "+", task.stage(queue, work.role, op))
