"""What a task's tokens stand for while it is lowered, and where they live."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpdraft.core.document import Node, Op, Resource, Task, Token

from .syntax import Expression


@dataclass(frozen=True, slots=True)
class Variable:
    """A run-time number, such as a coordinate."""

    value: Expression


@dataclass(frozen=True, slots=True)
class StageView:
    """A stage of ``resource``; ``stage`` is its number as it was at the view."""

    resource: Resource
    stage: Expression


@dataclass(frozen=True, slots=True)
class Fragment:
    """Part ``subtile`` of ``subtiles`` of the accumulator that the task keeps for ``accumulator``, in the variable
    ``name``."""

    accumulator: str
    name: str
    subtile: int = 0
    subtiles: int = 1


TokenValue = Variable | StageView | Fragment


def used(task: Task) -> frozenset[str]:
    """The tokens that some op of the task takes as an argument."""
    return frozenset(v.name for op, _ in _ops(task.body, ()) for _, v in op.args if isinstance(v, Token))


def hoisted(task: Task) -> frozenset[str]:
    """The tokens whose variable must exist before the loop or guard that sets it: some use lies outside, or earlier."""
    made: dict[str, list[tuple[int, ...]]] = {}
    outside: set[str] = set()
    for op, path in _ops(task.body, ()):
        for _, value in op.args:
            if isinstance(value, Token):
                places = made.get(value.name, [])
                if not any(path[: len(place)] == place for place in places):
                    outside.add(value.name)
        for result in op.results:
            made.setdefault(result, []).append(path)
    return frozenset(outside & set(made))


def _ops(nodes: Sequence[Node], path: tuple[int, ...]) -> Iterator[tuple[Op, tuple[int, ...]]]:
    """Each op with the positions of the blocks around it."""
    for position, node in enumerate(nodes):
        if isinstance(node, Op):
            yield node, path
        else:
            yield from _ops(node.body, (*path, position))
