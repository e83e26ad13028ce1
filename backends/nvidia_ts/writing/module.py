"""A document as Python source for Task Scheduling: resource classes, ``@schedule`` functions, tasks and graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from warpdraft.core.document import Document, GuardKind, Loop, Resource, Space, Task
from warpdraft.core.expressions import Symbol, symbols_of
from warpdraft.core.python_resources import ready_made
from warpdraft.core.python_text import call, literal
from warpdraft.core.to_python import ModuleWriter, brackets, class_name
from warpdraft.core.tree import walk

from ..annotations import Annotations
from ..version import ROOT
from .allocators import write_allocators
from .bounds import bounds, getter_class, getter_of
from .classes import ClassWriter
from .errors import NotExpressible
from .predicates import base_of, has_predicates, predicates_of, written_owners
from .resources import allocations_text, config_text, group_text, ranges_text
from .schedules import TsScheduleWriter, predicate_name
from .stated import Stated, is_loose, stated
from .tasks import parts_of

MODULES = {
    "dataclass": "dataclasses",
    "field": "dataclasses",
    "CooperativeGroup": "cutlass.pipeline",
    "Agent": "cutlass.pipeline",
    "PipelineOp": "cutlass.pipeline",
    **dict.fromkeys("SmemAllocation SmemAllocator TmemAllocation TmemAllocator".split(), f"{ROOT}.memory"),
    **dict.fromkeys(
        (
            "PipelineConfig MemoryResource WorkQueue TaskLocalVariable TileSchedulerConfig PdlWaitBarrier "
            "PdlLaunchBarrier"
        ).split(),
        f"{ROOT}.resources",
    ),
    **dict.fromkeys("PipelineType SignalingThreads PipelineGroupMode".split(), f"{ROOT}.enums"),
    "PipelineGroup": f"{ROOT}.pipeline_group",
    "Task": f"{ROOT}.task",
    "TaskManager": f"{ROOT}.task_manager",
}
BARE = {  # modules that are used by their names
    "cutlass": "import cutlass",
    "cute": "import cutlass.cute as cute",
    "primitives": "from cutlass.experimental import primitives",
}
WHICH = "which"  # of the values that one getter gives, tells the tasks apart
WORDS = (*BARE, "threads", "RunTime", "options", "smem", "tmem", "tile_scheduler_params", "response_ptr")


@dataclass(frozen=True)
class Written:
    """The source ``text``, the annotation file beside it, the document that the source says (`stated`), and what of the
    original neither says."""

    text: str
    annotations: Annotations
    document: Document
    left_out: tuple[str, ...]


def to_task_scheduling(document: Document) -> Written:
    """``document`` as a module with ``build()``, which returns its ``TaskManager``.

    Raises NotExpressible for what Task Scheduling has no words for.
    """
    found = stated(document)
    try:
        text = _Module(found).text()
    except NotExpressible:
        raise
    except ValueError as error:
        raise NotExpressible(str(error)) from None
    return Written(text, found.annotations, found.document, tuple(found.left_out))


class _Module(ModuleWriter):
    """The parts of the source for Task Scheduling."""

    def __init__(self, found: Stated) -> None:
        document = replace(
            found.document, tasks=tuple(p for t in found.document.tasks for p in ranked_parts(t))
        )
        super().__init__(document)
        self.annotations, self.left_out = found.annotations, tuple(found.left_out)
        self.bodies, self.grid_waited = found.bodies, found.grid_waited
        self.plans, self.ranged = found.plans, found.ranged
        self.grouped = {m: g for g in document.pipeline_groups for m in g.members}
        self.queues = {
            n.queue for t in document.tasks for n in walk(t.body) if isinstance(n, Loop) and n.queue
        }

    def text(self) -> str:
        """The whole source."""
        document = self.document
        self.lines.add()
        if any(r.pipeline for r in document.resources):
            with self.lines.block("def threads(count):"):
                self.lines.add('"""``count`` arrivals."""')
                group, agent = self.imports("CooperativeGroup"), self.imports("Agent")
                self.lines.add(f"return {group}({agent}.Thread, count)")
        if self.values():
            self.lines.add("\n")
            with self.lines.block("class RunTime:"):
                self.lines.add(
                    '"""Stands for a number that only the kernel knows: give ``build`` a cutlass.Int32."""'
                )
        classes = self.classes()
        self.getters()
        self.predicates()
        self.functions = {t.name: self.names.new(t.name) for t in document.tasks}
        everything = [*document.resources, *document.pipeline_groups]
        self.objects = {thing.name: self.names.new(thing.name) for thing in everything}
        if not self.values():
            self.schedules()
        self.lines.add("\n")
        with self.lines.block(f"def build({self.parameters()}):"):
            self.lines.add(
                f'"""The schedule {document.name}; ``options`` are further ones of TaskManager."""'
            )
            if self.values():
                before = len(self.lines.lines)
                self.schedules()
                self.lines.lines[before:] = _closer(self.lines.lines[before:])
                self.lines.add()
            self.declarations(classes)
            self.manager()
        return "\n".join([*self.header(), *self.lines.lines]).rstrip() + "\n"

    # -- what is said in Task Scheduling's way --------------------------------------------------------------------------
    def reserved(self) -> Iterable[str]:
        """Names that mean something already."""
        return (
            *MODULES,
            *WORDS,
            "schedule",
            "domain_loop",
            "work_tile_loop",
            "when_true",
            "when_false",
            "WorkAttr",
        )

    def module_of(self, name: str) -> str:
        """Where ``name`` is imported from."""
        return MODULES.get(name, ROOT)

    def introduction(self) -> list[str]:
        """The lines above the imports."""
        lines = [
            f'"""The schedule {self.document.name} for NVIDIA Task Scheduling, written from its document.'
        ]
        if self.left_out:
            lines += ["", "Not said here:"] + [f"- {what}" for what in self.left_out]
        lines += ['"""' if self.left_out else "", ""]
        if not self.left_out:
            lines = [lines[0] + '"""', ""]
        return lines + self.whole

    def header(self) -> list[str]:
        """Docstring and imports."""
        self.whole = [BARE[name] for name in BARE if name in self.imports.used]
        self.imports.used -= set(BARE)
        lines = super().header()
        place = len(self.introduction()) - len(self.whole)
        own = [line for line in lines if line.startswith("from dataclasses")]
        rest = [line for line in lines[place:] if line not in own]
        return [*lines[:place], *own, *([""] if own else []), *rest]

    def values(self) -> list[Symbol]:
        """The run-time numbers that ``build`` is given."""
        found = [s for _, bound in bounds(self.document) for s in symbols_of(bound)]
        return [s for s in dict.fromkeys(found) if not s.per_tile]

    def getters(self) -> None:
        """The classes of tasks that ask for their trip count in each tile."""
        found = dict.fromkeys(b for _, b in bounds(self.document) if isinstance(b, Symbol) and b.per_tile)
        for symbol in found:
            family, place = getter_of(symbol)
            cls, base = self.names.new(getter_class(symbol)), family if place > 1 else self.imports("Task")
            several = any(getter_of(s) == (family, 2) for s in found)
            self.lines.add("\n")
            with self.lines.block(f"class {cls}({base}):"):
                if several:
                    self.lines.add(f"{WHICH} = {place}")
                if place > 1:
                    continue
                self.lines.add(*[""] * several)
                with self.lines.block("def get_domain(self, tile_coord):"):
                    which = f" with {WHICH} = {{self.{WHICH}}}" if several else ""
                    text = f'"write how often the loop of a {cls}{which} runs"'
                    self.lines.add(f"raise NotImplementedError({'f' * several}{text})")

    def task_class(self, task: Task) -> str:
        """The class of a task: one that has the getter of its loop."""
        for owner, bound in bounds(self.document):
            if owner.name == task.name and isinstance(bound, Symbol) and bound.per_tile:
                return getter_class(bound)
        return self.imports("Task")

    def parameters(self) -> str:
        """What ``build`` is called with."""
        given = [f"{self.symbols[s]}=RunTime()" for s in self.values()]
        if self.queues:
            given.append("tile_scheduler_params=None")
        if self.dynamic():
            given.append("response_ptr=None")
        return ", ".join([*given, "**options"])

    def dynamic(self) -> bool:
        """Whether tiles are fetched at run time."""
        return any(_scheduler(r) == "ClcDynamicPersistent" for r in self.document.resources)

    def schedule_writer(self, task: Task) -> TsScheduleWriter:
        """The writer of one task's schedule."""
        return TsScheduleWriter(
            self.document, task, self.imports, self.expressions, self.resources, self.objects, self.names
        )

    def given(self, name: str) -> str:
        """What a schedule function is called with for ``name``."""
        if name in self.grouped:
            return f"{self.objects[self.grouped[name].name]}.{name}"
        return self.objects[name]

    def task_options(self, task: Task) -> list[tuple[str, str]]:
        """The CTA that alone runs a task."""
        rank = _only_in_cta(task)
        return [] if rank is None else [("run_only_on_cta_id", str(rank))]

    def schedules(self) -> None:
        """The schedule functions."""
        whole = self.document
        self.document = replace(whole, tasks=tuple(_unranked(t) for t in whole.tasks))
        super().schedules()
        self.document = whole

    # -- module level ---------------------------------------------------------------------------------------------------
    def classes(self) -> dict[str, str]:
        """Write a class for each resource that is none of Task Scheduling's own; returns the class of each."""
        found: dict[str, str] = {}
        written: dict[tuple, str] = {}
        writer = ClassWriter(self.lines, self.imports, self.document, self.annotations, self.bodies)
        for owner in written_owners(self.document):
            writer.write_owner(self.names.new(owner))
        for resource in self.document.resources:
            own = ready_made(resource)
            if is_loose(self.document, resource):
                continue
            if own is not None and not has_predicates(self.document, resource):
                found[resource.name] = self.imports(own.__name__)
                continue
            if not resource.works and resource.storage is None:
                found[resource.name] = self.imports("MemoryResource")
                continue
            base = base_of(self.document, resource) if resource.name in self.queues else "MemoryResource"
            said = tuple(self.annotations.works.get(f"{resource.name}.{w.name}") for w in resource.works)
            placed = resource.name in self.ranged
            kind = (resource.cls, resource.works, said, resource.space, placed, base)
            if kind not in written:
                written[kind] = self.names.new(class_name(resource))
                writer.write(resource, written[kind], base, placed)
            found[resource.name] = written[kind]
        return found

    def predicates(self) -> None:
        """The functions that say which tiles are left out."""
        for name in sorted(n for n in predicates_of(self.document) if "." not in n):
            self.lines.add("\n")
            with self.lines.block(f"def {self.names.new(predicate_name(name))}(work_queue, work_tile):"):
                self.lines.add(f'raise NotImplementedError("write {name}: whether the tile is left out")')

    # -- build() --------------------------------------------------------------------------------------------------------
    def declarations(self, classes: dict[str, str]) -> None:
        """Resources, groups and allocators."""
        for resource in self.document.resources:
            made = f"{self.objects[resource.name]} = {classes.get(resource.name, '')}"
            if resource.name in classes:
                self.lines.add_call(made, self.arguments(resource))
            else:
                self.lines.add(made + allocations_text(self.imports, resource)[1:-1])
        for group in self.document.pipeline_groups:
            given = group_text(self.imports, self.document, group, self.listed(group.members))
            self.lines.add_call(f"{self.objects[group.name]} = {self.imports('PipelineGroup')}", given)
        write_allocators(self.lines, self.imports, self.document, self.objects, self.plans)

    def arguments(self, resource: Resource) -> list[str]:
        """What a resource is made with."""
        given = [f"name={literal(resource.name)}"]
        if resource.name in self.queues or (
            ready_made(resource) is not None and resource.space is Space.QUEUE
        ):
            kind = _scheduler(resource)
            factory, more = "create_static_persistent_tile_scheduler_params", ""
            if kind == "ClcDynamicPersistent":
                factory, more = "create_clc_dynamic_persistent_tile_scheduler_params", ", response_ptr"
            arguments = [f"tile_scheduler_params{more}"]
            config = call(f"{self.imports('TileSchedulerConfig')}.{factory}", arguments, width=80)
            given.append(f"tile_scheduler_config={config}")
        if resource.pipeline is not None:
            given.append(f"pipeline_config={config_text(self.imports, self.document, resource)}")
        if resource.storage is not None and resource.space is not Space.QUEUE:
            given.append(f"allocations={allocations_text(self.imports, resource)}")
            if resource.name in self.ranged:
                given.append(f"ranges={ranges_text(resource)}")
        return given

    def manager(self) -> None:
        """Tasks and graph."""
        document = self.document
        if not document.graph and not document.roots:
            raise NotExpressible(
                f"{document.name}: it has no dependency graph, which a TaskManager of Task Scheduling needs: draw one"
            )
        options = [
            ("tasks", brackets("[", self.tasks(), "]")),
            ("resource_dependency_graph", brackets("{", list(self.graph()), "}")),
        ]
        for space, word in ((Space.SMEM, "smem"), (Space.TMEM, "tmem")):
            if any(r.storage and r.space is space for r in document.resources):
                options.append((f"{word}_allocator", word))
        if self.grid_waited:
            options.append(("assume_pdl_wait_completed", "True"))
        if document.smem_capacity is not None:
            options.append(("smem_capacity_bytes", str(document.smem_capacity)))
        if document.tmem_capacity is not None:
            options.append(("tmem_capacity_columns", str(document.tmem_capacity)))
        given = [f"{k}={v}" for k, v in options]
        self.lines.add_call(f"return {self.imports('TaskManager')}", [*given, "**options"])


def _closer(lines: list[str]) -> list[str]:
    """``lines`` with one empty line where there are several."""
    return [line for line, above in zip(lines, ["above", *lines], strict=False) if line or above]


def _scheduler(resource: Resource) -> str:
    said = dict(resource.params).get("scheduler")
    clc = resource.pipeline is not None and resource.pipeline.type == "ClcFetchAsync"
    return "ClcDynamicPersistent" if clc or said == "ClcDynamicPersistent" else "StaticPersistent"


def _only_in_cta(task: Task) -> int | None:
    alone = task.body[0] if len(task.body) == 1 else None
    return alone.cta if getattr(alone, "kind", None) is GuardKind.CTA_RANK else None


def ranked_parts(task: Task) -> list[Task]:
    """The parts of a task, each for the CTA that alone runs it."""
    if _only_in_cta(task) is None:
        return parts_of(task)
    whole = task.body[0]
    return [replace(p, body=(replace(whole, body=p.body),)) for p in parts_of(_unranked(task))]


def _unranked(task: Task) -> Task:
    return task if _only_in_cta(task) is None else replace(task, body=task.body[0].body)
