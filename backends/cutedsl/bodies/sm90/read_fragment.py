"""sm90.read_fragment: a subtile of the accumulator, as a fragment in registers. Nothing moves."""

from __future__ import annotations

from dataclasses import dataclass

from ...syntax import Line, Statement, expression
from ...tokens import Fragment
from ..body import WorkCall
from .subtiles import subtiles_of
from .wgmma import find_mma


@dataclass(frozen=True, slots=True)
class ReadFragment:
    """Argument ``subtile``: a constant, columns [subtile n / subtiles, ...) of the m x n tile. The number of subtiles
    follows from what stores the fragment, or is the body's parameter ``subtiles``."""

    name: str = "sm90.read_fragment"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``fragment = op.read_fragment(id, acc, subtile, subtiles, step)``"""
        task, op = call.task, call.op
        mma = find_mma(task, call.resource, op)
        count = subtiles_of(call, mma.tile)
        if (
            mma.warpgroups[1] > 1 and count > 1
        ):  # a warpgroup then holds other columns than those of a subtile
            raise call.fail("a tile whose columns are shared by warpgroups cannot be cut into subtiles")
        subtile = dict(op.args).get("subtile", 0)
        if type(subtile) is not int or not 0 <= subtile < count:
            raise call.fail(f"subtile must be a constant from 0 to {count - 1}, not {subtile!r}")
        value = task.operation("read_fragment", op, mma.acc, subtile, count)
        if not op.results:
            return ()
        for result in op.results:
            if result in task.hoisted:
                raise call.fail("a fragment can only be used inside the loop or guard that reads it")
            task.bind(result, Fragment(call.resource.name, task.variable(result), subtile, count))
        targets = tuple(expression(task.variable(result)) for result in op.results)
        return (Line(value, targets, op.id),)
