"""sm90.tma_load: one bulk tensor copy of a tile of a global tensor into a part of a stage."""

from __future__ import annotations

from dataclasses import dataclass

from warpdraft.core.document import Mbarrier, Resource
from warpdraft.core.tree import find_target

from ...clusters import RANK
from ...operations import led
from ...syntax import Expression, Line, Statement, binary, index
from ..body import WorkCall
from .copies import coordinates, lands_in_leader, multicast, partitioned


@dataclass(frozen=True, slots=True)
class TmaLoad:
    """Parameters: ``tensor``; ``part`` of the stage (left out: all of it); ``tile`` = (rows, columns); ``coords``, the
    arguments that count tiles along each dimension of the tensor; ``split="pair"``: the tile is one CTA's half, along the
    rows, of what a pair of CTAs shares, and the first coordinate counts such pairs of tiles.

    The bytes complete on the stage's full mbarrier, or on the raw mbarrier that an argument names.
    """

    name: str = "sm90.tma_load"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``op.tma_load(id, atom, source tile, target stage, barrier, step)``, or ``op.tma_multicast`` with the CTAs"""
        task, op = call.task, call.op
        tile = call.parameter("tile")
        view = task.module.storage.view(call.resource, call.parameter("part"), tile, op.id)
        to = multicast(call)
        pair = lands_in_leader(call)
        copy = partitioned(call, call.parameter("tensor"), view, store=False, to=to, pair=pair)
        stage = task.stage(call.resource, "producer", op)
        *batch, row, column = coordinates(call)
        if call.parameter("split"):
            row = binary(binary(row, "*", 2), "+", binary(RANK, "%", 2))
        source = index(copy.tiles, None, row, column, *batch)
        target = index(copy.stages, None, stage)
        method, ctas = ("tma_multicast", (to.ctas,)) if to else ("tma_load", ())
        barrier = self._barrier(call, stage)
        line = Line(task.operation(method, op, copy.atom, source, target, barrier, *ctas), op=op.id)
        return (led(task, line),)

    def _barrier(self, call: WorkCall, stage: Expression) -> Expression:
        rings = call.task.module.storage.rings
        for _, value in call.op.args:
            found = find_target(call.task.document, value) if isinstance(value, str) else None
            if isinstance(found, Mbarrier):
                if stages_of(call.resource) > found.stages:
                    raise call.fail(
                        f"{found.name} has {found.stages} mbarriers, too few for the stages of {call.resource.name}"
                    )
                return binary(rings[value], "+", stage)
        if call.resource.pipeline is None:
            raise call.fail(f"{call.resource.name} has no pipeline whose mbarrier could count the bytes")
        return binary(f"{rings[call.resource.name]}.full", "+", stage)


def stages_of(resource: Resource) -> int:
    """Stages that a work of ``resource`` can be for."""
    if resource.pipeline is not None:
        return resource.pipeline.stages
    return resource.storage.stages if resource.storage is not None else 1
