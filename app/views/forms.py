"""Forms for what is selected: its fields and its actions. `app.field_edits` turns what was typed into edits."""

from __future__ import annotations

from warpdraft.core.document import Document, Kernel, Task
from warpdraft.core.tree import find_task

from . import words
from .fields import Form, field
from .node_forms import node_form
from .resource_forms import target_form, work_form
from .schedule import splittable

TARGETS = ("sm_90a", "sm_100a")
DOCUMENT, KERNEL = "document", "kernel"  # what selections of the head and of the kernel name


def form_of(document: Document, kind: str, ids: tuple[str, ...]) -> Form | None:
    """The form for a selection of ``kind``; None where nothing is to fill in."""
    if not ids:
        return None
    match kind:
        case "op":
            return node_form(document, ids)
        case "resource":
            return target_form(document, ids[0])
        case "work":
            return work_form(document, ids[0])
        case "task":
            task = find_task(document, ids[0])
            return _task_form(document, task) if task else None
        case "symbol":
            return _symbol_form(document, ids[0])
        case "document":
            return _document_form(document)
        case "kernel":
            return _kernel_form(document.kernel) if document.kernel else None
        case "tensor":
            return _tensor_form(document.kernel, ids[0]) if document.kernel else None
        case "edge":
            up, _, down = ids[0].partition("->")
            return _form(f"{up} → {down}", ids[0], "dependency", [], ["remove"])
    return None


def _form(title: str, name: str, what: str, fields: list[dict], actions: list[str]) -> Form:
    return {"title": title, "name": name, "what": what, "fields": fields, "actions": actions, "source": ""}


def _document_form(document: Document) -> Form:
    fields = [
        field("name", "name", document.name),
        field("target", "target", document.target, "combo", TARGETS),
        field("cluster", "cluster", _list(document.cluster), hint="CTAs along x, y, z"),
        field("ctas_per_sm", "CTAs on a multiprocessor", document.ctas_per_sm, "int"),
        field(
            "smem_capacity",
            "shared memory of a CTA",
            document.smem_capacity,
            "int",
            hint="bytes; the target's",
        ),
        field(
            "tmem_capacity",
            "tensor memory of a CTA",
            document.tmem_capacity,
            "int",
            hint="columns; the target's",
        ),
        field("roots", "roots of the graph", _list(document.roots), hint="resources made from nothing"),
    ]
    return _form(document.name, DOCUMENT, "document", fields, [])


def _symbol_form(document: Document, name: str) -> Form | None:
    symbol = next((s for s in document.symbols if s.name == name), None)
    if symbol is None:
        return None
    fields = [
        field("name", "name", symbol.name),
        field("min", "at least", symbol.min, "int"),
        field("per_cta", "a value in each CTA", symbol.per_cta, "bool"),
        field("per_tile", "a value in each tile", symbol.per_tile, "bool"),
    ]
    return _form(name, name, "symbol", fields, ["remove"])


def _kernel_form(kernel: Kernel) -> Form:
    fields = [
        field("name", "name", kernel.name),
        field(
            "trip_counts", "trip counts", words.pairs_text(kernel.trip_counts), hint="symbol=expression, …"
        ),
        field("grid", "CTAs of the grid", kernel.grid, hint="a number, or an expression over sizes"),
        field("parameters", "parameters", words.pairs_text(kernel.parameters), hint="name=value, …"),
        field("reference", "reference", kernel.reference, hint="a stock reference, or module:function"),
        field("sizes", "sizes on a GPU", words.pairs_text(kernel.sizes), hint="M=4096, …"),
        field("small_sizes", "sizes in the emulator", words.pairs_text(kernel.small_sizes), hint="M=256, …"),
    ]
    return _form(kernel.name, KERNEL, "kernel", fields, ["remove"])


def _tensor_form(kernel: Kernel, name: str) -> Form | None:
    tensor = next((t for t in kernel.tensors if t.name == name), None)
    if tensor is None:
        return None
    fields = [
        field("name", "name", tensor.name),
        field("role", "role", tensor.role, "choice", ("in", "out")),
        field("shape", "shape", _list(tensor.shape), hint="sizes, comma between"),
        field("dtype", "type", tensor.dtype, "combo", [key for key, _ in kernel.parameters]),
        field("order", "order", _list(tensor.order), hint="dimensions from slowest to fastest"),
    ]
    return _form(name, name, "global tensor", fields, ["remove"])


def _task_form(document: Document, task: Task) -> Form:
    rings = splittable(document, task)
    fields = [
        field("name", "name", task.name),
        field("warp_idx", "first warp", task.warp_idx, "int"),
        field("num_warps", "warps", task.num_warps, "int"),
        field("num_registers", "registers a thread", task.num_registers, "int", hint="as launched"),
        field("src", "reads", _list(task.src), hint="resources, comma between"),
        field("dst", "writes", _list(task.dst), hint="resources, comma between"),
    ]
    what = f"task on {words.warps_text(task.warp_idx, task.num_warps)}"
    form = _form(task.name, task.name, what, fields, ["remove"])
    form["source"] = str(task.source) if task.source else ""
    split = {"rings": rings, "warp": free_warp(document, task), "name": f"{task.name}_2"}
    return {**form, "split": split if rings else None}


def free_warp(document: Document, task: Task) -> int:
    """The first warp after ``task`` that no task owns."""
    warp = task.warp_idx
    for first, end in sorted((t.warp_idx, t.warp_idx + t.num_warps) for t in document.tasks):
        if first <= warp < end:
            warp = end
    return warp


def _list(values: tuple) -> str:
    return ", ".join(map(str, values))
