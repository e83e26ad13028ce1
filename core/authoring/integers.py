"""Integers that an author gives: Python's own, NumPy's, whatever has ``__index__``; and hints for what is none."""

from __future__ import annotations

import operator
from typing import Any

from ..expressions import Expression, Integer
from .errors import refuse
from .novalue import NoValue


def index_of(value: Any) -> int | None:
    """``value`` as a plain int, or None where it is no integer (a boolean is none)."""
    if isinstance(value, bool | NoValue):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def integer(what: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """``value`` as a plain int from ``least`` to ``most``. Raises ScheduleError, which calls it ``what``."""
    found = index_of(value)
    if found is None:
        raise refuse(f"{what} must be an integer known at capture, not {described(value)}")
    if least is not None and found < least:
        raise refuse(f"{what} must be {least} or more, not {found}")
    if most is not None and found > most:
        raise refuse(f"{what} must be {most:,} or less, not {found:,}")
    return found


def optional_integer(what: str, value: Any, least: int | None = None, most: int | None = None) -> int | None:
    """As `integer`; None stays None."""
    return None if value is None else integer(what, value, least, most)


def size(what: str, value: Any) -> Integer:
    """``value`` as an integer, or an expression over symbols. Raises ScheduleError, which calls it ``what``."""
    if isinstance(value, Expression):
        return value  # type: ignore[return-value]
    found = index_of(value)
    if found is None:
        raise refuse(
            f"{what} must be an integer, a symbol or an expression of symbols, not {described(value)}"
        )
    return found


def described(value: Any) -> str:
    """``value`` in a message, with a hint where it is known only at run time."""
    if isinstance(value, Expression):
        return f"the symbol or expression {value}, which is known only at run time: loop bounds take it"
    if isinstance(value, NoValue):
        return f"{value!r}, which is known only at run time"
    return repr(value)
