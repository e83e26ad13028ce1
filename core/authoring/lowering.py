"""From captured nodes and live resources to the document's records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from .. import document
from ..document import Engine, Signal, Space
from .embedding import embedded
from .errors import ScheduleError
from .footprints import footprint
from .groups import PipelineGroup
from .memory import SmemAllocation
from .naming import Names
from .pipelines import PipelineConfig
from .recording import CapturedGuard, CapturedLoop, CapturedNode, CapturedOp
from .resources import UNNAMED_WORKS, MemoryResource
from .synchronisation import AsyncGroup, MBarrier, NamedBarrier
from .works import UNSAID, WorkSpec, plain, return_names, works_of

TMEM_PRODUCERS = {"UmmaAsync", "UmmaUmma"}  # tensor cores write their results to tensor memory


def nodes(captured: Iterable[CapturedNode], task: str, names: Names) -> tuple[document.Node, ...]:
    """``captured`` as nodes of task ``task``: ids are ``task.NN``, NN counting ops and blocks in capture order."""
    return tuple(_node(node, task, names) for node in captured)


def _node(node: CapturedNode, task: str, names: Names) -> document.Node:
    id = op_id(task, node.number)
    if isinstance(node, CapturedOp):
        return _op(node, id, task, names)
    body = nodes(node.body, task, names)
    if isinstance(node, CapturedLoop):
        start, stop, step = node.bounds
        queue = names[node.queue] if node.queue is not None else ""
        return document.Loop(
            id, node.kind, node.var, body, start, stop, step, queue, node.skip_if, node.unroll, node.source
        )
    key, token = _condition(node, names)
    return document.Guard(
        id, node.kind, body, node.loop, node.warp, node.period, node.start, key, token, node.source, node.cta
    )


def only_in_cta(body: tuple[document.Node, ...], task: str, rank: int | None) -> tuple[document.Node, ...]:
    """``body`` for CTA ``rank`` of the cluster alone; None: for all."""
    if rank is None:
        return body
    return (document.Guard(op_id(task, 0), document.GuardKind.CTA_RANK, body, cta=rank),)


def op_id(task: str, number: int) -> str:
    """The id of the ``number``-th thing captured in ``task``."""
    return f"{task}.{number:02d}"


def _op(node: CapturedOp, id: str, task: str, names: Names) -> document.Op:
    target = names[node.target] if node.target is not None else ""
    args = tuple(
        (key, names[value] if hasattr(type(value), "document_name") else value) for key, value in node.args
    )
    touched = None
    if node.footprint is not None:
        storage, whole = storage_record(node.target, names)
        touched = footprint(node.footprint, storage, whole, f"{node.source}: {target}.{node.work}")
    copy_of = op_id(task, node.copy_of) if node.copy_of else ""
    return document.Op(
        id,
        node.kind,
        target,
        node.work,
        args,
        node.results,
        node.stage,
        node.count,
        node.tx,
        touched,
        copy_of,
        node.source,
        node.ctas,
        node.implicit,
    )


def _condition(node: CapturedGuard, names: Names) -> tuple[str, str]:
    """Key and token of a run-time condition; tasks that test one value of one resource share its key."""
    origin = node.origin
    if node.key is not None or origin is None or origin.target is None:
        return node.token if node.key is None else node.key, node.token
    spec = works_of(type(origin.target)).get(origin.work)
    returned = return_names(spec, type(origin.target)) if spec else ()
    place = origin.results.index(node.token) if node.token in origin.results else 0
    label = returned[place] if place < len(returned) else str(place)
    return f"{names[origin.target]}.{origin.work}.{label}", node.token


def resource_record(
    resource: MemoryResource, names: Names, called: set[str], arriving_warps: int, embed: bool = False
) -> document.Resource:
    """``resource`` as the document holds it. ``called``: the unnamed works that schedules call; ``arriving_warps``: warps
    of the tasks that release its stages; ``embed``: with the source of the works' own bodies."""
    storage, whole = storage_record(resource, names)
    cls, name = type(resource), names[resource]
    config = resource.pipeline_config
    beside = config.beside if isinstance(config, PipelineConfig) else {}
    specs = dict(works_of(cls))
    for work, (role, auxiliary) in UNNAMED_WORKS.items():
        if work not in specs and (work in called or hasattr(cls, work)):
            specs[work] = WorkSpec(work, role, getattr(cls, work, None), auxiliary=auxiliary)
    return document.Resource(
        name=name,
        space=space_of(resource),
        pipeline=pipeline_record(resource, arriving_warps),
        storage=storage,
        works=tuple(
            _work(spec, resource, storage, whole, f"{resource.source}: {name}.{w}", embed)
            for w, spec in specs.items()
        ),
        params=tuple((key, plain(value)) for key, value in (resource.params | beside).items()),
        cls=f"{cls.__module__}:{cls.__qualname__}",
        source=resource.source,
    )


def _work(
    spec: WorkSpec,
    resource: MemoryResource,
    storage: document.Storage | None,
    whole: str,
    where: str,
    embed: bool,
) -> document.Work:
    cls = type(resource)
    touched = footprint(spec.footprint, storage, whole, where)
    if spec.footprint is UNSAID:  # a body that fills or reads one part touches that part
        part = dict(spec.params).get("part")
        parts = {p.name for p in storage.parts} if storage else set()
        touched = footprint(part, storage, whole, where) if part in parts else None
    engine = spec.engine
    if (
        engine is None
        and spec.role == "producer"
        and isinstance(resource.pipeline_config, PipelineConfig)
        and resource.pipeline_config.copies_arrive
    ):
        engine = Engine.CP_ASYNC
    own_body = "" if spec.is_stub else f"{cls.__module__}:{cls.__qualname__}.{spec.name}"
    return document.Work(
        name=spec.name,
        role=spec.role,
        engine=engine,
        view=spec.view,
        parameters=tuple(spec.parameters),
        returns=return_names(spec, cls),
        auxiliary=spec.auxiliary,
        footprint=touched,
        tx=spec.tx,
        body=own_body if spec.body is None else spec.body,
        params=spec.params,
        code=spec.code or (embedded(spec.function) if embed and own_body and spec.body is None else ""),
        ctas=spec.ctas,
        assumed=spec.assumed,
    )


def pipeline_record(resource: MemoryResource, arriving_warps: int) -> document.Pipeline | None:
    """The resource's pipeline. With ``SignalingThreads.All`` a TmaAsync consumer arrives by elected lanes, or by all of them
    if that is what its count says: Task Scheduling decides by the count, so the same schedule means the same here."""
    config = resource.pipeline_config
    if config is None or isinstance(config, document.Pipeline):
        return config
    record = config.record()
    said_all = str(getattr(config.consumer_signaling_threads, "name", "")) == "All"
    threads = 32 * arriving_warps
    if record.type == "TmaAsync" and said_all and threads and record.consumer_count == threads:
        record = replace(record, consumer_signal=Signal.THREAD)
    return record


def space_of(resource: MemoryResource) -> Space:
    """Where the resource's bytes live: as it says, as it allocates, or as its pipeline suggests."""
    if resource.space is not None:
        return Space(resource.space)
    smem, tmem = resource.smem_allocations(), resource.tmem_allocations()
    if smem and tmem:
        raise ScheduleError(
            f"{resource.source}: {resource.name!r} allocates shared and tensor memory; make it two resources"
        )
    if smem or tmem:
        return Space.SMEM if smem else Space.TMEM
    config = resource.pipeline_config
    if config is None and resource.storage is None:
        # wgmma writes registers (PTX ISA, wgmma.mma_async): what it fills and nobody allocates is an accumulator
        specs = works_of(type(resource)).values()
        fills = any(s.engine is Engine.WGMMA and s.role == "producer" for s in specs)
        return Space.RMEM if fills else Space.NONE
    if config is None:
        return Space.SMEM
    kind = config.type if isinstance(config, document.Pipeline) else config.record().type
    return Space.TMEM if kind in TMEM_PRODUCERS else Space.SMEM


def storage_record(resource: MemoryResource, names: Names) -> tuple[document.Storage | None, str]:
    """The resource's storage, and the name of its only allocation ("" if there are several)."""
    given, stages = resource.storage, resource.stage_count
    if isinstance(given, document.Storage):
        return given, ""
    if given is not None:
        return document.Storage(int(given), stages, alias=resource.alias, phase=resource.alias_phase), ""
    allocations = resource.smem_allocations() or resource.tmem_allocations()
    if not allocations:
        return None, ""
    direct = bool(resource.smem or resource.tmem)
    parts, cursor, alignment = [], 0, 1
    for allocation in allocations:
        smem = isinstance(allocation, SmemAllocation)
        step = allocation.alignment if smem else 1
        size = allocation.size_bytes if smem else allocation.num_columns
        if not direct:
            if size % stages:
                raise ScheduleError(
                    f"{resource.source}: {names[resource]!r} allocates {size} for {allocation.name!r}, "
                    f"which {stages} stages cannot share equally"
                )
            size //= stages
        cursor = -(-cursor // step) * step
        parts.append(document.Part(allocation.name, cursor, size))
        cursor, alignment = cursor + size, max(alignment, step)
    several = len(parts) > 1
    storage = document.Storage(
        cursor,
        stages,
        alignment if resource.smem_allocations() else 1,
        tuple(parts) if several or not resource.smem_allocations() else (),  # each an allocation (WD602)
        resource.alias,
        resource.alias_phase,
    )
    return storage, "" if several else parts[0].name


def named_records(names: Names) -> dict[str, tuple[Any, ...]]:
    """Barriers, mbarriers and groups, as fields of the document."""
    return {
        "barriers": tuple(
            document.NamedBarrier(names[o], o.id, o.threads, o.source)
            for o in names.objects
            if isinstance(o, NamedBarrier)
        ),
        "mbarriers": tuple(
            document.Mbarrier(names[o], o.count, o.stages, o.source, o.scope, o.address)
            for o in names.objects
            if isinstance(o, MBarrier)
        ),
        "pipeline_groups": tuple(
            document.PipelineGroup(
                names[o],
                document.PipelineGroupMode(str(getattr(o.mode, "value", o.mode))),
                tuple(names[m] for m in o.members),
                pipeline_record(o, 0),
                o.source,
            )
            for o in names.objects
            if isinstance(o, PipelineGroup)
        ),
        "groups": tuple(
            document.AsyncGroup(names[o], o.kind, o.source)
            for o in names.objects
            if isinstance(o, AsyncGroup)
        ),
    }
