"""sm90.store_fragment: registers to shared memory, converted to the output's element type, by stmatrix if of 16 bits."""

from __future__ import annotations

from dataclasses import dataclass

from warpdraft.core.tree import find_resource

from ...storage import SmemView
from ...syntax import Line, Statement, attribute, call, expression, index
from ..body import WorkCall
from .fragments import own_values
from .subtiles import staged_tile
from .wgmma import Mma, find_mma


@dataclass(frozen=True, slots=True)
class StoreFragment:
    """Arguments ``fragment``, and ``stage`` of a resource without a pipeline. Each warp stores its own rows."""

    name: str = "sm90.store_fragment"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``op.store_fragment(id, copy, fragment, target stage, step)``, or ``op.store_values`` of 32 bits"""
        task, op = call.task, call.op
        fragment = task.fragment(op, "fragment")
        mma = find_mma(task, find_resource(task.document, fragment.accumulator), op)
        view = task.module.storage.view(call.resource, "", staged_tile(call, mma.tile[0]), op.id)
        stage = task.stage(call.resource, "producer", op)
        if view.type.bytes == 4:
            own = task.once(
                ("own", mma.warpgroups, view.key),
                lambda: task.declare(
                    f"{view.resource}_own", own_values(call, mma, view.tile, expression(view.name))
                ),
            )
            at = index(own, None, None, None, stage)
            return (Line(task.operation("store_values", op, fragment.name, at), op=op.id),)
        copy, target = self._declared(call, mma, view)
        at = index(target, None, None, None, stage)
        return (Line(task.operation("store_fragment", op, copy, fragment.name, at), op=op.id),)

    def _declared(self, work: WorkCall, mma: Mma, view: SmemView) -> tuple[str, str]:
        task = work.task

        def make() -> tuple[str, str]:
            if view.type.bytes != 2:
                raise work.fail(f"stores fp16, bf16 and fp32, not {view.type.dtype.name}")
            atom = call("cute.make_copy_atom", call("warp.StMatrix8x8x16bOp", False, 4), view.type.constant)
            st_atom = task.declare("st_atom", atom)
            tiled = call("cute.make_tiled_copy_C_atom", st_atom, mma.tiled)
            copy = task.declare("st_copy", call("cute.make_tiled_copy_S", st_atom, tiled))
            own = call(f"{copy}.get_slice", task.thread)
            wish = f"{view.resource}_own"
            target = task.declare(wish, call(attribute(own, "partition_D"), expression(view.name)))
            return copy, target

        return task.once(("store", mma.tiled, view.key), make)
