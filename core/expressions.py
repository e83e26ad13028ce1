"""Integer expressions over named symbols: trip counts, tensor sizes, grids.

A schedule names what is known only at run time (``k_tiles``, ``M``); an expression says how one such number follows from
others. Inside a loop an expression may also name the loop's variable: which stage an op uses, which parity it waits for.
Values are plain frozen records, so that they compare, hash and store like the rest of a document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import index
from types import MappingProxyType

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

    The other side is an expression or an integer (anything with ``__index__``); else Python raises TypeError. What has a
    value at run time only cannot decide an ``if``. ``& (2**n - 1)``, ``^ 1``, ``>> n`` and ``<< n`` are written with
    ``%``, ``//`` and ``*``: for Python's integers that is the same.
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

    def __rfloordiv__(self, other: Integer) -> Operation:
        return _operation("//", other, self)

    def __mod__(self, other: Integer) -> Operation:
        return _operation("%", self, other)

    def __rmod__(self, other: Integer) -> Operation:
        return _operation("%", other, self)

    def __and__(self, other: int) -> Operation:
        if isinstance(other, int) and other > 0 and not (other + 1) & other:
            return self % (other + 1)
        return NotImplemented

    def __rshift__(self, other: int) -> Operation:
        return self // (1 << other) if isinstance(other, int) and 0 <= other < 64 else NotImplemented

    def __lshift__(self, other: int) -> Operation:
        return self * (1 << other) if isinstance(other, int) and 0 <= other < 64 else NotImplemented

    def __xor__(self, other: int) -> Operation:
        if type(other) is not int or other != 1:
            return NotImplemented
        if isinstance(self, Operation) and (self.operator, self.right) == ("%", 2):
            return 1 - self
        return self + 1 - self % 2 * 2

    __rand__, __rxor__ = __and__, __xor__

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self} is known only at run time, so it decides no `if`, `and` or `while` of Python"
        )


@dataclass(frozen=True, slots=True)
class Symbol(Expression):
    """A run-time integer. ``min`` is the least value that the schedule is checked for, and that the kernel accepts.
    ``per_cta``: the CTAs of a cluster may have different values of it; ``per_tile``: it has a value of its own in each work
    tile, the same in all tasks."""

    name: str
    min: int = 0
    per_cta: bool = False
    per_tile: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class LoopVariable(Expression):
    """The value of the loop around whose variable is ``name``: start + iteration x step."""

    name: str

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


Integer = int | Symbol | LoopVariable | Operation


def _operation(operator: str, left: Integer, right: Integer) -> Operation:
    sides = []
    for side in (left, right):
        if not isinstance(side, Expression):
            if hasattr(type(side), "expression_in"):  # a handle of authoring: it does the operation itself
                return NotImplemented
            try:
                side = index(side)  # NumPy's integers become plain ones
            except TypeError:
                return NotImplemented
        sides.append(side)
    return Operation(operator, *sides)


def symbol(name: str, min: int = 0, per_cta: bool = False, per_tile: bool = False) -> Symbol:
    """A named run-time integer, such as a trip count; two uses of one name are one value, in all CTAs of a cluster unless
    ``per_cta``, and in all work tiles unless ``per_tile``."""
    if not name.isidentifier():
        raise ValueError(f"symbol name {name!r} is not an identifier")
    return Symbol(name, min, per_cta, per_tile)


def ceil_div(numerator: Integer, denominator: Integer) -> Integer:
    """``numerator / denominator``, rounded up."""
    if isinstance(numerator, Expression) or isinstance(denominator, Expression):
        found = _operation("ceil_div", numerator, denominator)
        if found is NotImplemented:
            raise TypeError(f"ceil_div takes integers and expressions, not {numerator!r} and {denominator!r}")
        return found
    return -(-index(numerator) // index(denominator))


def evaluate(
    expression: Integer, values: Mapping[str, int], loops: Mapping[str, int] = MappingProxyType({})
) -> int:
    """The integer that ``expression`` has under ``values`` of symbols and ``loops``, the values of loop variables.

    Raises KeyError with the name where a value is missing, ZeroDivisionError on division by zero.
    """
    if isinstance(expression, int):
        return expression
    if isinstance(expression, Symbol):
        return values[expression.name]
    if isinstance(expression, LoopVariable):
        return loops[expression.name]
    return OPERATORS[expression.operator](
        evaluate(expression.left, values, loops), evaluate(expression.right, values, loops)
    )


def leaves(expression: Integer) -> tuple[Symbol | LoopVariable, ...]:
    """The symbols and loop variables of ``expression`` in order of first use."""
    if isinstance(expression, Symbol | LoopVariable):
        return (expression,)
    if isinstance(expression, Operation):
        return tuple(dict.fromkeys(leaves(expression.left) + leaves(expression.right)))
    return ()


def symbols_of(expression: Integer) -> tuple[Symbol, ...]:
    """The symbols of ``expression`` in order of first use."""
    return tuple(leaf for leaf in leaves(expression) if isinstance(leaf, Symbol))


def variables_of(expression: Integer) -> tuple[str, ...]:
    """The loop variables of ``expression`` in order of first use."""
    return tuple(leaf.name for leaf in leaves(expression) if isinstance(leaf, LoopVariable))


def substitute(expression: Integer, name: str, value: Integer) -> Integer:
    """``expression`` with ``value`` in place of loop variable ``name``."""
    if isinstance(expression, LoopVariable):
        return value if expression.name == name else expression
    if isinstance(expression, Operation):
        left, right = substitute(expression.left, name, value), substitute(expression.right, name, value)
        return Operation(expression.operator, left, right)
    return expression


def unknown_operators(expression: Integer) -> tuple[str, ...]:
    """The operators of ``expression`` that are none of `OPERATORS`."""
    if not isinstance(expression, Operation):
        return ()
    own = () if expression.operator in OPERATORS else (expression.operator,)
    return (*own, *unknown_operators(expression.left), *unknown_operators(expression.right))
