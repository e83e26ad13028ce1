"""What bodies share that make one fragment of another."""

from __future__ import annotations

from dataclasses import replace

from warpdraft.core.tree import find_resource

from ...syntax import Expression, Line, Statement, call, expression
from ...tokens import Fragment
from ..body import WorkCall
from .wgmma import Mma, find_mma


def made(work: WorkCall, value: Expression) -> tuple[Statement, ...]:
    """The line that makes a new fragment of that which the work is given."""
    task, op = work.task, work.op
    fragment = task.fragment(op, "fragment")
    for result in op.results:
        if result in task.hoisted:
            raise work.fail("a fragment can only be used inside the loop or guard that makes it")
        task.bind(result, replace(fragment, name=task.names.new(result)))
    targets = tuple(expression(task.fragment_of(result).name) for result in op.results)
    return (Line(value, targets, op.id),) if targets else ()


def mma_of(work: WorkCall, fragment: Fragment) -> Mma:
    accumulator = find_resource(work.task.document, fragment.accumulator)
    return find_mma(work.task, accumulator, work.op)


def own_values(work: WorkCall, mma: Mma, shape: tuple[int, int], tensor: Expression) -> Expression:
    """The part of ``tensor`` (rows, columns, ..) that lies where this thread has values of a fragment."""
    return call("own_values", tensor, shape[1] // mma.warpgroups[1], mma.warpgroups, work.task.thread)
