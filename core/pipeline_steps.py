"""What an op of a pipeline does at any use of it, looked up once for each warp: its events but for stage and generation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .arrivals import TMA, arrivals_by
from .cursors import CLOSES, OPENS
from .document import Engine, Op, OpKind, Resource, Signal, Token, Work
from .interleave import stride_of
from .leading import led_pipelines
from .program import Event, EventKind
from .schedulers import fences_itself

if TYPE_CHECKING:
    from .unroll import WarpWalk

SIDES = {
    OpKind.ACQUIRE: ("empty", "acquire"),
    OpKind.TRY_ACQUIRE: ("empty", "acquire"),
    OpKind.WAIT: ("full", "wait"),
    OpKind.TRY_WAIT: ("full", "wait"),
}
TRIES = (OpKind.TRY_ACQUIRE, OpKind.TRY_WAIT)


class Made(NamedTuple):
    """One event, on the ``barrier`` of stage 0 and those that come ``also``. ``number``: arrivals, or by how many the
    generation that is waited for is less than that of the use."""

    kind: EventKind
    barrier: int
    number: int
    bytes: int = 0
    also: tuple[int, ...] = ()
    waits: bool = False
    engine: Engine | None = None  # whose ops it comes behind
    lane: bool = False


class PipelineStep(NamedTuple):
    """The ``made`` events of an op at the use that ``cursor`` has come to, of a ring of so many ``stages``; it moves
    ``moved`` by ``stride``. ``takes``, ``gives``: works read the stage in hand without a view, from this op on, or up to
    it."""

    resource: Resource
    cursor: tuple[str, str]
    stages: int
    made: tuple[Made, ...]
    moved: tuple[str, str] | None
    stride: int
    takes: bool
    gives: bool


class WorkStep(NamedTuple):
    """A work that this warp's CTA takes part in (``active``). ``cursor``: by which its stage goes, less ``back`` uses;
    none without a pipeline. ``alone``, ``leads``: see `core.accesses`; ``fences``: it fences at once. ``made``: its events
    by stage, if they depend on nothing else that changes; None where they go by views, or it gives any."""

    resource: Resource
    work: Work
    active: bool
    cursor: tuple[str, str] | None
    back: int
    stages: int
    alone: bool
    leads: bool
    fences: bool
    made: dict[tuple[int, bool], tuple[Event, ...]] | None


def pipeline_step(walk: WarpWalk, op: Op) -> PipelineStep | None:
    """The step of an acquire, commit, wait, release or peek; None where it names no pipeline."""
    machine, task = walk.machine, walk.task
    resource = machine.resources.get(op.target)
    if resource is None or not resource.pipeline:
        return None
    name, moved = resource.name, machine.moved(task, op)
    cursor = machine.opening(task, resource, SIDES[op.kind][1]) if op.kind in SIDES else op.kind.value
    kept = name in walk.works.kept
    return PipelineStep(
        resource,
        (name, cursor),
        max(1, resource.pipeline.stages),
        tuple(_made(walk, op, resource)),
        (name, moved) if moved else None,
        stride_of(resource, moved) if moved else 0,
        kept and op.kind is OpKind.WAIT,
        kept and op.kind is OpKind.RELEASE,
    )


def _made(walk: WarpWalk, op: Op, resource: Resource) -> list[Made]:
    machine, kind, name, cta = walk.machine, op.kind, resource.name, walk.stream.cta
    found = machine.routes[name]
    produces = kind in (OpKind.ACQUIRE, OpKind.TRY_ACQUIRE, OpKind.COMMIT)
    if not (found.produces if produces else found.consumes)[cta] or (name, kind) in machine.done_once:
        return []
    if (
        produces
        and not walk.leads(name, "acquire")
        and (walk.task.name, name) in led_pipelines(machine.document)
    ):
        return []
    if kind in SIDES:
        side, _ = SIDES[kind]
        first = machine.barrier(name, side, 0, cta)
        event = EventKind.TRY if kind in TRIES else EventKind.WAIT
        made = [Made(event, first, int(produces), waits=True)]
        arms = machine.producer[name] == TMA and (name, "arm") not in machine.done_once
        if kind is OpKind.ACQUIRE and arms and walk.leads(name, "acquire"):
            for to in found.full[cta]:
                nbytes = machine.armed_by(resource, walk.task, op, to)
                made.append(Made(EventKind.ARRIVE_EXPECT, machine.barrier(name, "full", 0, to), 1, nbytes))
        return made
    if kind is OpKind.COMMIT:
        signal, side, reached = machine.producer[name], "full", found.full[cta]
        if signal == TMA:
            return []
    else:
        signal, side, reached = machine.consumer[name], "empty", found.empty[cta]
    count = arrivals_by(signal, walk.leads(name, kind.value), walk.lane)
    barriers = [machine.barrier(name, side, 0, to) for to in reached]
    if not count or not barriers:
        return []
    also = tuple(barriers[1:])
    if signal is Signal.CP_ASYNC:
        behind = Engine.CP_ASYNC, walk.lane
        return [Made(EventKind.COMMIT_ARRIVE, barriers[0], count, 0, also, False, *behind)]
    event = EventKind.COMMIT_ARRIVE if signal is Signal.COMMIT else EventKind.ARRIVE
    return [Made(event, barriers[0], count, also=also)]


def work_step(walk: WarpWalk, op: Op) -> WorkStep | None:
    """The step of a work; None where it names nothing known."""
    machine = walk.machine
    resource, work = machine.resources.get(op.target), machine.works.get((op.target, op.work))
    if resource is None or work is None:
        return None
    name, role = resource.name, "producer" if work.role == "producer" else "consumer"
    opens, active, cursor, back, stages = OPENS[role], True, None, 0, 1
    if resource.pipeline:
        found = machine.routes[name]
        active = work.view or (found.produces if role == "producer" else found.consumes)[walk.stream.cta]
        opening = machine.opening(walk.task, resource, opens)
        cursor, stages = (name, opening), max(1, resource.pipeline.stages)
        # its own cursor has moved on from the stage that it opened
        back = 0 if opening == CLOSES[opens] else stride_of(resource, opens)
    tokens = op.results or any(isinstance(v, Token) for _, v in op.args)
    return WorkStep(
        resource,
        work,
        active,
        cursor,
        back,
        stages,
        walk.alone or (name, opens) in walk.own_lanes,
        walk.leads(name, opens),
        fences_itself(resource, work),
        None if work.view or tokens or op.id in walk.works.implied else {},
    )
