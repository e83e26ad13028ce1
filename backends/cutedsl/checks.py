"""The end of a module: sizes, shapes, the reference, and the fixed text of the self-check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from warpdraft.core.document import Loop
from warpdraft.core.expressions import Integer, Symbol, symbols_of
from warpdraft.core.tree import walk

from ..vocabulary import StockError, minimums, whole_grid
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
    "copy": Reference("Tensor.copy_", False, 1),
}
NONE = Reference("", True, 0)
GENERATED = (
    "Ops",
    "launch",
    "shapes",
    "check_sizes",
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
    yield assign("SIZES", mapping(dict(kernel.sizes)))
    yield from (Verbatim(assignment("selfcheck", name)) for name in ("DTYPES", "LIMITS"))
    yield from (Blank(2), _shapes(module), Blank(2), _check_sizes(module))
    yield from _reference(kernel.reference, len(names["in"]), len(names["out"]))
    for name in functions("selfcheck", module.build):
        if name not in GENERATED and name != WRAPPERS.get(module.build):
            yield from (Blank(2), Verbatim(definition("selfcheck", name, module.build)))
    yield from (Blank(2), Verbatim('if __name__ == "__main__":\n    sys.exit(main())'))


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
    return Function("shapes", sizes, (Verbatim("return " + _one_line(shapes)),), doc="The tensors' shapes.")


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
    try:
        whole = whole_grid(module.document, module.kernel)
    except StockError as error:
        raise LoweringError(str(error)) from None
    if whole is not None and whole != module.kernel.grid:
        message = "the grid must be one CTA for each tile of the output, in whole clusters"
        yield compare(plain_python(module.kernel.grid), "!=", plain_python(whole)), message
    unit = 16 // module.dtype.bytes  # strides of a tensor map are multiples of 16 bytes (CUDA driver API)
    for tensor in module.kernel.tensors:
        message = f"rows of {tensor.name} must be a multiple of {unit} elements"
        if not isinstance(tensor.shape[-1], int):
            yield compare(binary(plain_python(tensor.shape[-1]), "%", unit), "!=", 0), message
        elif tensor.shape[-1] % unit:
            raise LoweringError(f"{message}, and are {tensor.shape[-1]}")


def _loop_symbols(module: Module, kind: str) -> set[str]:
    """The symbols in the bounds of the schedule's loops of this kind."""
    loops = (n for t in module.document.tasks for n in walk(t.body) if isinstance(n, Loop) and n.kind == kind)
    return {s.name for n in loops for bound in (n.start, n.stop, n.step) for s in symbols_of(bound)}
