"""Integer formulas in annotation files: what a range or a stage is, as a function of stage, warp, arguments and loops.

Integers, names, ``+ - * // %``, parentheses, ``min(a, b)`` and ``max(a, b)``. They are parsed, never run as Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TypeVar

from warpdraft.core.expressions import OPERATORS

Formula = int | str
T = TypeVar("T")
BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
MOST = 200  # characters; more is no formula of a range


class FormulaError(ValueError):
    """Text that is no formula, or names something that has no value there."""


def names_in(formula: Formula) -> tuple[str, ...]:
    """The names in ``formula`` in order of first use. Raises FormulaError."""
    found: list[str] = []

    def name(text: str) -> int:
        found.append(text)
        return 1

    _walk(_parsed(formula), name, lambda operator, left, right: 1)
    return tuple(dict.fromkeys(found))


def value_of(formula: Formula, values: Mapping[str, T | int]) -> T | int:
    """``formula`` with ``values`` for its names: integers, or expressions of a document (min and max: integers only).

    Raises FormulaError for a name without a value and for division by zero.
    """

    def name(text: str) -> T | int:
        if text not in values:
            known = ", ".join(sorted(values)) or "none"
            raise FormulaError(f"{formula!r}: {text!r} has no value here; there are {known}")
        return values[text]

    try:
        return _walk(_parsed(formula), name, _apply)
    except ZeroDivisionError:
        raise FormulaError(f"{formula!r} divides by zero") from None
    except TypeError as error:
        raise FormulaError(f"{formula!r}: {error}") from None


def _apply(operator: str, left, right):
    if operator in ("+", "-", "*", "//", "%") or (isinstance(left, int) and isinstance(right, int)):
        return OPERATORS[operator](left, right)
    raise FormulaError(f"{operator}({left}, {right}): min and max take numbers that are known")


def _parsed(formula: Formula) -> ast.expr:
    if isinstance(formula, int):
        return ast.Constant(int(formula))
    if len(formula) > MOST:
        raise FormulaError(f"{formula[:20]!r}... is longer than {MOST} characters")
    try:
        return ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise FormulaError(f"{formula!r} is no formula") from None


def _walk(node: ast.expr, name: Callable, apply: Callable):
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return name(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return apply("-", 0, _walk(node.operand, name, apply))
    if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
        left, right = (_walk(side, name, apply) for side in (node.left, node.right))
        return apply(BINARY[type(node.op)], left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
        if len(node.args) == 2 and not node.keywords:
            return apply(node.func.id, *(_walk(a, name, apply) for a in node.args))
    raise FormulaError(
        f"{ast.unparse(node)!r} is no formula; take integers, names, + - * // %, min(a, b) and max(a, b)"
    )
