"""sm90.activate: a function of every value of a fragment."""

from __future__ import annotations

from dataclasses import dataclass

from ...syntax import Statement
from ..body import WorkCall
from .fragments import made


@dataclass(frozen=True, slots=True)
class Activate:
    """Parameter ``function``: "relu", "gelu" (by tanh) or "silu". Argument ``fragment``."""

    name: str = "sm90.activate"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``fragment = op.activate(id, function, fragment, step)``"""
        fragment = call.task.fragment(call.op, "fragment")
        function = call.parameter("function")
        return made(call, call.task.operation("activate", call.op, function, fragment.name))
