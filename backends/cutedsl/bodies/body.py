"""What every stock body is: a parser of the work's parameters, and a method that writes the op's line.

A body asks the `TaskBuilder` for what it needs (atoms, partitions, fragments): each is declared once, in the set-up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from warpdraft.core.document import Op, Resource, Value, Work

from ..errors import LoweringError
from ..syntax import Statement

if TYPE_CHECKING:
    from ..task import TaskBuilder


@dataclass(frozen=True, slots=True)
class WorkCall:
    """A work op in its place, with readers for the body's parameters. All raise LoweringError."""

    task: TaskBuilder
    op: Op
    resource: Resource
    work: Work

    def fail(self, message: str) -> LoweringError:
        """The error that names this op and its body."""
        return LoweringError(f"{self.work.body}: {message}", self.op.id)

    def parameter(self, name: str, default: Value = None) -> Value:
        """A parameter of the body."""
        value = dict(self.work.params).get(name, default)
        if value is None:
            raise self.fail(f"parameter {name!r} is missing")
        return value

    def name(self, name: str, default: str | None = None) -> str:
        """A parameter that is a name."""
        value = self.parameter(name, default)
        if not isinstance(value, str):
            raise self.fail(f"parameter {name!r} must be a name")
        return value

    def numbers(self, name: str, count: int) -> tuple[int, ...]:
        """A parameter that is a tuple of ``count`` positive integers."""
        value = self.parameter(name)
        if (
            not isinstance(value, tuple)
            or len(value) != count
            or not all(type(v) is int and v > 0 for v in value)
        ):
            raise self.fail(f"parameter {name!r} must be {count} positive integers")
        return value

    def words(self, name: str, count: int) -> tuple[str, ...]:
        """A parameter that is a tuple of ``count`` names."""
        value = self.parameter(name)
        if not isinstance(value, tuple) or len(value) != count or not all(isinstance(v, str) for v in value):
            raise self.fail(f"parameter {name!r} must be {count} names")
        return value


class Body(Protocol):
    """A stock body."""

    name: str

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """The statements of one op."""
        ...
