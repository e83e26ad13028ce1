"""A document written back as authoring source: capturing it gives an equal schedule (`core.equality`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .authoring.resources import is_work_name
from .document import Document, Resource, Task
from .expressions import Symbol, symbols_of
from .op_integers import symbols_used
from .python_resources import ResourceWriter, ready_made
from .python_schedules import ScheduleWriter, tile_counts, used_objects
from .python_text import Expressions, Imports, Lines, Names, call, keywords, literal

FACE = "warpdraft.core"
RECORDS = {
    "Operation": "expressions",
    "Symbol": "expressions",
    "LoopVariable": "expressions",
    "Pipeline": "document",
}  # not in the public face
CAPACITIES = {"smem_capacity": "smem_capacity_bytes", "tmem_capacity": "tmem_capacity_columns"}


def to_python(document: Document) -> str:
    """Source of a module with ``build()``, which returns the task manager of ``document``.

    Raises ValueError where the document holds a name that no Python source can have (of a work, say).
    """
    return ModuleWriter(document).text()


class ModuleWriter:
    """The parts of the source, and the names that they share. A dialect overrides what it says in another way."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.imports = Imports()
        self.names = Names()
        for word in (*self.reserved(), "build"):
            self.names.new(word)
        self.symbols = {s: self.names.new(s.name) for s in self.values()}
        self.expressions = Expressions(self.imports, self.symbols)
        self.resources = ResourceWriter(
            self.imports, self.expressions, tile_counts(document.tasks), document.tasks
        )
        self.objects: dict[str, str] = {}
        self.functions: dict[str, str] = {}
        self.lines = Lines()

    def values(self) -> list[Symbol]:
        """The symbols that are variables of the source."""
        return list(dict.fromkeys([*self.document.symbols, *_kernel_symbols(self.document)]))

    def text(self) -> str:
        """The whole source."""
        self.define_symbols()
        classes = self.classes()
        self.functions = {t.name: self.names.new(t.name) for t in self.document.tasks}
        everything = [
            *self.document.resources,
            *self.document.barriers,
            *self.document.mbarriers,
            *self.document.groups,
            *self.document.pipeline_groups,
        ]
        self.objects = {thing.name: self.names.new(thing.name) for thing in everything}
        self.schedules()
        self.lines.add("\n")
        with self.lines.block(f"def build({self.parameters()}):"):
            if self.document.name.isidentifier():
                self.lines.add(f'"""The schedule {self.document.name}."""')
            self.declarations(classes)
            self.manager()
        return "\n".join([*self.header(), *self.lines.lines]).rstrip() + "\n"

    # -- what a dialect says in its own way -----------------------------------------------------------------------------
    def reserved(self) -> Iterable[str]:
        """Names that mean something already."""
        return _face_names()

    def module_of(self, name: str) -> str:
        """Where ``name`` is imported from."""
        return f"{FACE}.{RECORDS[name]}" if name in RECORDS else FACE

    def introduction(self) -> list[str]:
        """The lines above the imports."""
        return ['"""A schedule, written from its document."""', ""]

    def define_symbols(self) -> None:
        """Give each symbol its variable."""
        for symbol, variable in self.symbols.items():
            self.lines.add(f"{variable} = {self.expressions.definition(symbol)}")

    def parameters(self) -> str:
        """What ``build`` is called with."""
        return ""

    def schedule_writer(self, task: Task) -> ScheduleWriter:
        """The writer of one task's schedule."""
        return ScheduleWriter(
            self.document, task, self.imports, self.expressions, self.resources, self.objects, self.names
        )

    def given(self, name: str) -> str:
        """What a schedule function is called with for the resource, barrier or group ``name``."""
        return self.objects[name]

    def task_class(self, task: Task) -> str:
        """The class of a task."""
        return self.imports("Task")

    def task_options(self, task: Task) -> list[tuple[str, str]]:
        """Further arguments of a task."""
        return []

    def header(self) -> list[str]:
        """Docstring and imports, known when all else is written."""
        groups: dict[str, list[str]] = {}
        for name in sorted(self.imports.used, key=lambda n: (not n.isupper(), not n[0].isupper(), n)):
            groups.setdefault(self.module_of(name), []).append(name)
        lines = self.introduction()
        for module, names in sorted(groups.items()):
            line = f"from {module} import {', '.join(names)}"
            if len(line) > 110:
                line = f"from {module} import (\n" + "".join(f"    {n},\n" for n in names) + ")"
            lines += line.split("\n")
        return [*lines, ""]

    # -- module level ---------------------------------------------------------------------------------------------------
    def classes(self) -> dict[str, str]:
        """Write a class for each kind of resource; returns the class of each resource."""
        found: dict[str, str] = {}
        written: dict[tuple[str, object], str] = {}
        for resource in self.document.resources:
            own = ready_made(resource)
            if own is not None:
                found[resource.name] = self.imports(own.__name__)
                continue
            if not resource.works:
                found[resource.name] = self.imports("MemoryResource")
                continue
            parts = resource.storage.parts if resource.storage else ()
            kind = (resource.cls, (resource.works, parts))
            if kind not in written:
                written[kind] = self.names.new(class_name(resource))
                self.write_class(written[kind], resource)
            found[resource.name] = written[kind]
        return found

    def write_class(self, name: str, resource: Resource) -> None:
        """One resource class with its works."""
        self.lines.add("\n")
        with self.lines.block(f"class {name}({self.imports('MemoryResource')}):"):
            for i, work in enumerate(resource.works):
                names = [work.name]
                odd = [n for n in names if not is_work_name(n)]
                if odd:
                    raise ValueError(
                        f"{resource.name}.{work.name}: {odd[0]!r} cannot be a name in its source"
                    )
                if i:
                    self.lines.add()
                self.lines.add(self.resources.decorator(resource, work))
                parameters = ", ".join(["self", "stage_info", *work.parameters])
                self.lines.add(f"def {work.name}({parameters}): ...")

    def schedules(self) -> None:
        """The schedule functions."""
        for task in self.document.tasks:
            used = [self.objects[n] for n in used_objects(task.body)]
            writer = self.schedule_writer(task)
            with writer.lines.block(f"def {self.functions[task.name]}({', '.join(used)}):"):
                writer.write(task.body)
            self.lines.add(f"\n\n@{self.imports('schedule')}")
            for line in writer.lines.lines:
                self.lines.add(line)

    # -- build() --------------------------------------------------------------------------------------------------------
    def declarations(self, classes: dict[str, str]) -> None:
        """Resources, barriers and groups."""
        for resource in self.document.resources:
            text = self.resources.constructor(resource, classes[resource.name])
            self.lines.add(f"{self.objects[resource.name]} = {text}")
        for barrier in self.document.barriers:
            arguments = [str(barrier.id), str(barrier.threads), f"name={literal(barrier.name)}"]
            self.lines.add_call(f"{self.objects[barrier.name]} = {self.imports('NamedBarrier')}", arguments)
        for m in self.document.mbarriers:
            options = [f"count={m.count}"] if m.count is not None else []
            options += [f"stages={m.stages}"] if m.stages != 1 else []
            options += [f"scope={literal(m.scope)}"] if m.scope is not None else []
            options += [f"address={m.address}"] if m.address is not None else []
            self.lines.add_call(
                f"{self.objects[m.name]} = {self.imports('MBarrier')}", [literal(m.name), *options]
            )
        for group in self.document.groups:
            arguments = [literal(group.kind.value), f"name={literal(group.name)}"]
            self.lines.add_call(f"{self.objects[group.name]} = {self.imports('AsyncGroup')}", arguments)

        for pipelines in self.document.pipeline_groups:
            arguments = [f"name={literal(pipelines.name)}", f"members={self.listed(pipelines.members)}"]
            arguments.append(f"mode={literal(pipelines.mode.value)}")
            if pipelines.pipeline is not None:
                arguments.append(f"pipeline_config={self.resources.pipeline(pipelines.pipeline)[1]}")
            self.lines.add_call(
                f"{self.objects[pipelines.name]} = {self.imports('PipelineGroup')}", arguments
            )

    def tasks(self) -> list[str]:
        """The calls that make the tasks."""
        tasks = []
        for task in self.document.tasks:
            used = ", ".join(self.given(n) for n in used_objects(task.body))
            options = [
                ("name", literal(task.name)),
                ("src_resources", self.listed(task.src)),
                ("dst_resources", self.listed(task.dst)),
                ("warp_idx", str(task.warp_idx)),
                ("num_warps", str(task.num_warps)),
                ("schedule", f"{self.functions[task.name]}({used})"),
            ]
            if task.num_registers is not None:
                options.append(("num_registers", str(task.num_registers)))
            options += self.task_options(task)
            tasks.append(call(self.task_class(task), keywords(options), width=90))
        return tasks

    def manager(self) -> None:
        """Tasks, graph and kernel."""
        document = self.document
        options = [
            ("tasks", brackets("[", self.tasks(), "]")),
            ("resource_dependency_graph", brackets("{", list(self.graph()), "}")),
            ("target", literal(document.target)),
            ("cluster", literal(document.cluster)),
            ("name", literal(document.name)),
        ]
        for field, keyword in CAPACITIES.items():
            if getattr(document, field) is not None:
                options.append((keyword, str(getattr(document, field))))
        if document.ctas_per_sm != 1:
            options.append(("ctas_per_sm", str(document.ctas_per_sm)))
        if document.gaps:
            options.append(("gaps", literal(document.gaps)))
        if document.kernel is not None:
            options.append(("kernel", self.resources.kernel(document.kernel)))
        declared = self.declared()
        if declared:
            options.append(("resources", f"[{', '.join(declared)}]"))
        if document.symbols != _symbols_in_order(document):
            options.append(("symbols", f"[{', '.join(self.symbols[s] for s in document.symbols)}]"))
        self.lines.add_call(f"return {self.imports('TaskManager')}", keywords(options))

    def graph(self) -> Iterator[str]:
        """Each downstream resource with its upstreams."""
        for downstream in dict.fromkeys(e.downstream for e in self.document.graph):
            upstreams = [e.upstream for e in self.document.graph if e.downstream == downstream]
            yield f"{self.objects[downstream]}: {self.listed(upstreams)}"
        yield from (f"{self.objects[root]}: []" for root in self.document.roots)

    def declared(self) -> list[str]:
        """What must be handed over so that everything is declared, in the document's order; [] if it is so anyway."""
        document = self.document
        natural: dict[str, None] = {}
        for task in document.tasks:
            natural |= dict.fromkeys((*task.src, *task.dst))
        for downstream in dict.fromkeys(e.downstream for e in document.graph):
            natural.setdefault(downstream)
            natural |= dict.fromkeys(e.upstream for e in document.graph if e.downstream == downstream)
        natural |= dict.fromkeys(document.roots)
        for task in document.tasks:
            natural |= dict.fromkeys(used_objects(task.body))
        for name in list(natural):
            natural |= {g.name: None for g in document.pipeline_groups if name in g.members}
        kinds = (
            document.resources,
            document.barriers,
            document.mbarriers,
            document.groups,
            document.pipeline_groups,
        )
        in_order = all(
            [t.name for t in kind] == [n for n in natural if n in {t.name for t in kind}] for kind in kinds
        )
        return [] if in_order else [self.objects[thing.name] for kind in kinds for thing in kind]

    def listed(self, names: Iterable[str]) -> str:
        """The variables of ``names`` as a list display."""
        return f"[{', '.join(self.objects[n] for n in names)}]"


def _face_names() -> list[str]:
    import warpdraft.core as face  # at the time of the call: this module is part of it

    return [*face.__all__, *RECORDS]


def class_name(resource: Resource) -> str:
    """What the class of ``resource`` is called: as where it was captured, else after the resource."""
    last = resource.cls.rpartition(":")[2].rpartition(".")[2]
    return (
        last
        if last.isidentifier()
        else "".join(w.capitalize() for w in resource.name.split("_")) or "Resource"
    )


def _kernel_symbols(document: Document) -> Iterator[Symbol]:
    kernel = document.kernel
    if kernel is None:
        return
    for expression in [
        *(s for t in kernel.tensors for s in t.shape),
        *(e for _, e in kernel.trip_counts),
        kernel.grid,
    ]:
        yield from symbols_of(expression)


def _symbols_in_order(document: Document) -> tuple[Symbol, ...]:
    return tuple(dict.fromkeys(s for task in document.tasks for s in symbols_used(task.body)))


def brackets(opening: str, items: list[str], closing: str) -> str:
    """A display with one item a line."""
    inner = "".join(f"    {item.replace(chr(10), chr(10) + '    ')},\n" for item in items)
    return f"{opening}\n{inner}{closing}" if items else opening + closing
