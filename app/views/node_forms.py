"""Forms for ops, loops and guards: their fields and what can be done with them."""

from __future__ import annotations

from warpdraft.core.consistency import MAYBE, PARITIES
from warpdraft.core.document import (
    Document,
    Footprint,
    Guard,
    GuardKind,
    Loop,
    Op,
    OpKind,
    Space,
    Task,
)
from warpdraft.core.edits import copies, kinds_of
from warpdraft.core.tree import find_node, find_resource, find_target, find_work, walk

from . import offers, words
from .fields import Form, field

COUNTED = {
    OpKind.GROUP_WAIT: "still open",
    OpKind.GROUP_WAIT_READ: "still open",
    OpKind.MBARRIER_ARRIVE: "arrivals a warp",
    OpKind.MBARRIER_EXPECT: "bytes",
    OpKind.MBARRIER_ARRIVE_EXPECT: "bytes",
    OpKind.TMEM_ALLOC: "columns",
    OpKind.TMEM_DEALLOC: "columns",
    OpKind.REGISTERS_DECREASE: "registers a thread",
    OpKind.REGISTERS_INCREASE: "registers a thread",
}
PAIRED = (
    OpKind.TMEM_ALLOC,
    OpKind.TMEM_DEALLOC,
    OpKind.TMEM_RELINQUISH,
    OpKind.TCGEN05_COMMIT,
)  # by CTA pairs
CTAS = ("own", "peer", "all", "m", "n")
GUARD_FIELDS = {
    GuardKind.ELECT_WARP: ("warp",),
    GuardKind.CTA_RANK: ("cta",),
    GuardKind.FIRST_ITER: ("loop",),
    GuardKind.LAST_ITER: ("loop",),
    GuardKind.EVERY: ("loop", "start", "period"),
    GuardKind.WHEN_TRUE: ("key", "token"),
    GuardKind.WHEN_FALSE: ("key", "token"),
}


def node_form(document: Document, ids: tuple[str, ...]) -> Form | None:
    """The form of the op, loop or guard with the first of ``ids``; several can only be acted on together."""
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
    work = find_work(find_resource(document, op.target), op.work)
    is_work = op.kind is OpKind.WORK
    names = (*(work.parameters if work else ()), *(("cta_group",) if op.kind in PAIRED else ()))
    tokens = offers.tokens_before(task, op.id)
    given = dict(op.args)
    fields = [field("kind", "does", op.kind.value, "choice", () if is_work else _kinds(document, op))]
    fields.append(field("target", "on", op.target, "choice", _alike(document, task, op)))
    if is_work:
        resource = find_resource(document, op.target)
        fields.append(
            field("work", "calls", op.work, "choice", [w.name for w in resource.works] if resource else ())
        )
    fields = [f for f in fields if len(f["options"]) > 1]
    for name in dict.fromkeys((*names, *given)):
        text = words.value_text(given[name]) if name in given else ""
        fields.append(field(f"arg:{name}", name, text, "combo", tokens, "a value made above, or a constant"))
    if op.results or is_work:
        fields.append(field("results", "makes", ", ".join(op.results), hint="names, comma between"))
    if op.tx is not None or (work and work.engine == "tma"):
        derived = f"derived: {work.tx}" if work and work.tx else "derived"
        fields.append(field("tx", "tx bytes", op.tx, "int", hint=derived))
    fields += footprint_fields(op.footprint) if is_work else []
    return fields + _numbers(document, op)


def _numbers(document: Document, op: Op) -> list[dict]:
    """Its stage, parity or count, and the CTAs that it is for."""
    fields = []
    target = find_target(document, op.target)
    stages = getattr(getattr(target, "storage", None), "stages", None) or getattr(target, "stages", 1)
    if op.stage is not None or (stages > 1 and getattr(target, "pipeline", None) is None):
        fields.append(field("stage", "stage", op.stage, "combo", _variables(document, op), "0"))
    if op.kind in PARITIES:
        fields.append(field("count", "parity", op.count, "combo", _variables(document, op), "in turn"))
    elif op.kind in COUNTED or op.count is not None:
        fields.append(field("count", COUNTED.get(op.kind, "count"), op.count, "int"))
    if op.ctas or (op.target and document.cluster != (1, 1, 1)):
        fields.append(ctas_field(op.ctas))
    return fields


def ctas_field(ctas) -> dict:
    """Which CTAs of the cluster an op or work reaches."""
    return field("ctas", "in CTAs", words.ctas_text(ctas), "combo", CTAS, "its own: a word, or ranks")


def _kinds(document: Document, op: Op) -> list[str]:
    """The kinds that an op may be changed to, where it stays on what it is on."""
    target = find_target(document, op.target) if op.target else None
    kinds = kinds_of(target)
    return [kind.value for kind in (kinds if op.kind in kinds else (op.kind, *kinds))]


def _variables(document: Document, op: Op) -> list[str]:
    """What a stage or a parity may be computed with at ``op``."""
    place = find_node(document, op.id)
    loops = [n.var for n in place.parents if isinstance(n, Loop)] if place else []
    return [*loops, *(s.name for s in document.symbols)]


def footprint_fields(footprint: Footprint | None) -> list[dict]:
    """Which bytes an op or work touches."""
    kind = footprint.kind if footprint else ""
    kinds = ("", "whole", "warp_slice", "range", "ranges")
    fields = [field("footprint", "touches", kind, "choice", kinds, "by default rule")]
    if footprint and kind in ("range", "warp_slice"):
        fields.append(field("footprint.offset", "from byte", footprint.offset, "int"))
        fields.append(field("footprint.bytes", "bytes", footprint.bytes, "int", hint="0: the stage"))
    if footprint and kind == "ranges":
        text = words.spans_text(footprint.ranges)
        fields.append(field("footprint.ranges", "by warp", text, hint="offset+bytes of each warp"))
    return fields


def _alike(document: Document, task: Task, op: Op) -> list[str]:
    """Other targets that the same kind of op could have."""
    used = {*task.src, *task.dst}
    mine = [r for r in document.resources if r.name in used or r.name == op.target]
    if op.kind is OpKind.WORK:
        return [r.name for r in mine if find_work(r, op.work)]
    grouped = (g for g in document.pipeline_groups if used.intersection(g.members))
    items = (*mine, *document.barriers, *document.mbarriers, *document.groups, *grouped)
    named = [item.name for item in items if op.kind in kinds_of(item)]
    return ["", *named] if op.kind in MAYBE else named


def _loop_fields(document: Document, loop: Loop) -> list[dict]:
    symbols = [s.name for s in document.symbols]
    queues = [r.name for r in document.resources if r.space is Space.QUEUE]
    fields = [field("var", "variable", loop.var)]
    if queues or loop.kind == "tile":
        fields.append(field("kind", "over", loop.kind, "choice", ("domain", "tile")))
    if loop.kind == "tile":
        return [
            *fields,
            field("queue", "queue", loop.queue, "choice", dict.fromkeys((loop.queue, *queues))),
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
        "token": field(
            "token", "tests", guard.token, "combo", offers.tokens_before(task, guard.id), "its own value"
        ),
    }
    fields = [field("kind", "runs", guard.kind.value, "choice", [k.value for k in GuardKind])]
    return fields + [possible[name] for name in GUARD_FIELDS.get(guard.kind, ())]
