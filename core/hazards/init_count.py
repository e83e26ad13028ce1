"""WD202  bad-init-count: an mbarrier is initialised with a count that the hardware does not take."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Mbarrier
from ..edits import SetBarrier, SetPipeline
from ..findings import Finding, Fix
from ..phases import MAX_COUNT
from .base import Hazard, error
from .examples import document, mbar_arrive, mbar_wait, task

CODE, NAME = "WD202", "bad-init-count"


def check(document: Document) -> Iterator[Finding]:
    """Declared counts outside 1 .. 2^20 - 1."""
    for resource, field, count in declared(document):
        if not 1 <= count <= MAX_COUNT:
            yield error(
                CODE,
                NAME,
                f"{field.replace('_', ' ')} of {resource} is {count}; an mbarrier takes 1 to {MAX_COUNT} arrivals",
                resources=(resource,),
                expected=f"1 to {MAX_COUNT}",
                actual=str(count),
            )


def declared(document: Document) -> Iterator[tuple[str, str, int]]:
    """Every declared count, with the field that holds it."""
    for r in document.resources:
        for field in ("producer_count", "consumer_count"):
            count = getattr(r.pipeline, field, None)
            if count is not None:
                yield r.name, field, count
    for m in document.mbarriers:
        if m.count is not None:
            yield m.name, "count", m.count


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """Leave the count out."""
    for resource, field, count in declared(document):
        if resource in finding.resources and not 1 <= count <= MAX_COUNT:
            kind = SetBarrier if field == "count" else SetPipeline
            yield Fix(f"derive the {field.replace('_', ' ')} of {resource}", (kind(resource, field, None),))


def _signal(count: int):
    return document(
        f"an mbarrier of {count} arrivals",
        task("left", 0, 1, mbar_arrive("ready")),
        task("right", 4, 1, mbar_wait("ready")),
        mbarriers=(Mbarrier("ready", count),),
        symbols=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="An mbarrier is initialised with 1 to 2^20 - 1 arrivals.",
    why="PTX leaves other counts undefined: the barrier never completes, or at once.",
    bad=_signal(0),
    good=_signal(1),
    check=check,
    repair=repair,
)
