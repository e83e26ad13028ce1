"""From a form's field and the text typed into it to the edit that it asks for."""

from __future__ import annotations

from typing import Any

from warpdraft.core.consistency import PARITIES
from warpdraft.core.document import (
    Document,
    GuardKind,
    Loop,
    Node,
    Op,
    OpKind,
)
from warpdraft.core.edits import (
    Edit,
    EditError,
    RenameSymbol,
    RenameTask,
    SetDocument,
    SetField,
    SetKernel,
    SetSymbol,
    SetTask,
    SetTensor,
    find,
)
from warpdraft.core.expressions import Symbol, symbols_of
from warpdraft.core.limits import MAX_WARPS
from warpdraft.core.tree import find_node

from . import typed
from .resource_edits import declared, footprint, work
from .typed import Typed


def field_edit(
    document: Document, kind: str, name: str, key: str, value: Typed, copies: bool = False
) -> Edit:
    """The edit for field ``key`` of what a selection of ``kind`` calls ``name``. Raises NotUnderstood for text that means
    nothing there, EditError where there is no such field."""
    text = value if isinstance(value, str) else ""
    match kind:
        case "document":
            return _document(key, text)
        case "symbol":
            return _symbol(name, key, value)
        case "kernel":
            return SetKernel(key, _kernel_value(document, key, text))
        case "tensor":
            return SetTensor(name, key, _tensor_value(document, key, text))
        case "task":
            return _task(name, key, text)
        case "work":
            return work(document, name, key, value)
        case "resource":
            return declared(document, name, key, value)
    place = find(document, name)
    if place is None:
        raise EditError(f"there is no operation {name}")
    if isinstance(place.node, Op):
        return _op(document, place.node, key, text, copies)
    return SetField(name, key, _block_value(document, place.node, key, text))


def _document(key: str, text: str) -> Edit:
    match key:
        case "cluster":
            return SetDocument(key, typed.numbers(text, "the cluster"))
        case "ctas_per_sm":
            return SetDocument(key, typed.needed_number(text, key))
        case "smem_capacity" | "tmem_capacity":
            return SetDocument(key, typed.number(text, key))
        case "roots":
            return SetDocument(key, typed.names(text))
    return SetDocument(key, text.strip())


def _symbol(name: str, key: str, value: Typed) -> Edit:
    text = value if isinstance(value, str) else ""
    match key:
        case "name":
            return RenameSymbol(name, text.strip())
        case "min":
            return SetSymbol(name, typed.needed_number(text, f"the least {name}"))
        case "per_cta":
            return SetSymbol(name, per_cta=bool(value))
        case "per_tile":
            return SetSymbol(name, per_tile=bool(value))
    raise EditError(f"a symbol has no field {key}")


def kernel_sizes(document: Document) -> tuple[Symbol, ...]:
    """What the kernel's expressions may speak of: the sizes of its tensors, and the number of CTAs."""
    kernel = document.kernel
    if kernel is None:
        return ()
    expressions = [extent for tensor in kernel.tensors for extent in tensor.shape]
    expressions += [*(count for _, count in kernel.trip_counts), kernel.grid]
    known = {symbol.name: symbol for expression in expressions for symbol in symbols_of(expression)}
    names = [*(name for name, _ in (*kernel.sizes, *kernel.small_sizes)), "grid"]
    return tuple({**{name: Symbol(name) for name in names}, **known}.values())


def _kernel_value(document: Document, key: str, text: str) -> Any:
    match key:
        case "trip_counts":
            return typed.counts(text, kernel_sizes(document))
        case "grid":
            return typed.integer(text, kernel_sizes(document))
        case "parameters":
            return typed.parameters(text)
        case "sizes" | "small_sizes":
            return typed.sizes(text)
    return text.strip()


def _tensor_value(document: Document, key: str, text: str) -> Any:
    if key == "shape":
        return typed.extents(text, kernel_sizes(document))
    return typed.numbers(text, key) if key == "order" else text.strip()


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


def _op(document: Document, op: Op, key: str, text: str, copies: bool) -> Edit:
    part, _, name = key.partition(":")
    if part == "arg":
        return SetField(op.id, "args", _with_argument(op, name, text), copies)
    if key.partition(".")[0] == "footprint":
        return SetField(op.id, "footprint", footprint(op.footprint, key, text), copies)
    match key:
        case "results":
            return SetField(op.id, key, typed.names(text), copies)
        case "kind":
            return SetField(op.id, key, OpKind(text), copies)
        case "target" | "work":
            return SetField(op.id, key, text, copies)
        case "ctas":
            return SetField(op.id, key, typed.ctas(text), copies)
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
