"""Expressions over symbols, written as code of the host, of the kernel, or of plain Python."""

from __future__ import annotations

import ast
from collections.abc import Callable

from warpdraft.core.expressions import OPERATORS, Integer, LoopVariable, Operation, Symbol

from .errors import LoweringError
from .syntax import Expression, binary, call, expression

FUNCTIONS = {"ceil_div": "cute.ceil_div", "min": "cutlass.min", "max": "cutlass.max"}


def traced(
    value: Integer,
    symbol: Callable[[Symbol], Expression],
    loop: Callable[[str], Expression] = expression,
) -> Expression:
    """``value`` for code that the DSL traces; ``symbol`` gives the variable of each symbol, ``loop`` that of each loop."""
    if isinstance(value, Symbol):
        return symbol(value)
    if isinstance(value, LoopVariable):
        return loop(value.name)
    if isinstance(value, Operation):
        _known(value)
        left, right = traced(value.left, symbol, loop), traced(value.right, symbol, loop)
        if value.operator in FUNCTIONS:
            return call(FUNCTIONS[value.operator], left, right)
        return binary(left, value.operator, right)
    return expression(value)


def divides_differences(value: Integer) -> Operation | None:
    """A quotient or remainder in ``value`` whose dividend may be negative, if there is one."""
    if not isinstance(value, Operation):
        return None
    if value.operator in ("//", "%", "ceil_div") and _may_be_negative(value.left):
        return value
    left = divides_differences(value.left)
    return divides_differences(value.right) if left is None else left


def _may_be_negative(value: Integer) -> bool:
    if isinstance(value, Operation):
        return value.operator == "-" or _may_be_negative(value.left) or _may_be_negative(value.right)
    return isinstance(value, int) and value < 0


def plain_python(value: Integer) -> Expression:
    """``value`` for plain Python code in which each symbol is a variable of its own name."""
    if isinstance(value, Symbol):
        return expression(value.name)
    if isinstance(value, Operation):
        _known(value)
        left, right = plain_python(value.left), plain_python(value.right)
        if value.operator == "ceil_div":
            negated = binary(ast.UnaryOp(ast.USub(), left), "//", right)
            return ast.UnaryOp(ast.USub(), negated)
        if value.operator in ("min", "max"):
            return call(value.operator, left, right)
        return binary(left, value.operator, right)
    return expression(value)


def _known(value: Operation) -> None:
    if value.operator not in OPERATORS:
        raise LoweringError(f"operator {value.operator!r} is not one of {', '.join(OPERATORS)}")
