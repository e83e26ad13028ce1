"""Puts tasks, resources and graph together to one document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .. import document
from ..cursors import split_cursors
from ..document import Document, Edge, Node, OpKind, Space
from ..expressions import Symbol
from ..op_integers import symbols_used
from ..pipeline_groups import spelled_nodes
from . import lowering
from .errors import refuse
from .groups import PipelineGroup
from .memory import LayoutAllocator, SmemAllocator
from .naming import Names, used_by
from .places import holds_places, with_places
from .recording import CapturedNode, CapturedOp
from .resources import UNNAMED_WORKS, MemoryResource
from .tasks import Task

Graph = Mapping[MemoryResource, Sequence[MemoryResource]]


def assemble(
    tasks: Sequence[Task],
    graph: Graph,
    allocators: Sequence[LayoutAllocator[Any]],
    first: list[Any],
    symbols: list[Symbol],
    base: Document,
) -> Document:
    """``base`` with everything in it. Raises ScheduleError for names that clash and memory that cannot be represented."""
    objects = [*first, *_objects(tasks, graph)]
    groups = [r.pipeline_group for r in objects if getattr(r, "pipeline_group", None) is not None]
    names = Names([*objects, *groups])
    task_names = _task_names(tasks)
    bodies = [
        lowering.only_in_cta(lowering.nodes(t.schedule.body, n, names), n, t.run_only_on_cta_id)
        for t, n in zip(tasks, task_names, strict=True)
    ]
    resources = [
        lowering.resource_record(
            r, names, _unnamed_calls(r, tasks), _releasing_warps(r, tasks), embed=base.kernel is not None
        )
        for r in names.objects
        if isinstance(r, MemoryResource) and not isinstance(r, PipelineGroup)
    ]
    owners = {names[r]: r for r in names.objects if isinstance(r, MemoryResource)}
    explicit = {id(a): holds_places(a, resources, owners, allocators) for a in allocators}
    return replace(
        base,
        symbols=_symbols(symbols, [s for body in bodies for s in symbols_used(body)]),
        resources=(
            *with_places(_with_split_cursors(resources, _spelled(bodies, names), names), owners, allocators),
            *_unowned(names, allocators, explicit),
        ),
        graph=tuple(Edge(names[up], names[down]) for down, ups in graph.items() for up in ups),
        roots=tuple(names[down] for down, ups in graph.items() if not ups),
        tasks=tuple(
            document.Task(
                name,
                task.warp_idx,
                task.num_warps,
                body,
                tuple(names[r] for r in task.src_resources),
                tuple(names[r] for r in task.dst_resources),
                task.num_registers,
                task.source,
            )
            for task, name, body in zip(tasks, task_names, bodies, strict=True)
        ),
        **lowering.named_records(names),
    )


def checked_graph(graph: Any) -> Graph:
    """``graph``, if it maps resources to lists of resources. Raises ScheduleError."""
    if not isinstance(graph, Mapping):
        raise refuse(
            "the dependency graph must be a mapping {downstream: [upstream, ...]}, "
            f"not {type(graph).__name__}; {{}} draws none"
        )
    for downstream, upstreams in graph.items():
        if not isinstance(upstreams, list | tuple):
            name = getattr(downstream, "name", "") or type(downstream).__name__
            raise refuse(
                f"the dependency graph gives {name!r} a {type(upstreams).__name__}; give it a list of upstream resources"
            )
    return graph


def _objects(tasks: Sequence[Task], graph: Graph) -> Iterator[Any]:
    for task in tasks:
        yield from task.resources
    for downstream, upstreams in graph.items():
        for resource in (downstream, *upstreams):
            if not isinstance(resource, MemoryResource):
                raise refuse(f"the dependency graph holds resources, not {type(resource).__name__}")
            yield resource
    for task in tasks:
        yield from used_by(task.schedule.body)


def _task_names(tasks: Sequence[Task]) -> list[str]:
    given = [t.name for t in tasks if t.is_named]
    if doubled := {n for n in given if given.count(n) > 1}:
        raise refuse(f"two tasks are called {min(doubled)!r}; give each a name of its own")
    taken, names = set(given), []
    for task in tasks:
        name, count = task.name, 1
        while not task.is_named and name in taken:
            count += 1
            name = f"{task.name}_{count}"
        taken.add(name)
        names.append(name)
    return names


def _ops(nodes: Iterable[CapturedNode]) -> Iterator[CapturedOp]:
    for node in nodes:
        if isinstance(node, CapturedOp):
            yield node
        else:
            yield from _ops(node.body)


def _unnamed_calls(resource: MemoryResource, tasks: Sequence[Task]) -> set[str]:
    ops = (op for task in tasks for op in _ops(task.schedule.body))
    return {op.work for op in ops if op.target is resource and op.work in UNNAMED_WORKS}


def _releasing_warps(resource: MemoryResource, tasks: Sequence[Task]) -> int:
    def releases(task: Task) -> bool:
        meant = (resource, resource.pipeline_group)
        return any(op.target in meant and op.kind is OpKind.RELEASE for op in _ops(task.schedule.body))

    return sum(task.num_warps for task in tasks if releases(task))


def _symbols(first: list[Symbol], used: list[Symbol]) -> tuple[Symbol, ...]:
    found: dict[str, Symbol] = {}
    for symbol in (*first, *used):
        known = found.setdefault(symbol.name, symbol)
        if known.min != symbol.min:
            raise refuse(
                f"symbol {symbol.name!r} has min {known.min} in one place and {symbol.min} in another"
            )
        if known.per_tile != symbol.per_tile:
            raise refuse(f"symbol {symbol.name!r} is per_tile in one place and not in another")
    return tuple(found.values())


def _spelled(bodies: list[tuple[Node, ...]], names: Names) -> list[tuple[Node, ...]]:
    """``bodies`` with each op of a group as one of each of its members."""
    groups = {names[g]: [names[m] for m in g.members] for g in names.objects if isinstance(g, PipelineGroup)}
    return [spelled_nodes(body, groups) for body in bodies]


def _with_split_cursors(
    resources: list[document.Resource], bodies: list[tuple[Node, ...]], names: Names
) -> list[document.Resource]:
    """Where one task only opens a stage and another closes it, opening must move a cursor of its own.

    TS does so for split consumers (it sets advance_on_wait when the manager is built); acquire and commit are alike.
    """

    owners = {names[r]: r for r in names.objects if isinstance(r, MemoryResource)}

    def cursors(record: document.Resource) -> document.Resource:
        pipeline = record.pipeline
        if pipeline is None or isinstance(owners[record.name].pipeline_config, document.Pipeline):
            return record  # a record of the document says all itself
        on_acquire, on_wait = split_cursors(record, bodies)
        return replace(
            record,
            pipeline=replace(
                pipeline,
                advance_on_wait=pipeline.advance_on_wait or on_wait,
                advance_on_acquire=pipeline.advance_on_acquire or on_acquire,
            ),
        )

    return [cursors(r) for r in resources]


def _unowned(
    names: Names, allocators: Sequence[LayoutAllocator[Any]], explicit: Mapping[int, bool]
) -> Iterator[document.Resource]:
    """Memory that an allocator was given and no resource owns: it takes room all the same."""
    owned = {
        id(a)
        for r in names.objects
        if isinstance(r, MemoryResource)
        for a in r.smem_allocations() + r.tmem_allocations()
    }
    for allocator in allocators:
        smem = isinstance(allocator, SmemAllocator)
        for a in allocator.allocations:
            if id(a) not in owned:
                size, alignment = (a.size_bytes, a.alignment) if smem else (a.num_columns, 1)
                space = Space.SMEM if smem else Space.TMEM
                place = a.offset if explicit[id(allocator)] else None
                storage = document.Storage(size, alignment=alignment, offset=place)
                yield document.Resource(a.name, space, storage=storage)
