"""A schedule and its budgets as text tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .arrivals import empty_count, full_count
from .document import Document, Node, Op, Resource, Space
from .layout import layout, smem_capacity, tmem_capacity
from .occupancy import ctas_per_sm
from .phrases import phrase
from .registers import REGISTER_FILE


def schedule_table(document: Document) -> str:
    """Pipelines and barriers, then each task with its ops, one a line."""
    lines = [*_declarations(document)]
    for task in document.tasks:
        last = task.warp_idx + task.num_warps - 1
        warps = f"warp {task.warp_idx}" if task.num_warps == 1 else f"warps {task.warp_idx}-{last}"
        registers = f", {task.num_registers} registers" if task.num_registers else ""
        lines += ["", f"task {task.name}: {warps}{registers}", *_body(task.body, 1)]
    return "\n".join(lines).strip("\n")


def compared_table(document: Document, other: Document) -> str:
    """`schedule_table`, and what it leaves out where ``other`` has the same table."""
    table = schedule_table(document)
    return table if table != schedule_table(other) else "\n".join([table, "", *_differing(document, other)])


def _differing(document: Document, other: Document) -> Iterable[str]:
    if document.target != other.target:
        yield f"target {document.target}"
    if document.ctas_per_sm != other.ctas_per_sm:
        yield f"{document.ctas_per_sm} CTAs on a multiprocessor"
    for task, own in zip(document.tasks, other.tasks, strict=True):
        if (task.src, task.dst) != (own.src, own.dst):
            reads, writes = (", ".join(names) or "nothing" for names in (task.src, task.dst))
            yield f"{task.name} declares: reads {reads}, writes {writes}"
    if document.graph != other.graph:
        yield "graph: " + ", ".join(f"{edge.upstream} -> {edge.downstream}" for edge in document.graph)
    for resource, own in zip(document.resources, other.resources, strict=True):
        if resource.pipeline and own.pipeline and resource.pipeline.bytes != own.pipeline.bytes:
            yield f"{resource.name} declares: {resource.pipeline.bytes} B a stage"
        if resource.pipeline and own.pipeline and resource.pipeline.cta_layout != own.pipeline.cta_layout:
            yield f"{resource.name} declares: cta_layout {resource.pipeline.cta_layout}"
        for work, twin in zip(resource.works, own.works, strict=True):
            if work.footprint != twin.footprint and work.footprint:
                touched = work.footprint
                yield f"{resource.name}.{work.name} declares: {touched.bytes} B from byte {touched.offset} of a stage"


def _declarations(document: Document) -> Iterable[str]:
    for resource in document.resources:
        yield f"{resource.name}: {_resource(document, resource)}"
    for barrier in document.barriers:
        yield f"{barrier.name}: named barrier {barrier.id}, {barrier.threads} threads"
    for mbarrier in document.mbarriers:
        count = "derived" if mbarrier.count is None else mbarrier.count
        scope = f", scope {mbarrier.scope}" if mbarrier.scope else ""
        yield f"{mbarrier.name}: {mbarrier.stages} mbarrier(s), count {count}{scope}"
    for group in document.groups:
        yield f"{group.name}: {group.kind} groups"
    for pipelines in document.pipeline_groups:
        yield f"{pipelines.name}: {pipelines.mode} group of {', '.join(pipelines.members)}"


def _resource(document: Document, resource: Resource) -> str:
    parts = [str(resource.space)]
    pipeline, storage = resource.pipeline, resource.storage
    if pipeline:
        kind = pipeline.type or "pipeline"
        counts = f"full {full_count(document, resource)}, empty {empty_count(document, resource)} arrivals"
        parts.append(f"{kind} of {pipeline.stages} stages, {counts}")
    if storage:
        unit = "columns" if resource.space is Space.TMEM else "B"
        alias = f", alias {storage.alias}/{storage.phase}" if storage.alias else ""
        parts.append(f"{storage.stages} x {storage.bytes} {unit}{alias}")
    return ", ".join(parts)


def _body(nodes: Sequence[Node], depth: int) -> Iterable[str]:
    for node in nodes:
        results = f"{', '.join(node.results)} = " if isinstance(node, Op) and node.results else ""
        yield f"{node.id:<12}{'  ' * depth}{results}{phrase(node)}" + ("" if isinstance(node, Op) else ":")
        if not isinstance(node, Op):
            yield from _body(node.body, depth + 1)


def register_table(document: Document) -> str:
    """Registers that the tasks ask for."""
    asked = [(t.name, t.num_warps, t.num_registers) for t in document.tasks if t.num_registers]
    if not asked:
        return "registers: none declared"
    total = sum(32 * warps * registers for _, warps, registers in asked)
    tasks = ", ".join(f"{name} {warps} warps x {registers}" for name, warps, registers in asked)
    ctas = ctas_per_sm(document)
    shared = f", {ctas} CTAs on a multiprocessor" if ctas > 1 else ""
    return f"registers: {tasks}: {total} of {REGISTER_FILE // ctas}{shared}"


def memory_table(document: Document) -> str:
    """Shared and tensor memory used; where resources have no storage of their own, at least so much."""
    found = layout(document)
    unsized = [r for r in document.resources if r.pipeline and r.storage is None and r.space is Space.SMEM]
    copied = sum(r.pipeline.stages * (r.pipeline.bytes or 0) for r in unsized)
    notes = [f"barriers {found.barrier_bytes} B"]
    notes += [_without_storage(r) for r in unsized]
    least = "at least " if unsized else ""
    used = f"{least}{found.smem_bytes + copied} of {smem_capacity(document)} B"
    lines = [f"shared memory: {used} ({'; '.join(notes)})"]
    if found.tmem_columns:
        lines.append(f"tensor memory: {found.tmem_columns} of {tmem_capacity(document)} columns")
    return "\n".join(lines)


def _without_storage(resource: Resource) -> str:
    pipeline = resource.pipeline
    if not pipeline.bytes:
        return f"{resource.name}: storage not declared"
    return f"{resource.name}: storage not declared, its copies bring {pipeline.stages} x {pipeline.bytes} B"
