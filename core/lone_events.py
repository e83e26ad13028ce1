"""The events of ops that meet nobody: fences, waits for the tensor core, its memory, tensor maps."""

from __future__ import annotations

from typing import Any

from .allocations import LIFETIME, cta_group
from .document import Op, OpKind
from .event_kinds import DRAINS, FENCES
from .machine import Machine
from .program import EventKind
from .tensor_maps import descriptor

MAPS = {
    OpKind.TENSORMAP_UPDATE: EventKind.TENSORMAP_UPDATE,
    OpKind.FENCE_TENSORMAP: EventKind.FENCE_TENSORMAP,
}


def lone_event(machine: Machine, op: Op, cta: int) -> tuple[EventKind, dict[str, Any]] | None:
    """The kind and the fields of the event of ``op`` in CTA ``cta``, or None for an op of another sort."""
    kind = op.kind
    if kind in FENCES:
        return FENCES[kind], {}
    if kind in DRAINS:
        return EventKind.DRAIN, {"engine": DRAINS[kind]}
    if kind in LIFETIME:
        return EventKind[kind.name], {"number": cta_group(op), "accesses": machine.columns(op, cta)}
    if kind in MAPS:
        touched = descriptor(op.target, cta, kind is OpKind.TENSORMAP_UPDATE) if op.target else ()
        return MAPS[kind], {"accesses": machine.shared(touched)}
    return None
