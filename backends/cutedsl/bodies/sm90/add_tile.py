"""sm90.add_tile: a stage of shared memory is added to a fragment."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import SmemView
from ...syntax import Statement, expression, index
from ..body import WorkCall
from .fragments import made, mma_of, own_values
from .subtiles import staged_tile


@dataclass(frozen=True, slots=True)
class AddTile:
    """Argument ``fragment``: a stage of this resource is added, as many columns as the fragment has."""

    name: str = "sm90.add_tile"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``fragment = op.add_tile(id, fragment, own part of the stage, step)``"""
        task, op = call.task, call.op
        fragment = task.fragment(op, "fragment")
        mma = mma_of(call, fragment)
        shape = staged_tile(call, mma.tile[0])
        if shape[1] * fragment.subtiles != mma.tile[1]:
            raise call.fail(f"a stage of {call.resource.name} has {shape[1]} columns, the fragment others")
        view: SmemView = task.module.storage.view(call.resource, "", shape, op.id)
        own = task.once(
            ("added", mma.warpgroups, view.key),
            lambda: task.declare(f"{view.resource}_own", own_values(call, mma, shape, expression(view.name))),
        )
        stage = task.stage(call.resource, "consumer", op)
        at = index(own, None, None, None, stage)
        return made(call, task.operation("add_tile", op, fragment.name, at))
