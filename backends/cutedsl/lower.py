"""From a document to the statements of a kernel module, in the order of the file."""

from __future__ import annotations

from collections.abc import Iterator

from warpdraft.core.document import Document, OpKind, Space
from warpdraft.core.limits import too_large
from warpdraft.core.occupancy import ctas_per_sm
from warpdraft.core.tree import ops_of

from .checks import checks
from .clusters import RANK
from .errors import LoweringError
from .fixed import (
    PRELUDES,
    WRAPPERS,
    assignment,
    definition,
    functions,
    imports,
    names_in,
    operations,
    used_names,
)
from .module import BUILDS, Module
from .printer import print_source
from .roles import branches, drains
from .rows import in_rows
from .syntax import (
    Blank,
    Comment,
    Function,
    Operand,
    Return,
    Statement,
    Verbatim,
    assign,
    binary,
    call,
    expression,
    index,
    mapping,
    run,
    text,
)


def lower(document: Document, heading: str = "", build: str = "") -> str:
    """The module's source. ``heading`` is put into its first lines; ``build`` is "" or one of `BUILDS`.

    Raises LoweringError."""
    module = _module(document, build)
    body = tuple(branches(module))
    name = module.kernel_name = module.names.new(module.kernel.name)
    kernel = _kernel(module, name, "cute.kernel", body)
    host = _launch(module)  # after the kernel: bodies have said by now what they need
    return _file(module, heading, (kernel, Blank(2), host), tuple(checks(module)))


def lower_traced(document: Document, heading: str = "") -> str:
    """Source with two functions for a kernel of the user's: ``prepare(tensors, sms)``, for its host part, gives the
    arguments of ``run`` and the options of the launch; ``run``, called in the kernel, is what `lower` makes the whole
    kernel. Raises LoweringError."""
    module = _module(document, "")
    run_ = _kernel(module, "run", "cute.jit", tuple(branches(module)))
    return _file(module, heading, (run_, Blank(2), _prepare(module)), ())


def _module(document: Document, build: str) -> Module:
    if reason := too_large(document):
        raise LoweringError(reason)
    return Module(document, build)


def _file(module: Module, heading: str, kernel: tuple[Statement, ...], ending: tuple[Statement, ...]) -> str:
    """The text of a module: what ``kernel`` and ``ending`` use, then both."""
    names, methods = used_names((*kernel, *ending))
    own = (s for text_ in module.own_bodies for s in (Blank(2), Verbatim(text_)))
    parts = (*_prelude(names, methods, module.build), *own)
    fixed = [s.text for s in (*parts, *ending) if isinstance(s, Verbatim)]
    for source in fixed:
        names |= names_in(source)
    statements: list[Statement] = [
        Verbatim(_docstring(module, heading)),
        Blank(),
        *imports(names),
        Blank(),
        *_types(module),
        *_record_constants(module),
        *_section("Operations", parts),
        *_section("Kernel", kernel),
    ]
    if ending:
        statements += _section("Running it", ending)
    return print_source(statements)


def _section(title: str, statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    return (Blank(2), Comment(f"---- {title} ".ljust(100, "-")), *statements)


def _types(module: Module) -> Iterator[Statement]:
    for constant, dtype in {t.constant: t.dtype for t in module.types.values()}.items():
        yield assign(constant, f"cutlass.{dtype.cutlass}")


RUN = " `python FILE` checks the kernel and times it."


def _docstring(module: Module, heading: str) -> str:
    document = module.document
    lines = [f"{document.name}: warp-specialised kernel for {document.target}, exported by warpdraft.", ""]
    if heading:
        lines = [heading, "", *lines]
    lines.append(f"Each line of the schedule is tagged with its op's id.{RUN if module.kernel_name else ''}")
    lines.append("")
    if (ctas := ctas_per_sm(document)) > 1:
        lines.append(f"{ctas} CTAs on each multiprocessor")
    for task in document.tasks:
        last = task.warp_idx + task.num_warps - 1
        where = f"warp {task.warp_idx}" if task.num_warps == 1 else f"warps {task.warp_idx} to {last}"
        registers = f", {task.num_registers} registers" if task.num_registers else ""
        lines.append(f"task {task.name}: {where}{registers}")
    for resource in document.resources:
        if resource.storage and resource.name in module.storage.offsets:
            storage = resource.storage
            ring = ", a ring" if resource.pipeline else ""
            lines.append(
                f"{resource.name}: {storage.stages} x {storage.bytes} bytes of {resource.space.value}{ring}"
            )
    escaped = "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{escaped}\n"""'


WAITS = (OpKind.ACQUIRE, OpKind.WAIT, OpKind.MBARRIER_WAIT, OpKind.PRODUCER_TAIL)
CONSTANTS = {
    "": (),
    "watchdog": (("DEADLINE", "ns that a wait may take"), ("CTAS", "that have room for a record")),
    "profile": (
        ("CTAS", "that have room for records"),
        ("STEPS", "occurrences of an op in a warp that have room"),
        ("HEADER", "values of a warp before those of its ops"),
        ("MOST", "readings that are written together"),
        ("SILENT", "have no instruction of their own"),
        ("LAYOUT", "rows of operations, while the kernel is traced"),
    ),
    "jitter": (
        ("SEEDS", "that a check runs"),
        ("LONGEST", "ns of one delay: a power of two less one"),
    ),
}


def _record_constants(module: Module) -> Iterator[Statement]:
    """What a debug build refers to: ops by their position here, warps by their number."""
    if not module.build:
        return
    for name, note in CONSTANTS[module.build]:
        yield Verbatim(f"{assignment(module.build, name)}  # {note}")
    yield assign("WARPS", module.warps)
    every = module.build != "watchdog"
    drained = {op.id for task in module.document.tasks for _, op, _ in drains(module, task)}
    ops = [
        op.id
        for task in module.document.tasks
        for op in ops_of(task)
        if every or op.kind in WAITS or op.id in drained
    ]
    yield assign("OPS", expression(tuple(text(op) for op in ops)))


def _prelude(names: set[str], methods: set[str], build: str) -> tuple[Statement, ...]:
    """The parts of the prelude that the kernel uses, or that such a part uses."""
    texts = {n: definition(file, n) for file in PRELUDES for n in functions(file) if n != "Ops"}
    names = names | names_in(operations(methods, build))
    while more := {n for t in names & texts.keys() for n in names_in(texts[t])} & texts.keys() - names:
        names |= more
    parts: list[Statement] = []
    for name in dict.fromkeys((*functions(PRELUDES[0]), *texts)):
        if name == "Ops":
            if build in WRAPPERS:
                parts += [Blank(2) if parts else Blank(0), Verbatim(definition(build, WRAPPERS[build]))]
            parts += [Blank(2) if parts else Blank(0), Verbatim(operations(methods, build))]
        elif name in names:
            parts += [Blank(2) if parts else Blank(0), Verbatim(texts[name])]
    return tuple(parts)


# -- the kernel
def _kernel(module: Module, name: str, decorator: str, body: tuple[Statement, ...]) -> Function:
    set_up: list[Statement] = [
        assign("warp_idx", call("cute.arch.make_warp_uniform", call("cute.arch.warp_idx"))),
        *_grid_position(module),
        assign("op", call("Ops", *((BUILDS[module.build][0], "warp_idx") if module.build else ()))),
        *([run("op.start")] if module.build == "profile" else []),
        Blank(),
        *module.storage.set_up(),
        Blank(),
        *module.storage.init_barriers([c.atom for c in module.copies]),
        Blank(),
    ]
    parameters = tuple((a.name, expression(a.annotation)) for a in module.arguments)
    if module.build == "profile":
        body = (*in_rows(body), run("op.finish"))
    return Function(name, parameters, (*set_up, *body), expression(decorator))


def _grid_position(module: Module) -> Iterator[Statement]:
    """Clusters count as one block each; ``rank`` is the CTA's place in its own."""
    size = module.cluster.size
    yield assign("block", binary(index(call("cute.arch.block_idx"), 0), "//", size))
    if size > 1:
        yield assign(RANK, call("cute.arch.make_warp_uniform", call("cute.arch.block_idx_in_cluster")))
    if not module.persistent or module.dynamic:
        return
    yield assign("blocks", binary(index(call("cute.arch.grid_dim"), 0), "//", size))
    yield assign("turns", call("cute.ceil_div", binary(module.tile_count(), "-", "block"), "blocks"))


# -- the host
def _launch(module: Module) -> Function:
    options = _launch_options(module)
    started = assign("started", call(module.kernel_name, *(a.name for a in module.arguments)))
    launched = run("started.launch", **options, stream="stream")
    parameters = tuple((v, expression("cute.Tensor")) for v in module.variables.values())
    own = [(name, expression(kind)) for name, kind in [BUILDS[module.build]]] if module.build else []
    more = (*own, ("sms", expression("Int32")), ("stream", expression("cuda.CUstream")))
    return Function(
        "launch",
        (*parameters, *more),
        (*module.host, *(c.made for c in module.copies), started, launched),
        expression("cute.jit"),
    )


def _prepare(module: Module) -> Function:
    options = mapping(_launch_options(module))
    arguments = expression(tuple(a.name for a in module.arguments))
    parameters = tuple((name, None) for name in (*module.variables.values(), "sms"))
    made = (*module.host, *(c.made for c in module.copies))
    return Function("prepare", parameters, (*made, Return(expression((arguments, options)))))


def _launch_options(module: Module) -> dict[str, Operand]:
    """What the launch needs to know, apart from its stream; may add to the host's part."""
    ctas, size = ctas_per_sm(module.document), module.cluster.size
    if module.persistent and not module.dynamic:
        most = binary(binary("sms", "*", ctas), "//", size)
        grid = binary(call("cutlass.min", module.tile_count(), most), "*", size)
    else:
        grid = module.host_value(module.kernel.grid)
    return {
        "grid": (grid, 1, 1),
        "block": (32 * module.warps, 1, 1),
        **({"cluster": (size, 1, 1)} if size > 1 else {}),
        **({"use_pdl": True} if any(r.space is Space.PDL for r in module.document.resources) else {}),
        "min_blocks_per_mp": ctas,
        **({"preferred_smem_carveout": 100} if ctas > 1 else {}),  # percent; else the DSL asks a device
    }
