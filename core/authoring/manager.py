"""The task manager: builds the document of a schedule, verifies and prints it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

from .. import document
from ..document import Document, Space
from ..expressions import Symbol
from ..routes import CLC
from ..tensor_core import TENSOR
from .assembly import assemble, checked_graph
from .errors import ScheduleError, refuse
from .frames import caller
from .given import listed, shown, text
from .given import name as checked_name
from .integers import integer, optional_integer
from .memory import SmemAllocator, TmemAllocator
from .resources import MemoryResource
from .synchronisation import Named
from .tasks import Task
from .tracing import Traced, traced

if TYPE_CHECKING:
    from ..findings import Report

# Options of Task Scheduling's own checker and printing: nothing here depends on them.
WITHOUT_MEANING = {
    "dma_consumer_release_labels",
    "iket_enable_profiling",
    "iket_profiling_stages",
    "iket_profiling_resources",
    "skip_validation",
    "tmem_ptr_i32",
    "verbose",
    "exhaustive_deadlock_race_check",
    "assume_pdl_wait_completed",
}


class TaskManager:
    """All tasks of a kernel. ``resource_dependency_graph`` maps each downstream resource to its upstreams.

    Building it builds ``document`` and never raises for what the verifier reports; ScheduleError only for what a document
    cannot represent. ``target`` is the architecture ("": sm_100a where something is of its tensor cores or its tensor
    memory, else sm_90a), ``cluster`` the shape of a cluster (None: as the pipelines' cta_layout_vmnk lays it out). ``name``
    is the document's (default: the kernel's, else the file's); ``resources`` and ``symbols`` declare, in order, what tasks
    do not use or what should come first. ``smem_capacity_bytes`` and ``tmem_capacity_columns`` lower what a CTA may use
    (None: what the target has), ``ctas_per_sm`` is how many CTAs are to share a multiprocessor. ``gaps``: what a schedule
    does that a document cannot hold; each makes a verdict incomplete.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        resource_dependency_graph: Mapping[MemoryResource, Sequence[MemoryResource]],
        smem_allocator: SmemAllocator | None = None,
        tmem_allocator: TmemAllocator | None = None,
        target: str = "",
        cluster: tuple[int, int, int] | None = None,
        kernel: document.Kernel | None = None,
        *,
        name: str = "",
        resources: Iterable[Any] = (),
        symbols: Iterable[Symbol] = (),
        smem_capacity_bytes: int | None = None,
        tmem_capacity_columns: int | None = None,
        ctas_per_sm: int = 1,
        gaps: Iterable[str] = (),
        **other: Any,
    ) -> None:
        if unknown := set(other) - WITHOUT_MEANING:
            raise TypeError(f"TaskManager() got unexpected keywords {sorted(unknown)}")
        if cluster is not None and (not isinstance(cluster, tuple | list) or len(cluster) != 3):
            raise refuse(f"cluster has three dimensions, such as (2, 1, 1), not {cluster!r}")
        if any(integer("a dimension of cluster", ctas) < 1 for ctas in cluster or ()):
            raise refuse(f"each dimension of cluster has at least 1 CTA, not {cluster!r}")
        if not isinstance(tasks, list | tuple) or not all(isinstance(task, Task) for task in tasks):
            raise refuse(f"tasks must be a list of tasks, not {tasks!r:.60}")
        for what, given, kind in (
            ("smem_allocator", smem_allocator, SmemAllocator),
            ("tmem_allocator", tmem_allocator, TmemAllocator),
            ("kernel", kernel, document.Kernel),
        ):
            if given is not None and not isinstance(given, kind):
                raise refuse(f"{what} must be a {kind.__name__}, not {shown(given)}")
        resources = listed("resources", resources, (MemoryResource, Named), "resources, barriers and groups")
        symbols = listed("symbols", symbols, Symbol, "symbols")
        self._traced: Traced | None = None
        self.tasks = list(tasks)
        self.smem_allocator = smem_allocator
        self.tmem_allocator = tmem_allocator
        built = assemble(
            self.tasks,
            checked_graph(resource_dependency_graph),
            [a for a in (smem_allocator, tmem_allocator) if a is not None],
            resources,
            symbols,
            Document(
                name=checked_name("name of the schedule", name) or (kernel.name if kernel else _file_stem()),
                kernel=kernel,
                smem_capacity=optional_integer("smem_capacity_bytes", smem_capacity_bytes),
                tmem_capacity=optional_integer("tmem_capacity_columns", tmem_capacity_columns),
                ctas_per_sm=integer("ctas_per_sm", ctas_per_sm),
                gaps=tuple(listed("gaps", gaps, str, "texts")),
            ),
        )
        said = None if cluster is None else tuple(integer("a dimension of cluster", c) for c in cluster)
        self._document = replace(
            built,
            target=text("target", target) or target_of(built),
            cluster=cluster_of(built) if said is None else said,  # type: ignore[arg-type]
        )

    @property
    def document(self) -> Document:
        """The schedule as a value."""
        return self._document

    def prepare(
        self, *tensors: Any, sms: Any, unsafe: bool = False
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """In the `@cute.jit` function that launches the kernel: the arguments of `run`, and the keywords of the launch.

        ``tensors`` are those of ``kernel``, in its order; ``sms`` is how many multiprocessors the device has. Raises what
        exporting raises: the schedule must be safe, unless ``unsafe`` is set.
        """
        self._traced = traced(self.document, unsafe)
        return self._traced.prepare(*tensors, sms=sms)

    def run(self, arguments: tuple[Any, ...] = ()) -> None:
        """In a `@cute.kernel`, by all threads: emit the whole schedule, as an exported module has it.

        That is shared memory, mbarriers, and each task on its warps. The tasks' warps end it at different times.
        """
        if self._traced is None:
            raise refuse(
                "run() takes what prepare() gave: call that first, in the function that launches the kernel"
            )
        self._traced.run(arguments)

    def setup_resources_and_tasks(self) -> None:
        """Nothing: `run` sets up what it needs. Here for kernels written for Task Scheduling."""

    def verify(self, **options: Any) -> Report:
        """Check the schedule; options as for `core.verify.verify`. Prints nothing."""
        from ..verify import verify  # late: the verifier is not needed to capture

        return verify(self.document, **options)

    def print_and_verify(self, **options: Any) -> Report:
        """Print tables and verdict. Raises ScheduleError with ``.findings`` if the schedule is unsafe."""
        from ..report import render_schedule

        report = self.verify(**options)
        print(render_schedule(self.document, report))
        if report.verdict == "unsafe":
            first, count = report.errors[0], len(report.errors)
            message = f"{self.document.name!r} is unsafe: {count} error(s), first {first.code} {first.name}"
            raise ScheduleError(message, report.findings)
        return report


def target_of(document: Document) -> str:
    """The architecture that has what ``document`` uses."""
    types = {r.pipeline.type for r in document.resources if r.pipeline}
    engines = {w.engine for r in document.resources for w in r.works}
    tensor = any(r.space is Space.TMEM for r in document.resources) or bool(engines & set(TENSOR))
    return "sm_100a" if tensor or any("Umma" in t or t == CLC for t in types) else "sm_90a"


def cluster_of(document: Document) -> tuple[int, int, int]:
    """The largest cluster that a pipeline is laid out over, pairs along M."""
    layouts = [
        r.pipeline.cta_layout for r in document.resources if r.pipeline and len(r.pipeline.cta_layout) == 4
    ]
    v, m, n, k = max(layouts, key=prod, default=(1, 1, 1, 1))
    return v * m, n, k


def _file_stem() -> str:
    return os.path.splitext(os.path.basename(caller().source.file))[0]
