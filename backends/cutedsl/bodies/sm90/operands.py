"""What all products share: the stages that their operands lie in, and whether they add to the accumulator."""

from __future__ import annotations

from warpdraft.core.document import Token

from ...syntax import Expression, binary, compare, expression
from ...tokens import StageView
from ..body import WorkCall


def viewed(work: WorkCall, which: str) -> tuple[StageView, str]:
    """The view and the part in it that parameter ``which`` means."""
    name = work.parameter(which)
    if isinstance(dict(work.op.args).get(name), Token):
        return work.task.stage_view(work.op, name), ""
    return work.task.stage_view(work.op), name


def accumulates(work: WorkCall) -> Expression:
    """The condition under which the product adds to what is there, by parameters ``overwrite`` and ``period``."""
    overwrite, period = work.parameter("overwrite"), work.parameter("period")
    if overwrite in ("always", "never"):
        return expression(overwrite == "never")
    loop = work.task.innermost("domain")
    if loop is None or period == 1:
        return expression(False)
    return compare(binary(loop.index, "%", period) if period else loop.index, ">", 0)
