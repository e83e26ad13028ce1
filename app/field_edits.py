"""From a form's field and the text typed into it to the edit that it asks for."""

from __future__ import annotations

from dataclasses import replace

from warpdraft.core.consistency import PARITIES
from warpdraft.core.document import (
    WARP_SLICE,
    WHOLE,
    Document,
    Footprint,
    GuardKind,
    Loop,
    Node,
    Op,
    OpKind,
    Resource,
    Signal,
    Space,
)
from warpdraft.core.edits import (
    Edit,
    EditError,
    Rename,
    RenameTask,
    SetBarrier,
    SetDocument,
    SetField,
    SetPipeline,
    SetResource,
    SetStorage,
    SetSymbol,
    SetTask,
    find,
)
from warpdraft.core.limits import MAX_WARPS
from warpdraft.core.tree import find_node, find_target

from . import typed

Typed = str | bool


def field_edit(
    document: Document, kind: str, name: str, key: str, value: Typed, copies: bool = False
) -> Edit:
    """The edit for field ``key`` of the op, loop, guard, resource or task ``name``. Raises NotUnderstood for text that
    means nothing there, EditError where there is no such field."""
    text = value if isinstance(value, str) else ""
    if kind == "document":
        return (
            SetSymbol(key.partition(":")[2], typed.needed_number(text, key))
            if ":" in key
            else SetDocument(key, text)
        )
    if kind == "task":
        return _task(name, key, text)
    if kind == "resource":
        return _declared(document, name, key, value)
    place = find(document, name)
    if place is None:
        raise EditError(f"there is no operation {name}")
    if isinstance(place.node, Op):
        return _op(document, place.node, key, text, copies)
    return SetField(name, key, _block_value(document, place.node, key, text))


def _task(name: str, key: str, text: str) -> Edit:
    match key:
        case "name":
            return RenameTask(name, text.strip())
        case "src" | "dst":
            return SetTask(name, key, typed.names(text))
        case "num_registers":
            return SetTask(name, key, typed.number(text, "registers"))
    value = typed.needed_number(text, key)
    if key == "num_warps" and value > MAX_WARPS:
        raise typed.NotUnderstood(f"a task has at most {MAX_WARPS} warps")
    return SetTask(name, key, value)


def _declared(document: Document, name: str, key: str, value: Typed) -> Edit:
    text = value if isinstance(value, str) else ""
    if key == "name":
        return Rename(name, text.strip())
    if not isinstance(find_target(document, name), Resource):
        return SetBarrier(name, key, typed.number(text, key))
    part, _, inner = key.rpartition(".")
    if part == "storage":
        if inner == "alias":
            return SetStorage(name, inner, text.strip())
        return SetStorage(name, inner, typed.number(text, inner))
    if key == "space":
        return SetResource(name, "space", Space(text))
    match inner:
        case "type":
            return SetPipeline(name, inner, text)
        case "producer_signal" | "consumer_signal":
            return SetPipeline(name, inner, Signal(text) if text else None)
        case "advance_on_acquire" | "advance_on_wait":
            return SetPipeline(name, inner, bool(value))
    return SetPipeline(name, inner, typed.number(text, inner))


def _op(document: Document, op: Op, key: str, text: str, copies: bool) -> Edit:
    part, _, name = key.partition(":")
    if part == "arg":
        return SetField(op.id, "args", _with_argument(op, name, text), copies)
    match key:
        case "results":
            return SetField(op.id, key, typed.names(text), copies)
        case "kind":
            return SetField(op.id, key, OpKind(text), copies)
        case "target":
            return SetField(op.id, key, text, copies)
        case "footprint":
            kinds = {"": None, "whole": WHOLE, "warp_slice": WARP_SLICE, "range": Footprint("range", 0, 1)}
            return SetField(op.id, key, kinds.get(text, op.footprint), copies)
        case "footprint.offset" | "footprint.bytes":
            part = key.partition(".")[2]
            changed = replace(op.footprint or Footprint("range"), **{part: typed.needed_number(text, part)})
            return SetField(op.id, "footprint", changed, copies)
    if text.strip() and (key == "stage" or (key == "count" and op.kind in PARITIES)):
        placed = find_node(document, op.id)
        loops = [n.var for n in placed.parents if isinstance(n, Loop)] if placed else []
        return SetField(op.id, key, typed.integer(text, document.symbols, loops), copies)
    return SetField(op.id, key, typed.number(text, key), copies)


def _with_argument(op: Op, name: str, text: str) -> tuple:
    """The op's arguments with ``name`` set, or left out where nothing was typed."""
    args = dict(op.args)
    if not text.strip():
        args.pop(name, None)
    else:
        args[name] = typed.argument(text)
    return tuple(args.items())


def _block_value(document: Document, node: Node, key: str, text: str):
    if isinstance(node, Loop):
        if key in ("start", "stop", "step"):
            return typed.integer(text, document.symbols)
        return typed.number(text, key) if key == "unroll" else text.strip()
    if key == "kind":
        return GuardKind(text)
    return typed.needed_number(text, key) if key in ("warp", "cta", "period", "start") else text.strip()
