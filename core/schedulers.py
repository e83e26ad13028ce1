"""Dynamic tile schedulers: cluster launch control, by which a running CTA takes over the tile of one not yet launched.

One warp requests (``clusterlaunchcontrol.try_cancel``): the response, 16 bytes, is written through the async proxy into a
slot of shared memory and completes on the slot's full mbarrier. Every reader decodes it and gives the slot back. A response
may say that nothing is left; whoever has seen that must not request again (PTX ISA, clusterlaunchcontrol.try_cancel:
undefined behaviour). All of it needs compute capability 10.0.
"""

from __future__ import annotations

import re

from .document import Document, Loop, Op, OpKind, Resource, Space, Work
from .tree import find_work, ops_of, walk

RESPONSE_BYTES = 16
CLC = "ClcFetchAsync"


def is_dynamic(resource: Resource | None) -> bool:
    """Whether tiles are requested at run time: by its pipeline's type, or by what the queue says of itself."""
    if resource is None:
        return False
    said = dict(resource.params).get("scheduler") == "ClcDynamicPersistent"
    return said or bool(resource.pipeline and resource.pipeline.type == CLC)


def has_slots(resource: Resource | None) -> bool:
    """Whether responses arrive in slots of a pipeline."""
    return bool(resource and resource.pipeline and resource.pipeline.type == CLC)


def fences_itself(resource: Resource, work: Work) -> bool:
    """Whether reading a response fences at once: a work queue's own read does, unless told ``insert_fence=False``."""
    read = work.role == "consumer" and not work.auxiliary and not work.view
    own = resource.space is Space.QUEUE and has_slots(resource)
    return own and read and dict(resource.params).get("insert_fence", True) is not False


def supports_requests(target: str) -> bool:
    """Whether ``target`` can request tiles at all."""
    number = re.match(r"sm_(\d+)", target)
    return bool(number) and int(number[1]) >= 100


def requests_and_reads(document: Document) -> dict[str, tuple[str, bool]]:
    """The ops that request or read a response: the scheduler of each, and whether it reads."""
    slots = {r.name: r for r in document.resources if has_slots(r)}
    found: dict[str, tuple[str, bool]] = {}
    for task in document.tasks:
        for op in ops_of(task) if slots else ():
            work = find_work(slots.get(op.target), op.work) if op.kind is OpKind.WORK else None
            if work is not None and not work.auxiliary and not work.view:
                found[op.id] = op.target, work.role == "consumer"
    return found


def tile_loops(document: Document, name: str) -> list[Loop]:
    """The loops over the tiles of queue ``name``."""
    return [
        n
        for t in document.tasks
        for n in walk(t.body)
        if isinstance(n, Loop) and n.queue == name and n.kind == "tile"
    ]


def uses(op: Op, name: str, *kinds: OpKind) -> bool:
    """Whether ``op`` is one of ``kinds`` on ``name``."""
    return op.target == name and op.kind in kinds
