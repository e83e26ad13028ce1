"""Declared arrival counts and bytes against those that the schedule makes, and the document with the right ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..arrivals import (
    TMA,
    bracket_bytes,
    derived_empty_count,
    derived_full_count,
    first_acquire,
    producer_signal,
)
from ..document import Document
from ..edits import Edit, SetBarrier, SetPipeline
from ..raw_counts import derived_raw_count


@dataclass(frozen=True, slots=True)
class Mismatch:
    """``declared`` and ``made`` of ``resource``'s ``field``; ``side`` is "full", "empty", "raw" or "bytes"."""

    resource: str
    side: str
    field: str
    declared: int
    made: int

    @property
    def edit(self) -> Edit:
        """Declares what is made."""
        kind = SetBarrier if self.side == "raw" else SetPipeline
        return kind(self.resource, self.field, self.made)


def mismatches(document: Document) -> tuple[Mismatch, ...]:
    """Every declaration that differs from what the tasks do in one phase."""
    found = []
    for r in document.resources:
        if r.pipeline is None:
            continue
        full, empty, nbytes = r.pipeline.producer_count, r.pipeline.consumer_count, r.pipeline.bytes
        if full is not None:
            found.append(Mismatch(r.name, "full", "producer_count", full, derived_full_count(document, r)))
        if empty is not None:
            found.append(Mismatch(r.name, "empty", "consumer_count", empty, derived_empty_count(document, r)))
        if nbytes is not None and producer_signal(document, r) == TMA:
            brackets = [(t, a) for t in document.tasks if (a := first_acquire(t, r)) is not None]
            made = sum(bracket_bytes(document, r, t, a) for t, a in brackets)
            found.append(Mismatch(r.name, "bytes", "bytes", nbytes, made))
    for m in document.mbarriers:
        if m.count is not None:
            found.append(Mismatch(m.name, "raw", "count", m.count, derived_raw_count(document, m.name)))
    return tuple(m for m in found if m.declared != m.made)


def corrected(document: Document, wrong: tuple[Mismatch, ...]) -> Document:
    """``document`` with everything in ``wrong`` left to be derived."""
    fields: dict[str, dict[str, None]] = {}
    for mismatch in wrong:
        fields.setdefault(mismatch.resource, {})[mismatch.field] = None
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
