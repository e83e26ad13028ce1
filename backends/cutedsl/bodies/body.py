"""What every stock body is: a parser of the work's parameters, and a method that writes the op's line.

A body asks the `TaskBuilder` for what it needs (atoms, partitions, fragments): each is declared once, in the set-up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from warpdraft.core.document import Op, Resource, Value, Work

from ... import vocabulary
from ..errors import LoweringError
from ..syntax import Statement

if TYPE_CHECKING:
    from ..task import TaskBuilder


T = TypeVar("T")


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

    def parameter(self, name: str) -> Value:
        """A parameter of the body, as `vocabulary` reads it; None for an optional one that is not given."""
        return self.stock(vocabulary.read, self.work, name)

    def stock(self, function: Callable[..., T], *arguments: object) -> T:
        """What a function of `vocabulary` says."""
        try:
            return function(*arguments)
        except vocabulary.StockError as error:
            raise self.fail(str(error)) from None


class Body(Protocol):
    """A stock body."""

    name: str

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """The statements of one op."""
        ...
