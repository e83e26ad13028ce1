"""Forms for what ops speak of: resources with their pipelines, storages and works, barriers and groups."""

from __future__ import annotations

from warpdraft.core.arrivals import SIGNALS, derived_empty_count, derived_full_count
from warpdraft.core.document import (
    SCOPES,
    AsyncGroup,
    Document,
    Engine,
    Mbarrier,
    NamedBarrier,
    Pipeline,
    PipelineGroup,
    PipelineGroupMode,
    Resource,
    Signal,
    Space,
    Storage,
    Work,
)
from warpdraft.core.edits import GROUPS
from warpdraft.core.tree import find_resource, find_target, find_work

from . import words
from .fields import Form, field
from .node_forms import ctas_field, footprint_fields


def target_form(document: Document, name: str) -> Form | None:
    """The form of the resource, barrier, mbarrier or group called ``name``."""
    item = find_target(document, name)
    if item is None:
        return None
    form: Form = {"title": name, "name": name, "actions": ["remove"]}
    fields = [field("name", "name", name)]
    match item:
        case Resource():
            form["what"] = "resource" if item.space is Space.NONE else f"{item.space.value} resource"
            form["works"] = [{"name": w.name, "text": work_text(w)} for w in item.works]
            form["engines"] = ["", *(engine.value for engine in Engine)]
            fields += _resource_fields(document, item)
        case NamedBarrier():
            form["what"] = "named barrier"
            fields += [field("id", "id", item.id, "int"), field("threads", "threads", item.threads, "int")]
        case Mbarrier():
            form["what"] = "mbarrier"
            fields += _mbarrier_fields(item)
        case AsyncGroup():
            form["what"] = "async group"
            fields.append(field("kind", "of", item.kind.value, "choice", [kind.value for kind in GROUPS]))
        case PipelineGroup():
            form["what"] = "pipeline group"
            fields += [
                field(
                    "mode", "hands on", item.mode.value, "choice", [mode.value for mode in PipelineGroupMode]
                ),
                field("members", "members", ", ".join(item.members), hint="resources, comma between"),
                field("pipeline", "has its own pipeline", item.pipeline is not None, "bool"),
                *(_pipeline_fields(document, item.pipeline, ("derived", "derived")) if item.pipeline else ()),
            ]
    return {**form, "fields": fields, "source": str(item.source) if item.source else ""}


def _mbarrier_fields(item: Mbarrier) -> list[dict]:
    return [
        field("count", "arrivals", item.count, "int", hint="derived"),
        field("stages", "stages", item.stages, "int"),
        field("scope", "orders accesses of", item.scope, "choice", ["", *SCOPES], "as far as it is used"),
        field("address", "at byte", item.address, "int", hint="bytes of its own"),
    ]


def work_form(document: Document, name: str) -> Form | None:
    """The form of a work, called "resource.work"."""
    owner, _, called = name.rpartition(".")
    work = find_work(find_resource(document, owner), called)
    if work is None:
        return None
    engines = ["", *(engine.value for engine in Engine)]
    fields = [
        field("name", "name", work.name),
        field("role", "role", work.role, "choice", ("producer", "consumer")),
        field("engine", "engine", work.engine, "choice", engines, "by default rule"),
        field("parameters", "takes", ", ".join(work.parameters), hint="names, comma between"),
        field("returns", "makes", ", ".join(work.returns), hint="names, comma between"),
        field("view", "is a view", work.view, "bool"),
        field("auxiliary", "is auxiliary", work.auxiliary, "bool"),
        field("assumed", "accesses are assumed", work.assumed, "bool"),
        field("tx", "tx bytes", work.tx, "int", hint="derived"),
        *footprint_fields(work.footprint),
        field("body", "body", work.body, hint="a stock body, or module:Class.method"),
        field("params", "body's parameters", words.pairs_text(work.params), hint="name=value, …"),
        ctas_field(work.ctas),
    ]
    return {
        "title": name,
        "name": name,
        "what": f"work{', with code of its own' if work.code else ''}",
        "fields": fields,
        "actions": ["remove"],
        "source": "",
    }


def work_text(work: Work) -> str:
    """``(coord) -> tiles, producer, tma``."""
    results = f" -> {', '.join(work.returns)}" if work.returns else ""
    facts = [work.role, *([work.engine.value] if work.engine else []), *(["view"] if work.view else [])]
    return f"({', '.join(work.parameters)}){results}, {', '.join(facts)}"


def _resource_fields(document: Document, resource: Resource) -> list[dict]:
    fields = [
        field("space", "space", resource.space.value, "choice", [s.value for s in Space]),
        field("params", "parameters", words.pairs_text(resource.params), hint="name=value, …"),
        field("pipeline", "has a pipeline", resource.pipeline is not None, "bool"),
    ]
    if resource.pipeline:
        full, empty = derived_full_count(document, resource), derived_empty_count(document, resource)
        hints = (f"derived: {full}", f"derived: {empty}")
        fields += _pipeline_fields(document, resource.pipeline, hints)
    fields.append(field("storage", "has storage", resource.storage is not None, "bool"))
    if resource.storage:
        fields += _storage_fields(resource, resource.storage)
    return fields


def _pipeline_fields(document: Document, pipeline: Pipeline, derived: tuple[str, str]) -> list[dict]:
    signals = ["", *(s.value for s in Signal)]
    types = ["", *dict.fromkeys((*SIGNALS, *([pipeline.type] if pipeline.type else [])))]
    several = document.cluster != (1, 1, 1)
    fields = [
        field("pipeline.stages", "stages", pipeline.stages, "int"),
        field("pipeline.type", "pipeline type", pipeline.type, "choice", types, "follows the works"),
        field("pipeline.bytes", "bytes a stage", pipeline.bytes, "int", hint="derived"),
        field(
            "pipeline.producer_count",
            "arrivals on full",
            pipeline.producer_count,
            "int",
            hint=derived[0],
        ),
        field(
            "pipeline.consumer_count",
            "arrivals on empty",
            pipeline.consumer_count,
            "int",
            hint=derived[1],
        ),
        field(
            "pipeline.producer_signal",
            "commit signals",
            pipeline.producer_signal,
            "choice",
            signals,
            "by type",
        ),
        field(
            "pipeline.consumer_signal",
            "release signals",
            pipeline.consumer_signal,
            "choice",
            signals,
            "by type",
        ),
        field("pipeline.advance_on_acquire", "advance on acquire", pipeline.advance_on_acquire, "bool"),
        field("pipeline.advance_on_wait", "advance on wait", pipeline.advance_on_wait, "bool"),
        field(
            "pipeline.interleave",
            "strides",
            _numbers(pipeline.interleave),
            hint="acquire, commit, wait, release",
        ),
    ]
    if several or pipeline.cta_layout or pipeline.producer_cta_leader or pipeline.consumer_cta_leader:
        fields += [
            field(
                "pipeline.multicast",
                "multicast over",
                _numbers(pipeline.multicast),
                hint="along M, N: 1 or 0",
            ),
            field("pipeline.cta_layout", "cluster as", _numbers(pipeline.cta_layout), hint="V, M, N, K"),
            field(
                "pipeline.producer_cta_leader",
                "leading CTA produces",
                pipeline.producer_cta_leader,
                "bool",
            ),
            field(
                "pipeline.consumer_cta_leader",
                "leading CTA consumes",
                pipeline.consumer_cta_leader,
                "bool",
            ),
        ]
    return fields


def _storage_fields(resource: Resource, storage: Storage) -> list[dict]:
    unit = "columns" if resource.space is Space.TMEM else "bytes"
    return [
        field("storage.stages", "stored stages", storage.stages, "int"),
        field("storage.bytes", f"{unit} a stage", storage.bytes, "int"),
        field("storage.alignment", "alignment", storage.alignment, "int"),
        field("storage.parts", "parts", words.parts_text(storage.parts), hint="name: offset+bytes, …"),
        field("storage.alias", "alias group", storage.alias),
        field("storage.phase", "alias phase", storage.phase, "int"),
        field("storage.offset", "fixed offset", storage.offset, "int", hint="placed"),
    ]


def _numbers(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))
