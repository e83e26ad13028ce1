"""After how many steps of one variable an expression has the same value again, whatever the others are.

Sums, differences and products of integers keep congruences: modulo m they depend on their parts modulo m only. A
quotient by d modulo m depends on its dividend modulo d m, and a remainder by d on its dividend modulo d. So a stage
(tile * K + k) % 3 repeats with each of tile, K and k after 3, its parity (tile * K + k) // 3 % 2 after 6.
"""

from __future__ import annotations

from math import gcd, lcm

from .expressions import Integer, Operation, leaves


class NoPeriod(Exception):
    """Why there is none."""


def period(expression: Integer, name: str, modulus: int | None = None) -> int:
    """The p > 0 such that ``expression`` (modulo ``modulus``, if given) is unchanged where the symbol or loop variable
    ``name`` grows by p. Raises NoPeriod."""
    if name not in {leaf.name for leaf in leaves(expression)}:
        return 1
    if not isinstance(expression, Operation):
        if modulus is None:
            raise NoPeriod(f"{expression} is taken as it is, without a remainder")
        return modulus
    operator, left, right = expression.operator, expression.left, expression.right
    if operator == "*" and isinstance(left, int):
        left, right = right, left
    if operator == "*" and modulus is not None and isinstance(right, int):
        return period(left, name, modulus // gcd(modulus, right))
    if operator in ("+", "-", "*"):
        return lcm(period(left, name, modulus), period(right, name, modulus))
    if operator in ("//", "ceil_div", "%") and isinstance(right, int) and right > 0:
        if operator != "%":
            return period(left, name, None if modulus is None else modulus * right)
        return period(left, name, modulus if modulus and right % modulus == 0 else right)
    raise NoPeriod(f"{expression} has no constant period")
