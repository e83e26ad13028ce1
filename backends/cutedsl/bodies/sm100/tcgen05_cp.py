"""sm100.tcgen05_cp: scale factors from shared to tensor memory."""

from __future__ import annotations

from dataclasses import dataclass

from warpdraft.core.footprints import stage_bytes

from ....vocabulary import scale_columns, scales
from ...operations import led
from ...syntax import Line, Statement, attribute, index
from ...tensor_memory import pointer
from ..body import WorkCall


@dataclass(frozen=True, slots=True)
class Tcgen05Cp:
    """Parameters ``source``: the part of the viewed stage with the factors of ``rows`` rows (128 or 256), 4 for each. One
    thread issues it."""

    name: str = "sm100.tcgen05_cp"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``op.copy_scales(id, columns, source, rows, step)``"""
        task, op = call.task, call.op
        rows = call.parameter("rows")
        shape, wide = call.stock(scales, rows), scale_columns(rows)
        if stage_bytes(call.resource) < wide:
            raise call.fail(f"{wide} columns do not fit into a stage of {call.resource.name}")
        view = task.stage_view(op)
        smem = task.module.storage.view(view.resource, call.parameter("source"), shape, op.id)
        columns = pointer(task, call.resource, task.stage(call.resource, "producer", op), op)
        source = attribute(index(smem.name, None, None, view.stage), "iterator")
        return (led(task, Line(task.operation("copy_scales", op, columns, source, rows), op=op.id)),)
