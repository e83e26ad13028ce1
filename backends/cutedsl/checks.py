"""The end of a module: sizes, shapes, the reference, and the fixed text of the self-check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from warpdraft.core.document import Loop
from warpdraft.core.expressions import Integer, Symbol, symbols_of
from warpdraft.core.tree import walk

from ..vocabulary import ACTIVATIONS, StockError, added_tensors, minimums, read, splits_of, whole_grid
from .errors import LoweringError
from .fixed import WRAPPERS, assignment, definition, functions
from .module import Module
from .printer import print_source
from .syntax import (
    Blank,
    Expression,
    Function,
    If,
    Line,
    Return,
    Statement,
    Verbatim,
    assign,
    binary,
    compare,
    expression,
    mapping,
    text,
)
from .values import plain_python


@dataclass(frozen=True, slots=True)
class Reference:
    """A stock reference: the library call that it is compared with, whether that is timed as a CUDA graph, its inputs."""

    library: str
    captured: bool
    inputs: int


REFERENCES = {
    "gemm": Reference("torch.mm", True, 2),
    # A large copy in a graph runs at 2.7 TB/s on an H200, outside at 4.2: the faster is the measure.
    "linear": Reference("torch.nn.functional.linear", True, 3),
    "linear_residual": Reference("torch.nn.functional.linear", True, 4),
    "scaled_gemm": Reference("", True, 4),
    "copy": Reference("Tensor.copy_", False, 1),
}
NONE = Reference("", True, 0)
OF_ROWS = ("gemm", "linear", "linear_residual")  # they multiply the rows of their first input
SUM = 6144  # products of e4m3 that wgmma adds up to within `selfcheck.LIMITS`: benchmarks/gpu/fp8.py
GENERATED = (
    "Ops",
    "launch",
    "shapes",
    "check_sizes",
    "types",
    "reference",
    "library",
    "work",
)  # stand-ins in `selfcheck`


def checks(module: Module) -> Iterator[Statement]:
    """The statements after the kernel. Raises LoweringError."""
    kernel = module.kernel
    names = {role: tuple(t.name for t in kernel.tensors if t.role == role) for role in ("in", "out")}
    yield assign("NAME", text(module.document.name))
    yield assign("ARCH", text(module.document.target))
    yield assign("INPUTS", _strings(names["in"]))
    yield assign("OUTPUTS", _strings(names["out"]))
    stock = REFERENCES.get(kernel.reference, NONE)
    yield assign("LIBRARY", text(stock.library))
    yield assign("LIBRARY_CAPTURED", expression(stock.captured))
    yield assign("CLUSTER", module.cluster.size)
    yield assign("ADDED", _strings(_added(module)))
    yield assign("LONGEST", _longest_sum(module))
    yield assign("ORDERS", mapping({t.name: t.order for t in kernel.tensors}))
    yield assign("PARAMETERS", mapping({t.parameter: text(t.constant) for t in module.types.values()}))
    yield assign("SIZES", mapping(dict(kernel.sizes)))
    yield from (Verbatim(assignment("selfcheck", name)) for name in ("DTYPES", "LIMITS"))
    if kernel.reference.startswith("linear"):
        yield assign("ACTIVATION", text(_activation(module)))
    yield from (Blank(2), _shapes(module), Blank(2), _check_sizes(module), Blank(2), _types(module))
    yield from _reference(kernel.reference, len(names["in"]), len(names["out"]))
    for name in functions("selfcheck", module.build):
        if name not in GENERATED and name != WRAPPERS.get(module.build):
            yield from (Blank(2), Verbatim(definition("selfcheck", name, module.build)))
    yield from (Blank(2), Verbatim('if __name__ == "__main__":\n    sys.exit(main())'))


def _activation(module: Module) -> str:
    """What the reference applies, by the kernel parameter "activation". Raises LoweringError."""
    name = dict(module.kernel.parameters).get("activation", "")
    if name not in ("", *ACTIVATIONS):
        raise LoweringError(f"activation {name!r} is not one of {', '.join(ACTIVATIONS)}")
    return name


def _added(module: Module) -> tuple[str, ...]:
    try:
        return added_tensors(module.document)
    except StockError as error:
        raise LoweringError(str(error)) from None


def _longest_sum(module: Module) -> int:
    """The most elements of a row of the first input whose products one accumulator may add up; 0: any number."""
    works = [w for r in module.document.resources for w in r.works if w.body == "sm90.wgmma"]
    first = module.types[module.kernel.tensors[0].name] if module.kernel.tensors else None
    if not works or first is None or first.bytes > 1 or module.kernel.reference not in OF_ROWS:
        return 0
    try:
        if all((read(w, "period") or SUM + 1) * read(w, "tile")[2] <= SUM for w in works):
            return 0
        return SUM * splits_of(module.document)
    except StockError as error:
        raise LoweringError(str(error)) from None


def _reference(name: str, inputs: int, outputs: int) -> Iterator[Statement]:
    if name and name not in REFERENCES:
        raise LoweringError(f"reference {name!r} is not one of {', '.join(REFERENCES)}")
    needs = REFERENCES.get(name, NONE).inputs
    if name and (inputs, outputs) != (needs, 1):
        raise LoweringError(f"reference {name!r} needs {needs} input tensors and one output")
    stock = name or "no"
    for part in ("reference", "library", "work"):
        source = definition("references", f"{stock}_{part}")
        yield from (Blank(2), Verbatim(source.replace(f"def {stock}_{part}(", f"def {part}(")))
    if name.startswith("linear"):
        yield from (Blank(2), Verbatim(definition("references", "activated")))


def _strings(names: tuple[str, ...]) -> Expression:
    return expression(tuple(text(n) for n in names))


def _size_names(module: Module) -> list[str]:
    found: dict[str, None] = {}
    for tensor in module.kernel.tensors:
        for extent in tensor.shape:
            found |= dict.fromkeys(s.name for s in symbols_of(extent))
    return list(found)


def _shapes(module: Module) -> Statement:
    shapes = mapping({t.name: tuple(plain_python(e) for e in t.shape) for t in module.kernel.tensors})
    sizes = tuple((name, None) for name in _size_names(module))
    return Function("shapes", sizes, (Return(shapes),), doc="The tensors' shapes.")


def _types(module: Module) -> Statement:
    types = mapping({name: typed.constant for name, typed in module.types.items()})
    doc = "The tensors' element types, as they are now."
    return Function("types", (), (Return(types),), doc=doc)


def _one_line(value: Expression) -> str:
    return print_source([Line(value)]).strip()


def _check_sizes(module: Module) -> Statement:
    """A function that raises ValueError for sizes that the schedule was not checked for, or that TMA cannot address."""
    names = _size_names(module)
    body = tuple(
        If(((test, (Verbatim(f"raise ValueError({_one_line(text(message))})"),)),))
        for test, message in _demands(module, set(names))
    )
    sizes = tuple((name, None) for name in names)
    return Function("check_sizes", sizes, body, doc="Refuse sizes that the kernel does not take.")


def _demands(module: Module, names: set[str]) -> Iterator[tuple[Expression, str]]:
    """The conditions under which sizes are refused, with what to say; LoweringError where one always holds."""
    trips, tiles = dict(module.kernel.trip_counts), _loop_symbols(module, "tile")
    for name, least in minimums(module.document, module.kernel).items():
        value: Integer = trips.get(name, Symbol(name))
        message = f"{name} must be at least {least}"
        if name in tiles:
            if least > 1:  # 1 always holds: no more CTAs are launched than there are tiles
                raise LoweringError(
                    f"{message}: how many tiles a CTA gets depends on the device, so the module cannot see to it"
                )
        elif isinstance(value, int):
            if value < least:
                raise LoweringError(f"{message}, and is {value}")
        elif {s.name for s in symbols_of(value)} <= names:
            yield compare(plain_python(value), "<", least), message
        elif name in _loop_symbols(module, "domain"):
            raise LoweringError(f"{message}, and does not follow from the tensors' sizes")
    for name in sorted(names - set(minimums(module.document, module.kernel))):
        yield compare(name, "<", 1), f"{name} must be at least 1"
    try:
        whole = whole_grid(module.document, module.kernel)
    except StockError as error:
        raise LoweringError(str(error)) from None
    if whole is not None and whole != module.kernel.grid:
        message = "the grid must be one CTA for each tile of the output, in whole clusters"
        yield compare(plain_python(module.kernel.grid), "!=", plain_python(whole)), message
    for tensor in (t for t in module.kernel.tensors if len(t.shape) > 1):
        unit = 16 // module.types[tensor.name].bytes  # strides of a tensor map: 16 bytes (CUDA driver API)
        extent, by_columns = tensor.shape[tensor.order[-1]], tensor.order[-1] != len(tensor.shape) - 1
        side = "columns" if by_columns else "rows"
        message = f"{side} of {tensor.name} must be a multiple of {unit} elements"
        if not isinstance(extent, int):
            yield compare(binary(plain_python(extent), "%", unit), "!=", 0), message
        elif extent % unit:
            raise LoweringError(f"{message}, and are {extent}")


def _loop_symbols(module: Module, kind: str) -> set[str]:
    """The symbols in the bounds of the schedule's loops of this kind."""
    loops = (n for t in module.document.tasks for n in walk(t.body) if isinstance(n, Loop) and n.kind == kind)
    return {s.name for n in loops for bound in (n.start, n.stop, n.step) for s in symbols_of(bound)}
