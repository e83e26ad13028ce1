"""sm100.store_fragment: a lane's columns to its row in shared memory, converted to the kernel's element type."""

from __future__ import annotations

from dataclasses import dataclass

from warpdraft.core.tree import find_resource

from ....vocabulary import umma_tile
from ...storage import SmemView
from ...syntax import Line, Statement, attribute, call, expression, index
from ..body import WorkCall
from ..sm90.subtiles import staged_tile
from .tmem_load import lane_of, loads


@dataclass(frozen=True, slots=True)
class StoreFragment:
    """Arguments ``fragment``, and ``stage`` of a resource without a pipeline. Each thread stores its own row."""

    name: str = "sm100.store_fragment"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``op.store_row(id, copy, fragment, target stage, step)``"""
        task, op = call.task, call.op
        fragment = task.fragment(op, "fragment")
        rows = call.stock(umma_tile, find_resource(task.document, fragment.accumulator))[0]
        view = task.module.storage.view(call.resource, "", staged_tile(call, rows), op.id)
        copy, target = self._declared(call, view)
        at = index(target, None, None, None, task.stage(call.resource, "producer", op))
        return (Line(task.operation("store_row", op, copy, fragment.name, at), op=op.id),)

    def _declared(self, work: WorkCall, view: SmemView) -> tuple[str, str]:
        task = work.task

        def make() -> tuple[str, str]:
            copy = task.declare("row_copy", call("row_stores", loads(task, view.tile[1]), view.type.constant))
            lane = call(f"{copy}.get_slice", lane_of(task))
            own = call(attribute(lane, "partition_D"), expression(view.name))
            return copy, task.declare(f"{view.resource}_own", own)

        return task.once(("store", view.key), make)
