"""What bulk tensor copies in both directions share: the partitioned pair of stages and tiles, and tile coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import SmemView
from ...syntax import Expression, Line, call, expression
from ..body import WorkCall


@dataclass(frozen=True, slots=True)
class Copy:
    """An atom, its shared memory by (values, stage) and its global tensor by (values, tile coordinates)."""

    atom: str
    stages: str
    tiles: str


def partitioned(work: WorkCall, tensor: str, view: SmemView, *, store: bool) -> Copy:
    """The copy between ``view`` and ``tensor``, declared in the task's set-up."""
    task = work.task
    task.module.tensor(tensor, work.op.id)
    tma = task.module.tma(tensor, view, store)

    def make() -> Copy:
        copy = Copy(tma.atom, task.names.new(f"{tensor}_stages"), task.names.new(f"{tensor}_tiles"))
        value = call("partition", tma.atom, view.name, tma.tensor, view.tile)
        task.copies.append((tma.order, Line(value, (expression((copy.stages, copy.tiles)),))))
        return copy

    return task.once(("copy", tma.atom), make)


def coordinates(work: WorkCall) -> list[Expression]:
    """The tile coordinates that the body's ``coords`` name."""
    return [work.task.number(work.op, name) for name in work.parameter("coords")]
