"""sm100.tcgen05_cp: scale factors from shared to tensor memory."""

from __future__ import annotations

from dataclasses import dataclass

from warpdraft.core.footprints import stage_bytes

from ....vocabulary import SCALE_COLUMNS, SCALES
from ...operations import led
from ...syntax import Line, Statement, attribute, index
from ...tensor_memory import pointer
from ..body import WorkCall


@dataclass(frozen=True, slots=True)
class Tcgen05Cp:
    """Parameter ``source``: the part of the viewed stage with the factors of 128 rows, 4 for each. One thread issues it."""

    name: str = "sm100.tcgen05_cp"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``op.copy_scales(id, columns, source, step)``"""
        task, op = call.task, call.op
        if stage_bytes(call.resource) < SCALE_COLUMNS:
            raise call.fail(f"{SCALE_COLUMNS} columns do not fit into a stage of {call.resource.name}")
        view = task.stage_view(op)
        smem = task.module.storage.view(view.resource, call.parameter("source"), SCALES, op.id)
        columns = pointer(task, call.resource, task.stage(call.resource, "producer", op), op)
        source = attribute(index(smem.name, None, None, view.stage), "iterator")
        return (led(task, Line(task.operation("copy_scales", op, columns, source), op=op.id)),)
