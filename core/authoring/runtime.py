"""Integers of a schedule that are known at run time only: loop variables, and what is computed with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..expressions import Expression, Integer
from .errors import refuse
from .integers import index_of
from .novalue import NoValue

if TYPE_CHECKING:
    from .recording import Recorder

OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "floordiv": "//",
    "mod": "%",
    "and": "&",
    "xor": "^",
    "rshift": ">>",
    "lshift": "<<",
}


class RunTimeInteger(NoValue):
    """An expression over loop variables, symbols and integers, for ``stage=`` and for the parity of a wait."""

    hint = (
        "it may choose a stage (stage=k % 3) or the parity of a wait (phase=k // 3 % 2), guard a block with "
        "`with k.first_iter():`, k.last_iter() or k.every(n); when_true() tests a run-time condition, and a work computes "
        "with the loop's variable as its argument"
    )

    def __init__(self, recorder: Recorder, expression: Integer) -> None:
        self._recorder = recorder
        self._expression = expression

    def __repr__(self) -> str:
        return f"<{self._expression}>"

    def expression_in(self, recorder: Recorder) -> Integer:
        """The expression, in the schedule of ``recorder``. Raises ScheduleError for a loop of another schedule."""
        if recorder is not self._recorder:
            raise refuse(
                f"{self!r} belongs to the schedule {self._recorder.name!r}, not to {recorder.name!r}; use a loop of this one"
            )
        return self._expression

    def _with(self, other: Any, symbol: str, turned: bool) -> Any:
        if isinstance(other, RunTimeInteger):
            right: Any = other.expression_in(self._recorder)
        else:
            right = other if isinstance(other, Expression) else index_of(other)
        found = NotImplemented if right is None else _operate(self._expression, symbol, right, turned)
        if found is NotImplemented:
            shown = f"{other!r} {symbol} {self!r}" if turned else f"{self!r} {symbol} {other!r}"
            raise refuse(
                f"{shown} cannot be computed at run time: use + - * // % with integers, symbols and loop variables, "
                "& (2**n - 1), ^ 1, >> n or << n"
            )
        return RunTimeInteger(self._recorder, found)


def _operate(own: Integer, symbol: str, other: Any, turned: bool) -> Any:
    name = next(name for name, known in OPERATORS.items() if known == symbol)
    forward = getattr(Expression, f"__{name}__")
    if not turned:
        return forward(own, other)
    if isinstance(other, Expression):
        return forward(other, own)
    backward = getattr(Expression, f"__r{name}__", None)
    return NotImplemented if backward is None else backward(own, other)


def _operators() -> None:
    for name, symbol in OPERATORS.items():
        setattr(RunTimeInteger, f"__{name}__", lambda self, other, s=symbol: self._with(other, s, False))
        setattr(RunTimeInteger, f"__r{name}__", lambda self, other, s=symbol: self._with(other, s, True))


_operators()


def run_time_integer(what: str, value: Any, recorder: Recorder) -> Integer | None:
    """``value`` as a document holds it: a plain integer, an expression, or None. Raises ScheduleError."""
    if value is None:
        return None
    if isinstance(value, RunTimeInteger):
        return value.expression_in(recorder)
    if isinstance(value, Expression):
        return value  # type: ignore[return-value]
    found = index_of(value)
    if found is None:
        raise refuse(
            f"{what} must be an integer or an expression of loop variables and symbols, not {value!r}"
        )
    if found < 0:
        raise refuse(f"{what} must be 0 or more, not {found}")
    return found
