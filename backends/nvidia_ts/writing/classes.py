"""Resource classes as source for Task Scheduling, with a stub for the body of each work."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from warpdraft.core.document import Document, Resource, Space, Work
from warpdraft.core.python_text import Imports, Lines, call, literal
from warpdraft.core.tree import ops_of

from ..annotations import Annotations, Sync, WorkAnnotation
from .calls import call_of, conditions_of
from .errors import NotExpressible
from .predicates import QUEUE, methods_of
from .stated import constants_of

OF_QUEUES = {  # what a class gets from Task Scheduling's WorkQueue
    "values": ("work_tile", "skip_work_tile"),
    "works": ("init_work_tile", "get_and_advance_work_tile", "fetch_work_tile"),
}


@dataclass
class ClassWriter:
    """Writes the classes of a document's resources."""

    lines: Lines
    imports: Imports
    document: Document
    annotations: Annotations
    bodies: Mapping[tuple[str, str], str]  # what the document calls them

    def write(self, resource: Resource, name: str, base: str, placed: bool) -> None:
        """The class ``name`` of ``resource``, which says where it lies if it is ``placed``. Raises NotExpressible."""
        queue = base != "MemoryResource"
        values = dict.fromkeys(v for w in resource.works for v in w.returns)
        own = [v for v in values if not (queue and v in OF_QUEUES["values"])]
        if queue and own:
            raise NotExpressible(
                f"{resource.name}: a queue whose works return {own[0]}; Task Scheduling's own do not"
            )
        self.lines.add("\n")
        if not queue:  # which has a constructor of its own
            self.lines.add(f"@{self.imports('dataclass')}(kw_only=True)")
        if base in ("MemoryResource", QUEUE):
            self.imports(base)
        with self.lines.block(f"class {name}({base}):"):
            before = len(self.lines.lines)
            self._fields(resource, own, queue, placed and not queue)
            for work in resource.works:
                if queue and work.name in OF_QUEUES["works"] and not work.body:
                    continue
                self.lines.add()
                self._work(resource, work, name)
            if queue:
                self._predicates(name)
            if len(self.lines.lines) == before:
                self.lines.add("pass")

    def write_owner(self, name: str) -> None:
        """A class that queues come from: it has predicates alone."""
        self.lines.add("\n")
        with self.lines.block(f"class {name}({self.imports(QUEUE)}):"):
            self._predicates(name)

    def _predicates(self, cls: str) -> None:
        """The methods that leave tiles out."""
        for method in methods_of(self.document, cls):
            self.lines.add()
            with self.lines.block(f"def {method}(self, work_tile):"):
                self.lines.add(
                    f'raise NotImplementedError("write {cls}.{method}: whether the tile is left out")'
                )

    def _fields(self, resource: Resource, own: list[str], queue: bool, placed: bool) -> None:
        """Task-local variables and allocations."""
        kind = self.imports("TaskLocalVariable") if own else ""
        for value in own:
            self.lines.add(f"{attribute_of(value, resource)}: {kind} = {kind}.uninitialized()")
        if not queue:
            self.lines.add(f"allocations: list = {self.imports('field')}(default_factory=list)")
        if placed:
            self.lines.add(f"ranges: list = {self.imports('field')}(default_factory=list)")
        if own:
            self.lines.add()
            with self.lines.block("def __post_init__(self):"):
                for value in own:
                    attribute = attribute_of(value, resource)
                    given = [f"dtype={self.imports('cutlass')}.Int32", "default=cutlass.Int32(0)"]
                    given += [] if attribute == value else [f"runtime_slot_name={literal(value)}"]
                    self.lines.add_call(f"self.{attribute} = {kind}", given)
        if resource.storage is not None and not queue:
            hook = "get_smem_requirements" if resource.space is Space.SMEM else "get_tmem_requirements"
            self.lines.add()
            with self.lines.block(f"def {hook}(self):"):
                self.lines.add("return self.allocations")
        if placed:
            self.lines.add()
            with self.lines.block("def physical_ranges(self):"):
                self.lines.add("return self.ranges")

    def _work(self, resource: Resource, work: Work, cls: str) -> None:
        """Decorators, signature and body of a work."""
        said = self.annotations.works.get(f"{resource.name}.{work.name}", WorkAnnotation())
        options = [f"work_attrs={self.imports('WorkAttr')}.AUXILIARY"] if work.auxiliary else []
        options += [f"returns={literal(work.returns)}"] if work.returns else []
        decorator = self.imports(f"{work.role}_work")
        self.lines.add(call(f"@{decorator}", options) if options else f"@{decorator}")
        first = self._first_warp(resource, work)
        written = said.only_sync and (first is not None or all(s.warp is None for s in said.sync))
        if written:
            self.lines.add(f"@{self.imports('cute')}.jit")
        with self.lines.block(f"def {work.name}({', '.join(self._parameters(resource, work))}):"):
            if written:
                for sync in said.sync:
                    self._call(sync, first or 0)
            else:
                self._stub(resource, work, said, cls)

    def _parameters(self, resource: Resource, work: Work) -> list[str]:
        constants = constants_of(self.document, resource, work)
        names = (*work.parameters, *(p for p in constants if p not in work.parameters))
        fixed = f": {self.imports('cutlass')}.Constexpr" if any(constants.values()) else ""
        first = next((i for i, p in enumerate(names) if constants.get(p)), len(names))
        found = [f"{p}{fixed if constants.get(p) else ''}" for p in names]
        return ["self", "stage_info", *found[:first], *(["*", *found[first:]] if fixed else [])]

    def _first_warp(self, resource: Resource, work: Work) -> int | None:
        """The first warp of the task that calls ``work``; None: several tasks do."""
        called = (resource.name, work.name)
        found = {t.warp_idx for t in self.document.tasks for o in ops_of(t) if (o.target, o.work) == called}
        return found.pop() if len(found) == 1 else None

    def _call(self, sync: Sync, first_warp: int) -> None:
        """What a work that only synchronises does."""
        with ExitStack() as blocks:
            for condition in conditions_of(sync, first_warp):
                blocks.enter_context(self.lines.block(condition))
            self.lines.add(call_of(sync, self.annotations.barriers, self.imports))

    def _stub(self, resource: Resource, work: Work, said: WorkAnnotation, cls: str) -> None:
        """What stands for a body that its author writes: its name, and what its annotation asks for."""
        body = self.bodies.get((resource.name, work.name), "")
        if body and body != work.body:
            self.lines.add(f'"""{body.replace(chr(34), chr(39))}"""')
        for sync in said.sync:
            warp = f", warp {sync.warp} of the task" if sync.warp is not None else ""
            self.lines.add(f"# {sync.at} its accesses{warp}: {call_of(sync, self.annotations.barriers)}")
        missing = f'raise NotImplementedError("write the body of {cls}.{work.name}")'
        self.lines.add(missing if work.body else "pass")


def attribute_of(value: str, resource: Resource) -> str:
    """The attribute of a task-local variable: called like it, unless a work is."""
    return f"{value}_value" if any(w.name == value for w in resource.works) else value
