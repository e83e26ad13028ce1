"""Who can ever tell how much a warp knows of another: the tasks that share a barrier or bytes with it.

A clock value matters only where it is compared, and it is compared only by streams that share something with the stream or
the barrier that it speaks of. What all of these know already makes no difference in anybody's clock.
"""

from __future__ import annotations

from .document import Op, OpKind, Task
from .footprints import stage_bytes
from .machine import Machine
from .program import Program
from .tree import walk

CLUSTERS = (
    OpKind.CLUSTER_SYNC,
    OpKind.CLUSTER_ARRIVE,
    OpKind.CLUSTER_WAIT,
)  # on the cluster's barrier, which has no name


def audiences(machine: Machine, program: Program) -> tuple[list[frozenset[int]], list[frozenset[int]]]:
    """The streams that may compare values of each stream's component, and of each barrier's."""
    things = {t.name: _things(machine, t) for t in machine.document.tasks}
    by_stream = [things[s.task] for s in program.streams]
    streams = [frozenset(w for w, other in enumerate(by_stream) if own & other) for own in by_stream]
    barriers = [
        frozenset(w for w, own in enumerate(by_stream) if barrier.resource in own)
        for barrier in program.barriers
    ]
    return streams, barriers


def _things(machine: Machine, task: Task) -> frozenset[str]:
    """The names of everything that ``task`` may touch, and of what shares bytes or a hardware barrier with it."""
    found: set[str] = set()
    for node in walk(task.body):
        if isinstance(node, Op) and (node.target or node.kind in CLUSTERS):
            found.add(node.target)
            found |= {v for _, v in node.args if isinstance(v, str)}
    ids = {b.id for b in machine.document.barriers if b.name in found}
    found |= {b.name for b in machine.document.barriers if b.id in ids}
    for name in list(found):
        found |= _overlapping(machine, name)
    return frozenset(found)


def _overlapping(machine: Machine, name: str) -> set[str]:
    here = _place(machine, name)
    if here is None:
        return set()
    space, low, high = here
    others = {other: _place(machine, other) for other in machine.offsets}
    return {o for o, at in others.items() if at and at[0] is space and at[1] < high and low < at[2]}


def _place(machine: Machine, name: str) -> tuple | None:
    resource = machine.resources.get(name)
    if resource is None or name not in machine.offsets:
        return None
    stages = max(
        resource.pipeline.stages if resource.pipeline else 1,
        resource.storage.stages if resource.storage else 1,
    )
    low = machine.offsets[name]
    return resource.space, low, low + stages * stage_bytes(resource)
