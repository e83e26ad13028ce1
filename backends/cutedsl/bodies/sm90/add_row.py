"""sm90.add_row: to each column of a fragment, its element of a row vector is added."""

from __future__ import annotations

from dataclasses import dataclass

from ...syntax import Statement, binary, call
from ..body import WorkCall
from .fragments import made, mma_of, own_values


@dataclass(frozen=True, slots=True)
class AddRow:
    """Parameter ``tensor``: a row vector, an element for each column of the output. Arguments ``fragment``, ``coord_n``."""

    name: str = "sm90.add_row"

    def lower(self, work: WorkCall) -> tuple[Statement, ...]:
        """``fragment = op.add_row(id, fragment, own columns, first column, vector, step)``"""
        task, op = work.task, work.op
        fragment = task.fragment(op, "fragment")
        mma = mma_of(work, fragment)
        tensor = task.module.tensor(work.parameter("tensor"), op.id)
        if len(tensor.shape) != 1:
            raise work.fail(f"adds a vector; {tensor.name} has {len(tensor.shape)} dimensions")
        columns = mma.tile[1] // fragment.subtiles
        shape = mma.tile[0], columns
        own = task.once(
            ("columns", shape, mma.warpgroups),
            lambda: task.declare(
                "own_columns", own_values(work, mma, shape, call("cute.make_identity_tensor", shape))
            ),
        )
        first = binary(binary(task.number(op, "coord_n"), "*", mma.tile[1]), "+", fragment.subtile * columns)
        vector = task.module.plain_tensor(tensor.name)
        return made(work, task.operation("add_row", op, fragment.name, own, first, vector))
