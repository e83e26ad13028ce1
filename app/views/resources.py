"""The resources view: what is declared, editable in place, and how much of each memory it takes."""

from __future__ import annotations

from typing import Any

from warpdraft.core.arrivals import derived_empty_count, derived_full_count
from warpdraft.core.document import Document, Kernel, Resource
from warpdraft.core.expressions import Symbol
from warpdraft.core.layout import layout, smem_capacity, tmem_capacity
from warpdraft.core.limits import MAX_WARPS
from warpdraft.core.occupancy import ctas_per_sm

from . import words
from .colors import task_colors
from .forms import DOCUMENT, KERNEL

REGISTERS = 65_536  # 32-bit registers of an SM (CUDA programming guide, compute capability 9.0 and 10.0)
DEFAULT_REGISTERS = 168  # a thread's share of a launch of 384 threads, rounded down to a multiple of 8


def resources_view(document: Document) -> dict[str, Any]:
    """Resources, barriers and groups with their fields, tasks with warps and registers, and the meters."""
    colors = task_colors(document)
    return {
        "meters": _meters(document),
        "items": [_resource(document, resource) for resource in document.resources],
        "barriers": [
            {"name": b.name, "detail": "", "fields": [_field("id", b.id), _field("threads", b.threads)]}
            for b in document.barriers
        ],
        "mbarriers": [
            {"name": m.name, "detail": "", "fields": [_field("count", m.count), _field("stages", m.stages)]}
            for m in document.mbarriers
        ],
        "symbols": [{"name": s.name, "min": s.min, "detail": _symbol_text(s)} for s in document.symbols],
        "groups": [{"name": g.name, "detail": g.kind.value, "fields": []} for g in document.groups],
        "pipelines": [
            {"name": g.name, "detail": f"{g.mode.value} of {', '.join(g.members)}", "fields": []}
            for g in document.pipeline_groups
        ],
        "document": {"name": DOCUMENT, "label": document.name, "detail": _head_text(document), "fields": []},
        "kernel": [_row(KERNEL, "grid, sizes, trip counts", document.kernel.name), *_tensors(document.kernel)]
        if document.kernel
        else [],
        "tasks": [
            {
                "name": t.name,
                "color": colors[t.name],
                "fields": [
                    _field("warp_idx", t.warp_idx, label="from"),
                    _field("num_warps", t.num_warps, label="warps"),
                    _field("num_registers", t.num_registers, label="regs"),
                ],
            }
            for t in document.tasks
        ],
    }


def _row(name: str, detail: str, label: str = "") -> dict[str, Any]:
    return {"name": name, "label": label or name, "detail": detail, "fields": []}


def _tensors(kernel: Kernel) -> list[dict[str, Any]]:
    return [
        {**_row(t.name, f"{t.role}, {' x '.join(map(str, t.shape))} {t.dtype}"), "tensor": True}
        for t in kernel.tensors
    ]


def _symbol_text(symbol: Symbol) -> str:
    return ", ".join(["per CTA"] * symbol.per_cta + ["per tile"] * symbol.per_tile)


def _head_text(document: Document) -> str:
    """``sm_90a, cluster 2 x 1 x 1, 2 CTAs an SM``."""
    parts = [document.target]
    if document.cluster != (1, 1, 1):
        parts.append(f"cluster {' x '.join(map(str, document.cluster))}")
    if document.ctas_per_sm > 1:
        parts.append(f"{document.ctas_per_sm} CTAs an SM")
    return ", ".join(parts)


def _field(key: str, value: int | None, derived: int | None = None, label: str = "") -> dict[str, Any]:
    return {"key": key, "label": label or key, "value": value, "derived": derived}


def _resource(document: Document, resource: Resource) -> dict[str, Any]:
    fields: list[dict[str, Any]] = []
    if resource.pipeline:
        fields = [
            _field("stages", resource.pipeline.stages),
            _field("bytes", resource.pipeline.bytes, resource.storage.bytes if resource.storage else None),
            _field("producer_count", resource.pipeline.producer_count, _full(document, resource), "full"),
            _field("consumer_count", resource.pipeline.consumer_count, _empty(document, resource), "empty"),
        ]
    elif resource.storage:
        fields = [_field("storage.stages", resource.storage.stages, label="stages")]
        fields += [_field("storage.bytes", resource.storage.bytes, label="bytes")]
    return {
        "name": resource.name,
        "space": resource.space.value,
        "detail": _size_text(resource),
        "fields": fields,
        "pipeline": resource.pipeline is not None,
    }


def _full(document: Document, resource: Resource) -> int:
    return derived_full_count(document, resource)


def _empty(document: Document, resource: Resource) -> int:
    return derived_empty_count(document, resource)


def _size_text(resource: Resource) -> str:
    if resource.storage is None:
        return ""
    if resource.space.value == "tmem":
        return f"{resource.storage.stages} x {resource.storage.bytes} columns"
    return f"{resource.storage.stages} x {words.bytes_text(resource.storage.bytes)}"


def _meters(document: Document) -> list[dict[str, Any]]:
    used = layout(document)
    meters = [
        _meter(
            "SMEM",
            used.smem_bytes,
            smem_capacity(document),
            words.bytes_text(used.smem_bytes),
            words.bytes_text(smem_capacity(document)),
        )
    ]
    if used.tmem_columns:
        columns = tmem_capacity(document)
        meters.append(
            _meter("TMEM", used.tmem_columns, columns, f"{used.tmem_columns}", f"{columns} columns")
        )
    meters.append(_registers(document))
    return meters


def _registers(document: Document) -> dict[str, Any]:
    """Registers of a CTA, by the warpgroup: idle warps of a group hold what its tasks hold."""
    groups: dict[int, int] = {}
    default = DEFAULT_REGISTERS // ctas_per_sm(document)
    for task in document.tasks:
        last = min(task.warp_idx + task.num_warps, MAX_WARPS) - 1
        for group in range(max(0, task.warp_idx) // 4, last // 4 + 1):
            groups[group] = max(groups.get(group, 0), task.num_registers or default)
    total = sum(128 * registers for registers in groups.values())
    share = REGISTERS // ctas_per_sm(document)
    return _meter("Registers", total, share, f"{total:,}", f"{share:,}")


def _meter(label: str, used: int, capacity: int, text: str, limit: str) -> dict[str, Any]:
    return {
        "label": label,
        "part": min(1.0, used / capacity),
        "over": used > capacity,
        "text": text,
        "limit": limit,
        "percent": round(100 * used / capacity),
    }
