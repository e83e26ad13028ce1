"""A manager of Task Scheduling as a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from warpdraft.core import PdlWaitBarrier, ScheduleError, SmemAllocator, Task, TaskManager, TmemAllocator
from warpdraft.core.authoring.recording import CapturedGuard, CapturedNode, CapturedOp
from warpdraft.core.authoring.schedules import Schedule
from warpdraft.core.document import Document, GuardKind, OpKind, Work

from .annotations import Annotations
from .apply import apply_annotations
from .errors import ImportRefused
from .memory import declares_places, needs_their_places, places, response_of
from .resources import Resources
from .symbols import Symbols
from .tasks import TaskReader
from .trace import Trace
from .version import task_scheduling

READY_MADE = (
    "init_work_tile",
    "get_and_advance_work_tile",
    "fetch_work_tile",
    "wait_griddep",
    "launch_griddep",
)


def from_task_manager(
    manager: Any,
    annotations: Annotations | None = None,
    *,
    name: str = "schedule",
    target: str = "",
    trace: Trace | None = None,
) -> Document:
    """The document of a Task Scheduling ``TaskManager``, read from its objects as they are now.

    ``annotations`` say what works do; the accesses of all others are the defaults, marked as assumed. ``name`` is the
    document's, ``target`` its architecture ("": what its pipelines need), ``trace`` what was seen while the schedules were
    traced (lines, names). Raises ImportRefused for a release of Task Scheduling that is not supported and for a manager
    that no document can represent, AnnotationError for annotations that do not fit.
    """
    ts = task_scheduling()
    if not isinstance(manager, ts.task_manager.TaskManager):
        raise ImportRefused(f"from_task_manager() takes a TaskManager, not {type(manager).__name__}")
    try:
        document = _Reader(manager, name, target, trace or Trace()).document()
    except ScheduleError as error:
        raise ImportRefused(f"{name}: {error}") from None
    return apply_annotations(_assumed(document), annotations or Annotations())


class _Reader:
    def __init__(self, manager: Any, name: str, target: str, trace: Trace) -> None:
        self.manager, self.name, self.target, self.trace = manager, name, target, trace
        self.resources, self.symbols = Resources(trace), Symbols(trace)
        self.gaps: list[str] = []
        self.waited: PdlWaitBarrier | None = None
        for queue in (r for r in manager.resources if isinstance(r, task_scheduling().resources.WorkQueue)):
            self.resources.responses[id(queue)] = response_of(queue, manager)

    def document(self) -> Document:
        manager = self.manager
        for task in manager.tasks:  # in the order in which authoring meets them
            for theirs in (*task.src_resources, *task.dst_resources):
                self.resources[theirs]
        graph = {
            self.resources[down]: [self.resources[up] for up in ups]
            for down, ups in manager.resource_dependency_graph.items()
        }
        smem = self._allocator(manager._smem_allocator, SmemAllocator)
        options = {
            "tasks": list(self._tasks()),
            "resource_dependency_graph": graph,
            "smem_allocator": smem,
            "tmem_allocator": self._allocator(manager._tmem_allocator, TmemAllocator),
            "name": self.name,
            **({"target": self.target} if self.target else {}),
            **self._capacities(),
        }
        built = TaskManager(**options).document
        if smem is not None and not smem.fixed and needs_their_places(built, manager._smem_allocator):
            smem.fixed = True
            built = TaskManager(**options).document
        document, gaps = places(built, self.resources)
        return replace(document, gaps=(*dict.fromkeys((*self.gaps, *gaps)),))

    def _tasks(self) -> Iterator[Task]:
        """One task for each range of warps: those of the same warps run one after the other (TaskManager._run_impl)."""
        rows: dict[tuple[int, int], list[Any]] = {}
        for task in self.manager.tasks:
            rows.setdefault((int(task.warp_idx), int(task.num_warps)), []).append(task)
        for (first, count), tasks in rows.items():
            readers: list[TaskReader] = []
            for task in tasks:
                before = readers[-1] if readers else None
                known = self.trace.of(task)
                readers.append(TaskReader(task, known, self.resources, self.symbols, before))
            body = [node for r in readers for node in self._body(r, len(readers) > 1)]
            before = self._grid_waited_for(readers[0])
            body = [op for _, op in before] + body
            self.gaps += [gap for r in readers for gap in r.gaps]
            registers = {t.num_registers for t in tasks}
            if len(registers) > 1:
                said = ", ".join(str(r) for r in registers)
                self.gaps.append(
                    f"{' and '.join(r.name for r in readers)} ask for different registers ({said})"
                )
            name = "_then_".join(r.name for r in readers)
            made = Task(
                src_resources=_each(
                    (*(w for w, _ in before), *(self.resources[x] for t in tasks for x in t.src_resources))
                ),
                dst_resources=_each(self.resources[x] for t in tasks for x in t.dst_resources),
                warp_idx=first,
                num_warps=count,
                schedule=Schedule(name, body, self.trace.lines.get(id(tasks[0]))),
                num_registers=next(iter(registers)),
                name=name if any(t.name for t in tasks) else "",
                run_only_on_cta_id=tasks[0].run_only_on_cta_id if len(tasks) == 1 else None,
            )
            made.source = self.trace.lines.get(id(tasks[0]))
            yield made

    def _grid_waited_for(self, reader: TaskReader) -> list[tuple[Any, CapturedNode]]:
        """The wait for the grid before, where the kernel does it ahead of all tasks (``assume_pdl_wait_completed``)."""
        ts = task_scheduling().resources
        barriers = (ts.PdlWaitBarrier, ts.PdlLaunchBarrier)
        if not self.manager._assume_pdl_wait_completed:
            return []
        if not any(isinstance(r, barriers) for r in self.manager.resources):
            return []
        if self.waited is None:
            theirs = [r for r in self.manager.resources if isinstance(r, ts.PdlWaitBarrier)]
            self.waited = self.resources[theirs[0]] if theirs else PdlWaitBarrier(name="pdl_wait")
        op = CapturedOp(reader.recorder._next(), OpKind.WORK, self.waited, None, None, implicit=True)
        op.work = "wait_griddep"
        return [(self.waited, op)]

    def _body(self, reader: TaskReader, several: bool) -> list[CapturedNode]:
        nodes, rank = reader.nodes(), reader.task.run_only_on_cta_id
        if not several or rank is None:
            return nodes
        return [CapturedGuard(reader.recorder._next(), GuardKind.CTA_RANK, None, cta=rank, body=nodes)]

    def _allocator(self, theirs: Any, kind: type) -> Any:
        scratch = self.resources.scratch if kind is SmemAllocator else []
        if theirs is None and not scratch:
            return None
        ours = kind()
        if theirs is None:
            for allocation in scratch:
                ours.add(allocation)
            return ours
        known = {(a.name, a.size_bytes) for a in theirs._allocations if kind is SmemAllocator}
        for allocation in (a for a in scratch if (a.name, a.size_bytes) not in known):
            ours.add(allocation)
        grouped = [[list(phase) for phase in group] for group in theirs._alias_groups]
        every = [*theirs._allocations, *(a for g in grouped for phase in g for a in phase)]
        for allocation in {id(a): a for a in every}.values():
            ours.add(self.resources.allocation(allocation))
        for group in grouped:
            ours.add_alias_group([[self.resources.allocation(a) for a in phase] for phase in group])
        if theirs._layout_computed:
            ours.place(int(theirs._total))
            ours.fixed = kind is SmemAllocator and declares_places(self.resources)
        return ours

    def _capacities(self) -> dict[str, int]:
        """Only where a limit was given: the defaults are what the target has."""
        manager, kind, found = self.manager, type(self.manager), {}
        if manager._smem_capacity_bytes != kind._DEFAULT_SMEM_CAPACITY_BYTES:
            found["smem_capacity_bytes"] = int(manager._smem_capacity_bytes)
        if manager._tmem_capacity_columns != kind._DEFAULT_TMEM_CAPACITY_COLUMNS:
            found["tmem_capacity_columns"] = int(manager._tmem_capacity_columns)
        return found


def _each(items: Iterable[Any]) -> list[Any]:
    return list({id(item): item for item in items}.values())


def _assumed(document: Document) -> Document:
    """``document`` with the works marked whose accesses are the defaults: all but those of queues and grid barriers."""

    def marked(work: Work) -> Work:
        return replace(work, assumed=work.name not in READY_MADE)

    resources = (replace(r, works=tuple(marked(w) for w in r.works)) for r in document.resources)
    return replace(document, resources=tuple(resources))
