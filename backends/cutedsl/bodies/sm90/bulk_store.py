"""sm90.bulk_store: one bulk tensor copy of a stage to a tile of a global tensor, in the warp's open bulk group."""

from __future__ import annotations

from dataclasses import dataclass

from ...syntax import Line, Statement, index
from ..body import WorkCall
from .copies import coordinates, partitioned


@dataclass(frozen=True, slots=True)
class BulkStore:
    """Parameters: ``tensor``; ``tile`` = (rows, columns); ``coords``, the arguments that count tiles along each dimension;
    ``part`` of the stage (left out: all of it); ``reduce``: "add" adds to what is there, which must be zero at the start.

    Argument ``subtile`` (optional, a constant): the last coordinate then counts accumulator tiles, and the tile copied is
    coordinate x subtiles + subtile, with as many subtiles as tiles fit into the accumulator tile.
    """

    name: str = "sm90.bulk_store"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``op.bulk_store(id, atom, source stage, target tile, step)``"""
        task, op = call.task, call.op
        tile = call.parameter("tile")
        *batch, row, column = coordinates(call)
        view = task.stage_view(op)
        smem = task.module.storage.view(view.resource, call.parameter("part"), tile, op.id)
        copy = partitioned(call, call.parameter("tensor"), smem, store=True)
        source = index(copy.stages, None, view.stage)
        target = index(copy.tiles, None, row, column, *batch)
        return (Line(task.operation("bulk_store", op, copy.atom, source, target), op=op.id),)
