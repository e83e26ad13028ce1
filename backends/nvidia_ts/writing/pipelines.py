"""Pipelines as Task Scheduling is told of them: with type, arrival counts, bytes and who arrives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from types import SimpleNamespace

from warpdraft.core import PipelineConfig, SignalingThreads
from warpdraft.core.arrivals import (
    TMA,
    consumer_signal,
    delivered_bytes,
    derived_empty_count,
    derived_full_count,
    producer_signal,
)
from warpdraft.core.authoring.enums import PipelineOp
from warpdraft.core.authoring.lowering import pipeline_record
from warpdraft.core.document import Document, OpKind, Resource, Signal, Task
from warpdraft.core.pipeline_groups import group_of
from warpdraft.core.schedulers import RESPONSE_BYTES, is_dynamic
from warpdraft.core.tree import ops_of

from .errors import NotExpressible

ONE_LANE = (
    Signal.WARP,
)  # arrivals of one lane of each warp, which Task Scheduling has for copies' consumers only


def config_of(document: Document, resource: Resource) -> PipelineConfig:
    """The pipeline of ``resource`` as Task Scheduling is told of it. Raises NotExpressible."""
    own, pipeline = _typed(document, resource), resource.pipeline
    made = producer_signal(document, resource)
    copies = made is Signal.CP_ASYNC
    return PipelineConfig(
        num_stages=pipeline.stages,
        num_bytes=_bytes(document, resource, own.pipeline.type),
        producer_group=_count(document, resource, own, "producer", derived_full_count),
        consumer_group=_count(document, resource, own, "consumer", derived_empty_count),
        pipeline_type=own.pipeline.type,
        cta_layout_vmnk=pipeline.cta_layout or None,
        producer_signaling_threads=_threads(resource, "producer", made, pipeline.producer_cta_leader),
        consumer_signaling_threads=_threads(
            resource, "consumer", consumer_signal(document, resource), pipeline.consumer_cta_leader
        ),
        async_producer_op=PipelineOp.AsyncLoad
        if copies and own.pipeline.type == "AsyncAsync"
        else PipelineOp.AsyncThread,
        umma_consumer_producer_op=PipelineOp.AsyncLoad
        if copies and own.pipeline.type == "AsyncUmma"
        else PipelineOp.AsyncThread,
        advance_on_wait=pipeline.advance_on_wait,
        advance_on_acquire=pipeline.advance_on_acquire,
        num_bytes_per_warp_per_cta=_bytes_of_a_warp(document, resource),
        mcast_mode_mn=pipeline.multicast,
        interleave_stride=pipeline.interleave,
    )


def _bytes_of_a_warp(document: Document, resource: Resource) -> int | None:
    """What each producing warp of each CTA brings, where the leader of a cluster alone consumes it, or as it is said."""
    said = dict(resource.params).get("num_bytes_per_warp_per_cta")
    if said is not None:
        return int(said)
    pipeline, ctas = resource.pipeline, prod(resource.pipeline.cta_layout)
    if ctas < 2 or not pipeline.consumer_cta_leader or producer_signal(document, resource) != TMA:
        return None
    tasks = [
        t
        for t in document.tasks
        if any(o.kind is OpKind.ACQUIRE and o.target == resource.name for o in ops_of(t))
    ]
    warps = ctas * sum(t.num_warps for t in tasks)
    return (pipeline.bytes or 0) // warps if warps and pipeline.bytes else None


def stated_pipelines(document: Document, left_out: list[str]) -> Document:
    """``document`` with pipelines that say type, counts and bytes."""
    found = {}
    for resource in document.resources:
        if resource.pipeline is None:
            continue
        config = config_of(document, resource)
        if _waits_elsewhere(document, resource) and not config.advance_on_wait:
            left_out.append(
                f"that waits for {resource.name} move no cursor of their own: where another task releases, they do"
            )
            config = replace(config, advance_on_wait=True)
        warps = sum(t.num_warps for t in document.tasks if _releases(document, t, resource))
        found[resource.name] = pipeline_record(SimpleNamespace(pipeline_config=config), warps)
        for side in ("producer", "consumer"):
            before, after = (getattr(p, f"{side}_signal") for p in (resource.pipeline, found[resource.name]))
            if before in ONE_LANE and after is not before:
                left_out.append(f"that one lane of a warp arrives for the {side} of {resource.name}: all do")
    return replace(
        document,
        resources=tuple(replace(r, pipeline=found.get(r.name, r.pipeline)) for r in document.resources),
    )


def _waits_elsewhere(document: Document, resource: Resource) -> bool:
    """Whether a task waits for stages that it does not release: Task Scheduling then sets advance_on_wait."""
    kinds = [{o.kind for o in ops_of(t) if o.target == resource.name} for t in document.tasks]
    return any(OpKind.WAIT in k and OpKind.RELEASE not in k for k in kinds)


def _releases(document: Document, task: Task, resource: Resource) -> bool:
    """Whether ``task`` releases stages of ``resource``, by itself or with its group."""
    group = group_of(document, resource.name)
    meant = (resource.name, group.name if group else resource.name)
    return any(o.kind is OpKind.RELEASE and o.target in meant for o in ops_of(task))


def _typed(document: Document, resource: Resource) -> Resource:
    """``resource`` with a pipeline type, and with the signals of that type where it had none."""
    pipeline = resource.pipeline
    if pipeline.type:
        return resource
    makes, uses = producer_signal(document, resource), consumer_signal(document, resource)
    first = "Tma" if makes == TMA else "Umma" if makes is Signal.COMMIT else "Async"
    kind = first + ("Umma" if uses is Signal.COMMIT else "Async")
    return replace(resource, pipeline=replace(pipeline, type=kind))


def _threads(resource: Resource, side: str, signal: str, leader: bool) -> SignalingThreads:
    """Who arrives, in Task Scheduling's words: all threads."""
    if signal in (Signal.LEADER, Signal.LEADER_THREADS):
        raise NotExpressible(
            f"{resource.name}: only the first warp arrives for its {side}; Task Scheduling lets threads of all warps arrive"
        )
    found = SignalingThreads.All
    if leader:
        found = SignalingThreads.CtaLeader
    return found


def _bytes(document: Document, resource: Resource, kind: str) -> int | None:
    if resource.pipeline.bytes is not None or not kind.startswith(("Tma", "Clc")):
        return resource.pipeline.bytes
    if kind.startswith("Clc") or is_dynamic(resource):
        return RESPONSE_BYTES
    return delivered_bytes(document, resource) or None


def _count(
    document: Document,
    resource: Resource,
    typed: Resource,
    side: str,
    derived: Callable[[Document, Resource], int],
) -> int:
    """The arrival count of one side. A count in other words (a lane of each warp) is told in those of Task Scheduling."""
    declared = getattr(resource.pipeline, f"{side}_count")
    signal = getattr(resource.pipeline, f"{side}_signal")
    replaced = {f"{side}_signal": None} if signal in ONE_LANE else {}
    theirs = replace(typed, pipeline=replace(typed.pipeline, **{f"{side}_count": None}, **replaced))
    there = replace(
        document, resources=tuple(theirs if r.name == typed.name else r for r in document.resources)
    )
    told, before = derived(there, theirs), derived(document, resource)
    if declared is None or told == before:
        return told if declared is None else declared
    if declared == before:
        return told
    raise NotExpressible(
        f"{resource.name}: its {side}_count {declared} is not what its tasks arrive with ({before}), and Task Scheduling "
        f"counts other arrivals ({told}); leave it out, or make the pipeline a {typed.pipeline.type} one"
    )
