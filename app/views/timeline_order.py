"""Marks in a drawing the waits that measured and predicted timeline have in another order than what frees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from warpdraft.core.simulate import Difference
from warpdraft.core.simulate.perfetto import at_text

from .timeline import Columns, Drawing

MARK = "other order"  # the words by which a search finds them

Notes = Mapping[tuple[str, str], str]  # (op, iteration in words) -> what is said there


def order_notes(differences: Iterable[Difference]) -> Notes:
    """What is said of each: ``one`` is the prediction, ``other`` the measurement."""
    return {
        (d.op, at_text(d.at)): f"{MARK}: predicted {d.one:,} cycles, measured {d.other:,}"
        for d in reversed(list(differences))  # the first of several warps is kept
    }


def with_order(drawing: Drawing, notes: Notes) -> Drawing:
    """``drawing`` with ``notes`` beside what its bars are about."""
    if not notes:
        return drawing
    return replace(drawing, bars=_noted(drawing.bars, notes), waits=_noted(drawing.waits, notes))


def _noted(columns: Columns, notes: Notes) -> Columns:
    places = zip(columns["op"], columns["at"], columns["about"], columns["kind"], strict=True)
    about = [
        f"{text} {notes[op, at]}".strip() if kind != "in-flight" and (op, at) in notes else text
        for op, at, text, kind in places
    ]
    return {**columns, "about": about}
