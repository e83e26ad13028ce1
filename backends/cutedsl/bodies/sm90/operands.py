"""What all products share: the stages that their operands lie in, and whether they add to the accumulator."""

from __future__ import annotations

from warpdraft.core.document import Token

from ...syntax import Expression, compare, expression
from ...tokens import StageView
from ..body import WorkCall


def viewed(work: WorkCall, which: str) -> tuple[StageView, str]:
    """The view and the part in it that parameter ``which`` means."""
    name = work.parameter(which)
    if isinstance(dict(work.op.args).get(name), Token):
        return work.task.stage_view(work.op, name), ""
    return work.task.stage_view(work.op), name


def accumulates(work: WorkCall) -> Expression:
    """The condition under which the product adds to what is there, by parameter ``overwrite``."""
    overwrite = work.parameter("overwrite")
    if overwrite in ("always", "never"):
        return expression(overwrite == "never")
    loop = work.task.innermost("domain")
    return expression(False) if loop is None else compare(loop.index, ">", 0)
