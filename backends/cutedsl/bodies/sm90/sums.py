"""sm90.zero_fragment, sm90.add_fragment: a sum of fragments, kept in registers in fp32.

Hopper's tensor cores keep fewer bits than fp32 of what they accumulate of operands of 8 bits: long sums are cut, and the
parts added here.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...syntax import Line, Statement
from ..body import WorkCall
from .wgmma import ADDS, find_mma


@dataclass(frozen=True, slots=True)
class ZeroFragment:
    """The sum is zero. It has the shape of the accumulator whose fragments `AddFragment` adds to it."""

    name: str = "sm90.zero_fragment"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``op.zero_fragment(id, sum, step)``"""
        total = find_mma(call.task, call.resource, call.op).acc
        return (Line(call.task.operation("zero_fragment", call.op, total), op=call.op.id),)


@dataclass(frozen=True, slots=True)
class AddFragment:
    """Argument ``fragment``: a whole accumulator, which is added to the sum."""

    name: str = ADDS

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``op.add_fragment(id, sum, fragment, step)``"""
        task, op = call.task, call.op
        fragment, total = task.fragment(op, "fragment"), find_mma(task, call.resource, op).acc
        if fragment.subtiles != 1:
            raise call.fail(f"adds whole accumulators, not one of {fragment.subtiles} subtiles")
        return (Line(task.operation("add_fragment", op, total, fragment.name), op=op.id),)
