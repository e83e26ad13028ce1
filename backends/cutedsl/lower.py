"""From a document to the statements of a kernel module, in the order of the file."""

from __future__ import annotations

from collections.abc import Iterator

from warpdraft.core.document import Document
from warpdraft.core.expressions import Integer, Symbol, symbols_of

from .errors import LoweringError
from .fixed import assignment, definition, functions, imports, names_in, operations, used_names
from .module import Module
from .printer import print_source
from .roles import branches
from .syntax import (
    Blank,
    Comment,
    Expression,
    Function,
    If,
    Line,
    Statement,
    Verbatim,
    assign,
    attribute,
    binary,
    call,
    compare,
    expression,
    index,
    text,
)
from .values import plain_python

REFERENCES = {
    "gemm": ("torch.mm", 2),
    "copy": ("Tensor.copy_", 1),
}  # reference: library call, number of inputs


def lower(document: Document, heading: str = "") -> str:
    """The module's source. ``heading`` is put into its first lines. Raises LoweringError."""
    module = Module(document)
    body = tuple(branches(module))
    kernel = _kernel(module, body)
    host = _launch(module)  # after the kernel: bodies have said by now what they need
    checks = tuple(_checks(module))
    names, methods = used_names((*kernel, *host, *checks))
    parts = _prelude(names, methods)
    fixed = [s.text for s in (*parts, *checks) if isinstance(s, Verbatim)]
    for source in fixed:
        names |= names_in(source)
    statements: list[Statement] = [
        Verbatim(_docstring(module, heading)),
        Blank(),
        *imports(names),
        Blank(),
        assign("DTYPE", f"cutlass.{module.dtype.cutlass}"),
        *_section("Operations", parts),
        *_section("Kernel", (*kernel, Blank(2), *host)),
    ]
    if checks:
        statements += _section("Running it", checks)
    return print_source(statements)


def _section(title: str, statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    return (Blank(2), Comment(f"---- {title} ".ljust(100, "-")), *statements)


def _docstring(module: Module, heading: str) -> str:
    document = module.document
    lines = [f"{document.name}: warp-specialised kernel for {document.target}, exported by warpdraft.", ""]
    if heading:
        lines = [heading, "", *lines]
    lines.append(
        "Each line of the schedule is tagged with its op's id. `python FILE` checks the kernel and times it."
    )
    lines.append("")
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


def _prelude(names: set[str], methods: set[str]) -> tuple[Statement, ...]:
    parts: list[Statement] = []
    for name in functions("prelude"):
        if name == "Ops":
            parts += [Blank(2) if parts else Blank(0), Verbatim(operations(methods))]
        elif name in names:
            parts += [Blank(2) if parts else Blank(0), Verbatim(definition("prelude", name))]
    return tuple(parts)


# -- the kernel
def _kernel(module: Module, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    set_up: list[Statement] = [
        assign("warp_idx", call("cute.arch.make_warp_uniform", call("cute.arch.warp_idx"))),
        *_grid_position(module),
        assign("op", call("Ops")),
        Blank(),
        *module.storage.set_up(),
        Blank(),
        *module.storage.init_barriers(module.atoms),
        Blank(),
    ]
    parameters = tuple((a.name, expression(a.annotation)) for a in module.arguments)
    name = module.names.new(module.kernel.name)
    module.kernel_name = name
    return (Function(name, parameters, (*set_up, *body), expression("cute.kernel")),)


def _grid_position(module: Module) -> Iterator[Statement]:
    yield assign("block", index(call("cute.arch.block_idx"), 0))
    if not module.persistent:
        return
    yield assign("blocks", index(call("cute.arch.grid_dim"), 0))
    yield assign("turns", call("cute.ceil_div", binary(module.tile_count(), "-", "block"), "blocks"))


# -- the host
def _launch(module: Module) -> tuple[Statement, ...]:
    if module.persistent:
        grid = call("cutlass.min", module.tile_count(), "sms")
    else:
        grid = module.host_value(module.kernel.grid)
    start = call(module.kernel_name, *(a.name for a in module.arguments))
    launched = Line(
        call(
            attribute(start, "launch"),
            grid=(grid, 1, 1),
            block=(32 * module.warps, 1, 1),
            min_blocks_per_mp=1,
            stream="stream",
        )
    )
    parameters = tuple((t.name, expression("cute.Tensor")) for t in module.kernel.tensors)
    more = (("sms", expression("Int32")), ("stream", expression("cuda.CUstream")))
    return (Function("launch", (*parameters, *more), (*module.host, launched), expression("cute.jit")),)


# -- the self-check
def _checks(module: Module) -> Iterator[Statement]:
    kernel = module.kernel
    if not kernel.reference:
        return
    if kernel.reference not in REFERENCES:
        raise LoweringError(f"reference {kernel.reference!r} is not one of {', '.join(REFERENCES)}")
    library, inputs = REFERENCES[kernel.reference]
    names = {role: tuple(t.name for t in kernel.tensors if t.role == role) for role in ("in", "out")}
    if (len(names["in"]), len(names["out"])) != (inputs, 1):
        raise LoweringError(f"reference {kernel.reference!r} needs {inputs} input tensors and one output")
    yield assign("NAME", text(module.document.name))
    yield assign("ARCH", text(module.document.target))
    yield assign("INPUTS", _strings(names["in"]))
    yield assign("OUTPUTS", _strings(names["out"]))
    yield assign("SIZES", call("dict", **dict(kernel.sizes)))
    yield assign("LIBRARY", text(library))
    for line in ("DTYPES", "LIMITS"):
        yield Verbatim(assignment("selfcheck", line))
    yield from (Blank(2), _shapes(module), Blank(2), _check_sizes(module))
    for part in ("reference", "library", "work"):
        source = definition("references", f"{kernel.reference}_{part}")
        yield from (Blank(2), Verbatim(source.replace(f"def {kernel.reference}_{part}(", f"def {part}(")))
    for name in functions("selfcheck"):
        if name not in ("launch", "shapes", "check_sizes", "reference", "library", "work"):
            yield from (Blank(2), Verbatim(definition("selfcheck", name)))
    yield from (Blank(2), Verbatim('if __name__ == "__main__":\n    sys.exit(main())'))


def _strings(names: tuple[str, ...]) -> Expression:
    return expression(tuple(text(n) for n in names))


def _size_names(module: Module) -> list[str]:
    found: dict[str, None] = {}
    for tensor in module.kernel.tensors:
        for extent in tensor.shape:
            found |= dict.fromkeys(s.name for s in symbols_of(extent))
    return list(found)


def _shapes(module: Module) -> Statement:
    shapes = call("dict", **{t.name: tuple(plain_python(e) for e in t.shape) for t in module.kernel.tensors})
    sizes = tuple((name, None) for name in _size_names(module))
    return Function("shapes", sizes, (Verbatim("return " + _one_line(shapes)),), doc="The tensors' shapes.")


def _one_line(value: Expression) -> str:
    return print_source([Line(value)]).strip()


def _check_sizes(module: Module) -> Statement:
    """A function that raises ValueError for sizes that the schedule was not checked for, or that TMA cannot address."""
    body: list[Statement] = []
    trips = dict(module.kernel.trip_counts)
    for symbol in module.document.symbols:
        if symbol.min > 0:
            value: Integer = trips.get(symbol.name, Symbol(symbol.name))
            if {s.name for s in symbols_of(value)} <= set(_size_names(module)):
                message = text(f"{symbol.name} must be at least {symbol.min}")
                test = compare(plain_python(value), "<", symbol.min)
                body.append(If(((test, (Verbatim(f"raise ValueError({_one_line(message)})"),)),)))
    for tensor in module.kernel.tensors:
        row = plain_python(tensor.shape[-1])
        unit = 16 // module.dtype.bytes  # strides of a tensor map are multiples of 16 bytes
        message = text(f"rows of {tensor.name} must be a multiple of {unit} elements")
        test = compare(binary(row, "%", unit), "!=", 0)
        body.append(If(((test, (Verbatim(f"raise ValueError({_one_line(message)})"),)),)))
    sizes = tuple((name, None) for name in _size_names(module))
    return Function("check_sizes", sizes, tuple(body), doc="Refuse sizes that the kernel does not take.")
