"""Forms for what is selected: the fields of an op, loop, guard, resource, barrier, group or task, and its actions.

A form is plain data: the page draws it, and sends back a field's key with the text that was typed (`app.typed` reads it).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from warpdraft.core.arrivals import SIGNALS, derived_empty_count, derived_full_count
from warpdraft.core.consistency import PARITIES
from warpdraft.core.document import (
    Document,
    Engine,
    Guard,
    GuardKind,
    Loop,
    Op,
    OpKind,
    Resource,
    Signal,
    Space,
    Task,
    Work,
)
from warpdraft.core.edits import copies, kinds_of
from warpdraft.core.tree import find_node, find_resource, find_target, find_task, find_work, walk

from . import offers, words
from .schedule import splittable

Form = dict[str, Any]
GROUP_WAITS = {OpKind.GROUP_WAIT, OpKind.GROUP_WAIT_READ}
COUNTED = GROUP_WAITS | {
    OpKind.MBARRIER_ARRIVE,
    OpKind.MBARRIER_EXPECT,
    OpKind.MBARRIER_ARRIVE_EXPECT,
    OpKind.MBARRIER_WAIT,
    OpKind.MBARRIER_TRY_WAIT,
}
GUARD_FIELDS = {
    GuardKind.ELECT_WARP: ("warp",),
    GuardKind.CTA_RANK: ("cta",),
    GuardKind.FIRST_ITER: ("loop",),
    GuardKind.LAST_ITER: ("loop",),
    GuardKind.EVERY: ("loop", "start", "period"),
    GuardKind.WHEN_TRUE: ("key",),
    GuardKind.WHEN_FALSE: ("key",),
}


def field(
    key: str, label: str, value: Any, kind: str = "text", options: Iterable[str] = (), hint: str = ""
) -> dict:
    """One field. ``kind``: "text", "int", "bool", "choice" (one of ``options``), "combo" (text, ``options`` offered)."""
    text = value if isinstance(value, bool) else "" if value is None else str(value)
    return {"key": key, "label": label, "kind": kind, "value": text, "options": list(options), "hint": hint}


def form_of(document: Document, kind: str, ids: tuple[str, ...]) -> Form | None:
    """The form for a selection of ``kind``; None where nothing is to fill in."""
    if not ids:
        return None
    if kind == "op":
        return _node_form(document, ids)
    if kind == "resource":
        return _target_form(document, ids[0])
    if kind == "task":
        task = find_task(document, ids[0])
        return _task_form(document, task) if task else None
    if kind == "edge":
        up, _, down = ids[0].partition("->")
        return {
            "title": f"{up} → {down}",
            "what": "dependency",
            "name": ids[0],
            "fields": [],
            "actions": ["remove"],
        }
    return None


def _node_form(document: Document, ids: tuple[str, ...]) -> Form | None:
    placed = find_node(document, ids[0])
    if placed is None:
        return None
    node, task = placed.node, placed.task
    if isinstance(node, Op):
        fields, what = _op_fields(document, task, node), "operation"
        actions = ["duplicate", "delete", "wrap", "why"]
    elif isinstance(node, Loop):
        fields, what, actions = (
            _loop_fields(document, node),
            "loop",
            ["duplicate", "delete", "wrap", "unwrap"],
        )
    else:
        fields, what, actions = _guard_fields(task, node), "guard", ["duplicate", "delete", "wrap", "unwrap"]
    blocks = [offer for offer in offers.offers(document, task) if offer.group == "blocks"]
    return {
        "title": words.node_text(node),
        "what": what,
        "name": node.id,
        "task": task.name,
        "source": str(node.source) if node.source else "",
        "copies": len(copies(document, node)) if isinstance(node, Op) else 1,
        "fields": fields if len(ids) == 1 else [],
        "actions": actions if len(ids) == 1 else ["delete", "wrap"],
        "chosen": len(ids),
        "wraps": [{"key": offer.key, "label": offer.label} for offer in blocks],
    }


def _op_fields(document: Document, task: Task, op: Op) -> list[dict]:
    fields: list[dict] = []
    target = find_target(document, op.target)
    if op.kind is OpKind.WORK:
        resource = find_resource(document, op.target)
        work = find_work(resource, op.work)
        given = dict(op.args)
        names = dict.fromkeys((*(work.parameters if work else ()), *given))
        tokens = offers.tokens_before(task, op.id)
        for name in names:
            text = words.value_text(given[name]) if name in given else ""
            fields.append(
                field(f"arg:{name}", name, text, "combo", tokens, "a value made above, or a constant")
            )
        if op.results or (work and work.role == "consumer"):
            fields.append(field("results", "makes", ", ".join(op.results), hint="names, comma between"))
        if op.tx is not None or (work and work.engine == "tma"):
            fields.append(
                field(
                    "tx",
                    "tx bytes",
                    op.tx,
                    "int",
                    hint=f"derived: {work.tx}" if work and work.tx else "derived",
                )
            )
        fields += _footprint_fields(op)
    else:
        fields.append(
            field(
                "kind", "does", op.kind.value, "choice", [k.value for k in kinds_of(target)] if target else ()
            )
        )
        fields.append(field("target", "on", op.target, "choice", _alike(document, task, op)))
        fields = [f for f in fields if len(f["options"]) > 1]
    resource = find_resource(document, op.target)
    if op.stage is not None or (
        resource and not resource.pipeline and resource.storage and resource.storage.stages > 1
    ):
        fields.append(field("stage", "stage", op.stage, "combo", _variables(document, op), "0"))
    if op.kind in PARITIES:
        fields.append(field("count", "parity", op.count, "combo", _variables(document, op), "in turn"))
    elif op.kind in COUNTED:
        fields.append(field("count", "still open" if op.kind in GROUP_WAITS else "count", op.count, "int"))
    return fields


def _variables(document: Document, op: Op) -> list[str]:
    """What a stage or a parity may be computed with at ``op``."""
    place = find_node(document, op.id)
    loops = [n.var for n in place.parents if isinstance(n, Loop)] if place else []
    return [*loops, *(s.name for s in document.symbols)]


def _footprint_fields(op: Op) -> list[dict]:
    kind = op.footprint.kind if op.footprint else ""
    kinds = ["", "whole", "warp_slice", "range"] + (["ranges"] if kind == "ranges" else [])
    fields = [field("footprint", "touches", kind, "choice", kinds, "by default rule")]
    if op.footprint and kind == "range":
        fields.append(field("footprint.offset", "from byte", op.footprint.offset, "int"))
        fields.append(field("footprint.bytes", "bytes", op.footprint.bytes, "int"))
    return fields


def _alike(document: Document, task: Task, op: Op) -> list[str]:
    """Other targets that the same kind of op could have."""
    used = {*task.src, *task.dst}
    items = (
        *(r for r in document.resources if r.name in used),
        *document.barriers,
        *document.mbarriers,
        *document.groups,
        *(g for g in document.pipeline_groups if used.intersection(g.members)),
    )
    return [item.name for item in items if op.kind in kinds_of(item)]


def _loop_fields(document: Document, loop: Loop) -> list[dict]:
    symbols = [s.name for s in document.symbols]
    fields = [field("var", "variable", loop.var)]
    if loop.kind == "tile":
        queues = [r.name for r in document.resources if r.space is Space.QUEUE]
        return [
            *fields,
            field("queue", "queue", loop.queue, "choice", queues),
            field("stop", "tiles", loop.stop, "combo", symbols),
            field("skip_if", "skip if", loop.skip_if),
        ]
    return [
        *fields,
        field("start", "from", loop.start, "combo", symbols),
        field("stop", "to (exclusive)", loop.stop, "combo", symbols),
        field("step", "step", loop.step, "combo", symbols),
        field("unroll", "unroll", loop.unroll, "int"),
    ]


def _guard_fields(task: Task, guard: Guard) -> list[dict]:
    loops = [node.var for node in walk(task.body) if isinstance(node, Loop)]
    possible = {
        "loop": field("loop", "of loop", guard.loop, "choice", dict.fromkeys((guard.loop, *loops))),
        "warp": field("warp", "warp", guard.warp, "int"),
        "cta": field("cta", "CTA of the cluster", guard.cta, "int"),
        "period": field("period", "every", guard.period, "int"),
        "start": field("start", "from", guard.start, "int"),
        "key": field("key", "condition", guard.key),
    }
    fields = [field("kind", "runs", guard.kind.value, "choice", [k.value for k in GuardKind])]
    return fields + [possible[name] for name in GUARD_FIELDS.get(guard.kind, ())]


TARGETS = {
    "NamedBarrier": "named barrier",
    "Mbarrier": "mbarrier",
    "AsyncGroup": "async group",
    "PipelineGroup": "pipeline group",
}


def _target_form(document: Document, name: str) -> Form | None:
    item = find_target(document, name)
    if item is None:
        return None
    form: Form = {"title": name, "name": name, "what": type(item).__name__, "actions": ["remove"]}
    fields = [field("name", "name", name)]
    if isinstance(item, Resource):
        form["what"] = "resource" if item.space is Space.NONE else f"{item.space.value} resource"
        form["works"] = [{"name": w.name, "text": _work_text(w)} for w in item.works]
        form["engines"] = ["", *(engine.value for engine in Engine)]
        fields += _resource_fields(document, item)
    else:
        form["what"] = TARGETS[form["what"]]
        for key in ("id", "threads", "count", "stages"):
            if hasattr(item, key):
                fields.append(field(key, key, getattr(item, key), "int"))
    return {**form, "fields": fields, "source": str(item.source) if item.source else ""}


def _work_text(work: Work) -> str:
    """``(coord) -> tiles, producer, tma``."""
    results = f" -> {', '.join(work.returns)}" if work.returns else ""
    facts = [work.role, *([work.engine.value] if work.engine else []), *(["view"] if work.view else [])]
    return f"({', '.join(work.parameters)}){results}, {', '.join(facts)}"


def _resource_fields(document: Document, resource: Resource) -> list[dict]:
    fields = [field("space", "space", resource.space.value, "choice", [s.value for s in Space])]
    if pipeline := resource.pipeline:
        signals = ["", *(s.value for s in Signal)]
        full, empty = derived_full_count(document, resource), derived_empty_count(document, resource)
        fields += [
            field("pipeline.stages", "stages", pipeline.stages, "int"),
            field(
                "pipeline.type", "pipeline type", pipeline.type, "choice", ["", *SIGNALS], "follows the works"
            ),
            field("pipeline.bytes", "bytes a stage", pipeline.bytes, "int", hint="derived"),
            field(
                "pipeline.producer_count",
                "arrivals on full",
                pipeline.producer_count,
                "int",
                hint=f"derived: {full}",
            ),
            field(
                "pipeline.consumer_count",
                "arrivals on empty",
                pipeline.consumer_count,
                "int",
                hint=f"derived: {empty}",
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
        ]
    if storage := resource.storage:
        unit = "columns" if resource.space is Space.TMEM else "bytes"
        fields += [
            field("storage.stages", "stored stages", storage.stages, "int"),
            field("storage.bytes", f"{unit} a stage", storage.bytes, "int"),
            field("storage.alignment", "alignment", storage.alignment, "int"),
            field("storage.alias", "alias group", storage.alias),
            field("storage.phase", "alias phase", storage.phase, "int"),
            field("storage.offset", "fixed offset", storage.offset, "int", hint="placed"),
        ]
    return fields


def _task_form(document: Document, task: Task) -> Form:
    rings = splittable(document, task)
    return {
        "title": task.name,
        "name": task.name,
        "what": f"task on {words.warps_text(task.warp_idx, task.num_warps)}",
        "source": str(task.source) if task.source else "",
        "fields": [
            field("name", "name", task.name),
            field("warp_idx", "first warp", task.warp_idx, "int"),
            field("num_warps", "warps", task.num_warps, "int"),
            field("num_registers", "registers a thread", task.num_registers, "int", hint="as launched"),
            field("src", "reads", ", ".join(task.src), hint="resources, comma between"),
            field("dst", "writes", ", ".join(task.dst), hint="resources, comma between"),
        ],
        "actions": ["remove"],
        "split": {"rings": rings, "warp": free_warp(document, task), "name": f"{task.name}_2"}
        if rings
        else None,
    }


def free_warp(document: Document, task: Task) -> int:
    """The first warp after ``task`` that no task owns."""
    warp = task.warp_idx
    for first, end in sorted((t.warp_idx, t.warp_idx + t.num_warps) for t in document.tasks):
        if first <= warp < end:
            warp = end
    return warp
