"""Pipelines, allocations and groups as source for Task Scheduling."""

from __future__ import annotations

from dataclasses import fields

from warpdraft.core import PipelineConfig, SignalingThreads
from warpdraft.core.authoring.pipeline_factories import FACTORIES
from warpdraft.core.document import Document, PipelineGroup, Resource, Space
from warpdraft.core.python_text import Imports, call, literal
from warpdraft.core.to_python import brackets

from .groups import own_config
from .pipelines import config_of

FACTORY = {  # pipeline type -> what makes its configuration
    "AsyncAsync": "create_async_async_pipeline_cfg",
    "TmaAsync": "create_tma_async_pipeline_cfg",
    "TmaUmma": "create_tma_umma_pipeline_cfg",
    "UmmaAsync": "create_umma_async_pipeline_cfg",
    "AsyncUmma": "create_async_umma_pipeline_cfg",
    "UmmaUmma": "create_umma_umma_pipeline_cfg",
    "ClcFetchAsync": "create_clc_fetch_async_pipeline_cfg",
}
PARAMETERS = {f.__name__: f.__code__.co_varnames[: f.__code__.co_argcount] for f in FACTORIES}
NEVER = {"create_async_async_pipeline_cfg": ("advance_on_wait",)}  # ours has more than Task Scheduling's
NEEDED = {"num_stages", "num_bytes", "producer_group", "consumer_group", "cta_layout_vmnk"}
OPERATIONS = {"async_producer_op": "producer_op", "umma_consumer_producer_op": "producer_op"}


def config_text(imports: Imports, document: Document, resource: Resource) -> str:
    """The call that makes the pipeline's configuration."""
    return _call(imports, config_of(document, resource))


def _call(imports: Imports, config: PipelineConfig) -> str:
    """The call of its type's factory, where that has what it needs."""
    said = _said(imports, config)
    factory = FACTORY[str(config.pipeline_type)]
    known = [p for p in PARAMETERS[factory] if p not in NEVER.get(factory, ())]
    names = {OPERATIONS.get(k, k): v for k, v in said.items()}
    if set(names) <= set(known):
        needed = {p: "None" for p in known if p in NEEDED} | names
        return call(f"{imports('PipelineConfig')}.{factory}", [f"{k}={v}" for k, v in needed.items()])
    said = {"num_bytes": "0", "pipeline_type": f"{imports('PipelineType')}.{config.pipeline_type}"} | said
    return call(imports("PipelineConfig"), [f"{k}={v}" for k, v in said.items()])


def _said(imports: Imports, config: PipelineConfig) -> dict[str, str]:
    """The fields that are not as they are by default."""
    found = {"num_stages": str(config.num_stages)}
    if config.num_bytes:
        found["num_bytes"] = str(config.num_bytes)
    for side in ("producer", "consumer"):
        found[f"{side}_group"] = f"threads({getattr(config, f'{side}_group')})"
    if config.cta_layout_vmnk:
        found["cta_layout_vmnk"] = literal(tuple(config.cta_layout_vmnk))
    usual = (
        SignalingThreads.CtaLeader if str(config.pipeline_type) == "ClcFetchAsync" else SignalingThreads.All
    )
    for field, default in (
        ("producer_signaling_threads", usual),
        ("consumer_signaling_threads", SignalingThreads.All),
    ):
        value = getattr(config, field)
        if value != default:
            word = imports("SignalingThreads")
            found[field] = " | ".join(
                f"{word}.{member.name}" for member in SignalingThreads if member in value
            )
    if config.num_bytes_per_warp_per_cta is not None:
        found["num_bytes_per_warp_per_cta"] = str(config.num_bytes_per_warp_per_cta)
    for field in fields(PipelineConfig):
        if field.name not in ("advance_on_wait", "advance_on_acquire", "mcast_mode_mn", "interleave_stride"):
            continue
        value = getattr(config, field.name)
        if value not in (field.default, (1, 1, 1, 1)):
            found[field.name] = literal(value)
    for field in OPERATIONS:
        if getattr(config, field).name != "AsyncThread":
            found[field] = f"{imports('PipelineOp')}.{getattr(config, field).name}"
    return found


def allocations_text(imports: Imports, resource: Resource) -> str:
    """The allocations that give ``resource`` its storage: totals over all stages."""
    storage = resource.storage
    parts = [(p.name, p.bytes * storage.stages) for p in storage.parts]
    parts = parts or [(resource.name, storage.bytes * storage.stages)]
    if resource.space is Space.TMEM:
        made = [f"{imports('TmemAllocation')}({literal(n)}, num_columns={size})" for n, size in parts]
    else:
        kind = imports("SmemAllocation")
        made = [
            f"{kind}({literal(n)}, size_bytes={size}, alignment={storage.alignment})" for n, size in parts
        ]
    return f"[{made[0]}]" if len(made) == 1 else brackets("[", made, "]")


def ranges_text(resource: Resource) -> str:
    """Where ``resource`` lies, if that is fixed."""
    storage = resource.storage
    end = storage.offset + storage.bytes * storage.stages
    return f"[({literal(resource.space.value)}, {storage.offset}, {end})]"


def group_text(imports: Imports, document: Document, group: PipelineGroup, members: str) -> list[str]:
    """The arguments of a pipeline group."""
    given = [
        f"name={literal(group.name)}",
        f"members={members}",
        f"mode={imports('PipelineGroupMode')}.{group.mode.value}",
    ]
    if group.pipeline is not None:
        given.append(f"pipeline_config={_call(imports, own_config(document, group))}")
    return given
