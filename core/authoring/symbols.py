"""Symbols as an author makes them: what is wrong is refused at the author's line."""

from __future__ import annotations

from typing import Any

from .. import expressions
from ..expressions import Integer, Symbol
from .errors import refuse
from .given import shown, text
from .integers import integer, size
from .runtime import RunTimeInteger


def symbol(name: str, min: int = 0, **more: Any) -> Symbol:
    """As `core.expressions.symbol`. Raises ScheduleError for a name that is no identifier and a min that is no integer."""
    if not text("name of a symbol", name).isidentifier():
        raise refuse(f"symbol name {shown(name)} is not an identifier")
    return expressions.symbol(name, integer(f"min of {name}", min, 0), **more)


def ceil_div(numerator: Integer, denominator: Integer) -> Integer:
    """As `core.expressions.ceil_div`. Raises ScheduleError for what is no integer or expression, and for a number over 0; an
    expression over 0 is captured as `//` captures it, and WD107 says so."""
    for side in (numerator, denominator):
        if isinstance(side, RunTimeInteger):
            raise refuse(f"ceil_div({side!r}, ...) is not computed at run time; write (x + n - 1) // n")
    above, below = size("ceil_div(numerator)", numerator), size("ceil_div(denominator)", denominator)
    if isinstance(above, int) and below == 0:
        raise refuse("ceil_div() divides by 0")
    return expressions.ceil_div(above, below)
