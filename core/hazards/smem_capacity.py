"""WD601  smem-capacity: more shared memory than a CTA can have, or rings and buffers of impossible sizes."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Space
from ..findings import Finding, Fix
from ..layout import layout, smem_capacity
from ..limits import sizes
from .base import Hazard, error
from .examples import acquire, commit, document, fence, loop, release, ring, task, wait, work
from .shrinking import fewer_stages

CODE, NAME = "WD601", "smem-capacity"


def check(document: Document) -> Iterator[Finding]:
    """Sizes that nothing can have, and the total of data and barriers against what fits."""
    for name, what, value, least in sizes(document):
        if value < least:
            yield error(
                CODE,
                NAME,
                f"{name} has {value} {what}; the least is {least}",
                resources=(name,),
                expected=f"at least {least}",
                actual=str(value),
            )
    found, capacity = layout(document), smem_capacity(document)
    if found.smem_bytes > capacity:
        stored = [r for r in document.resources if r.storage and r.space is Space.SMEM]
        yield error(
            CODE,
            NAME,
            f"{found.smem_bytes} B of shared memory do not fit into {capacity} B",
            resources=tuple(r.name for r in stored),
            expected=f"at most {capacity} B",
            actual=f"{found.smem_bytes} B",
            notes=tuple(f"{r.name}: {r.storage.stages} x {r.storage.bytes} B" for r in stored if r.storage),
        )


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """As many stages of a pipeline as fit."""
    return fewer_stages(document, finding, check)


def _ring(stages: int):
    ab = ring(stages=stages, size=49152)
    return document(
        f"a ring of {stages} stages of 48 KiB",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab"))),
        resources=(ab,),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Data, barriers and scheduler slots fit into the shared memory of a CTA; no ring is without a stage.",
    why="The launch fails, after all the compiling.",
    bad=_ring(5),
    good=_ring(4),
    check=check,
    repair=repair,
)
