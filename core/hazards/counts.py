"""Declared arrival counts and bytes against those that the schedule makes, and the document with the right ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from ..arrivals import (
    TMA,
    declared_bytes,
    delivered_bytes,
    made_by,
    made_on_empty,
    producer_signal,
    releasing,
)
from ..clusters import looked_at
from ..document import Document, Resource
from ..edits import Edit, SetBarrier, SetPipeline
from ..findings import Finding
from ..interleave import stride_of
from ..pipeline_groups import arriving, filled_with
from ..raw_counts import made_on_raw
from ..tree import made_once


@dataclass(frozen=True, slots=True)
class Mismatch:
    """``declared`` and ``made`` of ``resource``'s ``field``; ``side`` is "full", "empty", "raw" or "bytes". ``seen``: in an
    execution that hangs; what would be derived is another number."""

    resource: str
    side: str
    field: str
    declared: int
    made: int
    seen: bool = False

    @property
    def edit(self) -> Edit:
        """Declares what is made."""
        kind = SetBarrier if self.side == "raw" else SetPipeline
        return kind(self.resource, self.field, self.made)


@made_once
def mismatches(document: Document) -> tuple[Mismatch, ...]:
    """Every declaration that differs from what the tasks do in one phase."""
    found = []
    for r in document.resources:
        if r.pipeline is None:
            continue
        full, empty, nbytes = (
            r.pipeline.producer_count,
            r.pipeline.consumer_count,
            declared_bytes(document, r),
        )
        if full is not None and r in arriving(document, r, "full"):
            made = _made(document, full, partial(_by, document, r), 1)
            found.append(Mismatch(r.name, "full", "producer_count", full, made))
        if empty is not None and releasing(document, r) is r:
            made = _made(document, empty, partial(made_on_empty, document, r), 1)
            found.append(Mismatch(r.name, "empty", "consumer_count", empty, made))
        if nbytes is not None and producer_signal(document, r) == TMA and filled_with(document, r):
            lanes = [
                _made(document, nbytes, partial(delivered_bytes, document, r, lane=lane), 0)
                for lane in range(stride_of(r, "acquire"))
            ]
            made = next((n for n in lanes if n != nbytes), nbytes)
            found.append(Mismatch(r.name, "bytes", "bytes", nbytes, made))
    for m in document.mbarriers:
        if m.count is not None:
            made = _made(document, m.count, partial(made_on_raw, document, m.name), 1)
            found.append(Mismatch(m.name, "raw", "count", m.count, made))
    return tuple(m for m in found if m.declared != m.made)


def not_taken(document: Document) -> tuple[Mismatch, ...]:
    """Counts that no mbarrier takes, which are left to be derived: WD202 has reported them."""
    return tuple(m for m in mismatches(document) if m.side != "bytes" and not 1 <= m.declared < 1 << 20)


def reported(rows: Iterable[Finding], found: Iterable[Mismatch]) -> tuple[Mismatch, ...]:
    """``found`` with what the findings ``rows`` say is made, where that was seen and not derived; without those of which
    no row speaks, if they are of raw mbarriers."""
    said = {(f.resources[0], int(f.expected)) for f in rows if f.code == "WD201"}
    names = {name for name, _ in said}
    kept = [m for m in found if m.side != "raw" or m.resource in names]
    return tuple(
        replace(m, made=n, seen=True)
        if m.side == "raw" and (n := next((n for name, n in said if name == m.resource), m.made)) != m.made
        else m
        for m in kept
    )


def _by(document: Document, resource: Resource, cta: int) -> int:
    """What ops on ``resource`` make on its full barrier, which other members of its group may share."""
    return max(made_by(document, resource, "full", cta))


def _made(document: Document, declared: int, made: Callable[[int], int], unused: int) -> int:
    """What is made on the barriers of the CTAs of the cluster: where it differs from ``declared``, if it does on one that
    is used at all; ``unused`` if none is."""
    found = [n for cta in range(looked_at(document)) if (n := made(cta))]
    return next((n for n in found if n != declared), declared if found else unused)


def corrected(document: Document, wrong: tuple[Mismatch, ...]) -> Document:
    """``document`` with everything in ``wrong`` left to be derived, or as it was seen."""
    fields: dict[str, dict[str, int | None]] = {}
    for mismatch in wrong:
        fields.setdefault(mismatch.resource, {})[mismatch.field] = mismatch.made if mismatch.seen else None
    return replace(
        document,
        resources=tuple(
            replace(r, pipeline=replace(r.pipeline, **fields[r.name]))
            if r.pipeline and r.name in fields
            else r
            for r in document.resources
        ),
        mbarriers=tuple(replace(m, **fields[m.name]) if m.name in fields else m for m in document.mbarriers),
    )
