"""The event of an op that does the same in every iteration: async groups, named barriers, fences, waits for the tensor core,
its memory, tensor maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .allocations import LIFETIME, cta_group
from .document import Op, OpKind
from .event_kinds import DRAINS, FENCES, GROUP_KINDS, NAMED_KINDS
from .program import Event, EventKind
from .tensor_maps import descriptor

if TYPE_CHECKING:
    from .unroll import WarpWalk

MAPS = {
    OpKind.TENSORMAP_UPDATE: EventKind.TENSORMAP_UPDATE,
    OpKind.FENCE_TENSORMAP: EventKind.FENCE_TENSORMAP,
}


def plain_event(walk: WarpWalk, op: Op) -> tuple[Event, ...]:
    """The event of ``op`` in ``walk``, but for the iteration; none for an op of another sort, or on nothing known."""
    machine, kind, cta, lane = walk.machine, op.kind, walk.stream.cta, walk.lane
    if kind in GROUP_KINDS:
        if op.target not in machine.groups:
            return ()
        return (Event(GROUP_KINDS[kind], op.id, number=op.count or 0, engine=machine.groups[op.target]),)
    if kind in NAMED_KINDS:
        if (op.target, "named") not in machine.first:
            return ()
        barrier = machine.barrier(op.target, "named", cta=cta)
        return (Event(NAMED_KINDS[kind], op.id, barrier=barrier, number=machine.meeting[op.target]),)
    if kind in FENCES:
        return (Event(FENCES[kind], op.id, lane=lane),)
    if kind in DRAINS:
        return (Event(EventKind.DRAIN, op.id, engine=DRAINS[kind], lane=lane),)
    if kind in LIFETIME:
        columns = machine.columns(op, cta)
        return (Event(EventKind[kind.name], op.id, number=cta_group(op), accesses=columns, lane=lane),)
    if kind in MAPS:
        touched = descriptor(op.target, cta, kind is OpKind.TENSORMAP_UPDATE) if op.target else ()
        return (Event(MAPS[kind], op.id, accesses=machine.shared(touched), lane=lane),)
    return ()
