"""Integer expressions over named symbols: trip counts, tensor sizes, grids.

A schedule names what is known only at run time (``k_tiles``, ``M``); an expression says how one such number follows from
others. Values are plain frozen records, so that they compare, hash and store like the rest of a document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import index

OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "ceil_div": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
}


class Expression:
    """Base of symbols and operations; Python's integer operators build larger expressions.

    The other side is an expression or an integer (anything with ``__index__``); else Python raises TypeError.
    """

    __slots__ = ()

    def __add__(self, other: Integer) -> Operation:
        return _operation("+", self, other)

    def __radd__(self, other: Integer) -> Operation:
        return _operation("+", other, self)

    def __sub__(self, other: Integer) -> Operation:
        return _operation("-", self, other)

    def __rsub__(self, other: Integer) -> Operation:
        return _operation("-", other, self)

    def __mul__(self, other: Integer) -> Operation:
        return _operation("*", self, other)

    def __rmul__(self, other: Integer) -> Operation:
        return _operation("*", other, self)

    def __floordiv__(self, other: Integer) -> Operation:
        return _operation("//", self, other)

    def __mod__(self, other: Integer) -> Operation:
        return _operation("%", self, other)


@dataclass(frozen=True, slots=True)
class Symbol(Expression):
    """A run-time integer. ``min`` is the least value that the schedule is checked for, and that the kernel accepts.
    ``per_cta``: the CTAs of a cluster may have different values of it."""

    name: str
    min: int = 0
    per_cta: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Operation(Expression):
    """``left operator right``, with an operator of `OPERATORS`."""

    operator: str
    left: Integer
    right: Integer

    def __str__(self) -> str:
        if self.operator.isidentifier():
            return f"{self.operator}({self.left}, {self.right})"
        return f"({self.left} {self.operator} {self.right})"


Integer = int | Symbol | Operation


def _operation(operator: str, left: Integer, right: Integer) -> Operation:
    sides = []
    for side in (left, right):
        if not isinstance(side, Expression):
            try:
                side = index(side)  # NumPy's integers become plain ones
            except TypeError:
                return NotImplemented
        sides.append(side)
    return Operation(operator, *sides)


def symbol(name: str, min: int = 0, per_cta: bool = False) -> Symbol:
    """A named run-time integer, such as a trip count; two uses of one name are one value, in all CTAs of a cluster unless
    ``per_cta``."""
    if not name.isidentifier():
        raise ValueError(f"symbol name {name!r} is not an identifier")
    return Symbol(name, min, per_cta)


def ceil_div(numerator: Integer, denominator: Integer) -> Integer:
    """``numerator / denominator``, rounded up."""
    if isinstance(numerator, Expression) or isinstance(denominator, Expression):
        found = _operation("ceil_div", numerator, denominator)
        if found is NotImplemented:
            raise TypeError(f"ceil_div takes integers and expressions, not {numerator!r} and {denominator!r}")
        return found
    return -(-index(numerator) // index(denominator))


def evaluate(expression: Integer, values: Mapping[str, int]) -> int:
    """The integer that ``expression`` has under ``values``.

    Raises KeyError with the symbol's name where a value is missing, ZeroDivisionError on division by zero.
    """
    if isinstance(expression, int):
        return expression
    if isinstance(expression, Symbol):
        return values[expression.name]
    return OPERATORS[expression.operator](
        evaluate(expression.left, values), evaluate(expression.right, values)
    )


def symbols_of(expression: Integer) -> tuple[Symbol, ...]:
    """The symbols of ``expression`` in order of first use."""
    if isinstance(expression, Symbol):
        return (expression,)
    if isinstance(expression, Operation):
        return tuple(dict.fromkeys(symbols_of(expression.left) + symbols_of(expression.right)))
    return ()


def unknown_operators(expression: Integer) -> tuple[str, ...]:
    """The operators of ``expression`` that are none of `OPERATORS`."""
    if not isinstance(expression, Operation):
        return ()
    own = () if expression.operator in OPERATORS else (expression.operator,)
    return (*own, *unknown_operators(expression.left), *unknown_operators(expression.right))
