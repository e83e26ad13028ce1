"""From the fields of resources, works, barriers and groups to the edits that they ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from warpdraft.core.document import (
    WARP_SLICE,
    WHOLE,
    AsyncGroup,
    Document,
    Engine,
    Footprint,
    Pipeline,
    PipelineGroup,
    PipelineGroupMode,
    Resource,
    Signal,
    Space,
    Storage,
)
from warpdraft.core.edits import (
    Edit,
    Rename,
    SetBarrier,
    SetPipeline,
    SetPipelineGroup,
    SetResource,
    SetStorage,
    SetWork,
)
from warpdraft.core.tree import find_resource, find_target, find_work

from . import typed
from .typed import Typed


def declared(document: Document, name: str, key: str, value: Typed) -> Edit:
    """The edit for field ``key`` of a resource, barrier, mbarrier or group."""
    text = value if isinstance(value, str) else ""
    if key == "name":
        return Rename(name, text.strip())
    item = find_target(document, name)
    if isinstance(item, PipelineGroup):
        return _pipeline_group(item, key, value)
    if isinstance(item, AsyncGroup):
        return SetBarrier(name, key, Engine(text))
    if not isinstance(item, Resource):
        return SetBarrier(name, key, (text or None) if key == "scope" else typed.number(text, key))
    part, _, inner = key.rpartition(".")
    if part == "storage":
        return SetStorage(name, inner, _storage_value(inner, text))
    match key:
        case "space":
            return SetResource(name, key, Space(text))
        case "params":
            return SetResource(name, key, typed.parameters(text))
        case "pipeline":
            stages = item.storage.stages if item.storage else 2
            return SetResource(name, key, (item.pipeline or Pipeline(stages)) if value else None)
        case "storage":
            stages = item.pipeline.stages if item.pipeline else 1
            return SetResource(name, key, (item.storage or Storage(128, stages)) if value else None)
    return SetPipeline(name, inner, _pipeline_value(inner, value, text))


def _pipeline_group(group: PipelineGroup, key: str, value: Typed) -> Edit:
    text = value if isinstance(value, str) else ""
    match key:
        case "mode":
            return SetPipelineGroup(group.name, key, PipelineGroupMode(text))
        case "members":
            return SetPipelineGroup(group.name, key, typed.names(text))
        case "pipeline":
            return SetPipelineGroup(group.name, key, (group.pipeline or Pipeline(1)) if value else None)
    inner = key.rpartition(".")[2]
    return SetPipeline(group.name, inner, _pipeline_value(inner, value, text))


def _storage_value(key: str, text: str) -> Any:
    if key == "alias":
        return text.strip()
    return typed.parts(text) if key == "parts" else typed.number(text, key)


def _pipeline_value(key: str, value: Typed, text: str) -> Any:
    match key:
        case "type":
            return text
        case "producer_signal" | "consumer_signal":
            return Signal(text) if text else None
        case "advance_on_acquire" | "advance_on_wait" | "producer_cta_leader" | "consumer_cta_leader":
            return bool(value)
        case "interleave" | "multicast" | "cta_layout":
            return typed.numbers(text, key)
    return typed.number(text, key)


def work(document: Document, name: str, key: str, value: Typed) -> Edit:
    """The edit for field ``key`` of the work called "resource.work"."""
    text = value if isinstance(value, str) else ""
    owner, _, called = name.rpartition(".")
    found = find_work(find_resource(document, owner), called)
    match key.partition(".")[0]:
        case "engine":
            new: Any = Engine(text) if text else None
        case "view" | "auxiliary" | "assumed":
            new = bool(value)
        case "parameters" | "returns":
            new = typed.names(text)
        case "tx":
            new = typed.number(text, key)
        case "footprint":
            key, new = "footprint", footprint(found.footprint if found else None, key, text)
        case "params":
            new = typed.parameters(text)
        case "ctas":
            new = typed.ctas(text)
        case _:
            new = text.strip()
    return SetWork(owner, called, key, new)


def footprint(now: Footprint | None, key: str, text: str) -> Footprint | None:
    """The footprint with what was typed for its kind, or for its bytes."""
    part = key.partition(".")[2]
    if not part:
        kinds = {
            "": None,
            "whole": WHOLE,
            "warp_slice": WARP_SLICE,
            "range": Footprint("range", 0, 1),
            "ranges": Footprint("ranges", ranges=((0, 1),)),
        }
        return now if now and now.kind == text else kinds.get(text, now)
    value = typed.spans(text) if part == "ranges" else typed.needed_number(text, part)
    return replace(now or Footprint(part if part == "ranges" else "range"), **{part: value})
