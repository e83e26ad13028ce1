"""The statements of a generated module: small frozen nodes, made by the lowering and printed once by `printer`.

Expressions are nodes of Python's own `ast`; the functions at the end build them. A plain ``str`` given to them is a dotted
name ("cute.arch.sync_warp"), `text` makes a string literal.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

Expression = ast.expr
Operand = Expression | str | int | bool | None | tuple["Operand", ...]


@dataclass(frozen=True, slots=True)
class Line:
    """``targets = value`` (chained where there are several), or ``value`` alone.

    ``op`` is the id of the schedule op that the line carries out: it becomes the tag ``# op ID``; ``note`` is added to it.
    """

    value: Expression
    targets: tuple[Expression, ...] = ()
    op: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """``# text`` on a line of its own."""

    text: str


@dataclass(frozen=True, slots=True)
class Blank:
    """``count`` empty lines."""

    count: int = 1


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Text that is printed as it is, indented: parts of the fixed prelude, imports."""

    text: str


@dataclass(frozen=True, slots=True)
class For:
    """``for target in iterable:``"""

    target: Expression
    iterable: Expression
    body: tuple[Statement, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class While:
    """``while test:``"""

    test: Expression
    body: tuple[Statement, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class If:
    """``if test:``, with the arms of an ``elif`` chain; an arm whose test is None is the ``else``."""

    arms: tuple[tuple[Expression | None, tuple[Statement, ...]], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class With:
    """``with context:``"""

    context: Expression
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """``def name(parameters):``; each parameter is (name, annotation or None)."""

    name: str
    parameters: tuple[tuple[str, Expression | None], ...]
    body: tuple[Statement, ...]
    decorator: Expression | None = None
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Return:
    """``return value``"""

    value: Expression


Statement = Line | Comment | Blank | Verbatim | For | While | If | With | Function | Return


def expression(value: Operand) -> Expression:
    """``value`` as an expression; a str must be a dotted name."""
    if isinstance(value, ast.expr):
        return value
    if isinstance(value, tuple):
        return ast.Tuple([expression(v) for v in value], ast.Load())
    if isinstance(value, str):
        first, *rest = value.split(".")
        if not all(part.isidentifier() for part in (first, *rest)):
            raise ValueError(f"{value!r} is not a dotted name")
        result: Expression = ast.Name(first, ast.Load())
        for part in rest:
            result = ast.Attribute(result, part, ast.Load())
        return result
    return ast.Constant(value)


def text(value: str) -> Expression:
    """A string literal."""
    return ast.Constant(value)


def call(function: Operand, *arguments: Operand, **keywords: Operand) -> Expression:
    """``function(*arguments, **keywords)``"""
    named = [ast.keyword(k, expression(v)) for k, v in keywords.items()]
    return ast.Call(expression(function), [expression(a) for a in arguments], named)


def index(value: Operand, *items: Operand) -> Expression:
    """``value[items]``"""
    inside = expression(items[0]) if len(items) == 1 else expression(tuple(items))
    return ast.Subscript(expression(value), inside, ast.Load())


def listing(*items: Operand) -> Expression:
    """``[items]``"""
    return ast.List([expression(i) for i in items], ast.Load())


def mapping(items: Mapping[str, Operand]) -> Expression:
    """``{"key": value}``"""
    return ast.Dict([text(key) for key in items], [expression(value) for value in items.values()])


def attribute(value: Expression, name: str) -> Expression:
    """``value.name``"""
    return ast.Attribute(value, name, ast.Load())


_BINARY: dict[str, type[ast.operator]] = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "//": ast.FloorDiv,
    "%": ast.Mod,
    "^": ast.BitXor,
    "<<": ast.LShift,
    "|": ast.BitOr,
}
_COMPARE: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq,
    "!=": ast.NotEq,
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
}


def _folded(value: Operand) -> Operand:
    """A constant as its number."""
    return value.value if isinstance(value, ast.Constant) and type(value.value) is int else value


def binary(left: Operand, operator: str, right: Operand) -> Expression:
    """``left operator right``, folded where a side is a neutral constant."""
    left, right = _folded(left), _folded(right)
    neutral = {"+": (0, 0), "-": (None, 0), "*": (1, 1), "//": (None, 1)}.get(operator, (None, None))
    if isinstance(left, int) and left == neutral[0]:
        return expression(right)
    if isinstance(right, int) and right == neutral[1]:
        return expression(left)
    return ast.BinOp(expression(left), _BINARY[operator](), expression(right))


def compare(left: Operand, operator: str, right: Operand) -> Expression:
    """``left operator right`` with a comparison operator."""
    return ast.Compare(expression(left), [_COMPARE[operator]()], [expression(right)])


def run(function: Operand, *arguments: Operand, op: str = "", note: str = "", **keywords: Operand) -> Line:
    """The statement that calls ``function``."""
    return Line(call(function, *arguments, **keywords), (), op, note)


def assign(target: Operand, value: Operand, op: str = "", note: str = "") -> Line:
    """The statement ``target = value``."""
    return Line(expression(value), (expression(target),), op, note)
