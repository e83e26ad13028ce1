"""Which value a work is given, by the rule of Task Scheduling's run time.

A route copies what a work returns into a mailbox of the reader: one for each reading resource, side and parameter, whichever
call reads it. So a parameter holds what was written to its mailbox last, also in the iteration before. Where that is always
what the schedule passes, each call's results have names of their own, as in authoring; where another writer of the mailbox
may come between, all writers of it share one name.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Set
from dataclasses import dataclass
from typing import Any

Slot = Hashable
Mailbox = tuple[int, str, str]  # reading resource, side, parameter
Written = tuple[Slot, str]  # a call and one of the variables that it returns


@dataclass(frozen=True)
class Place:
    """Where a call stands in its task: its number in schedule order, and the blocks around it, outermost first; loops are
    ("loop", ...)."""

    number: int
    blocks: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Route:
    """``variable`` of the call ``writer`` is copied into ``mailbox``, for the call ``reader``."""

    writer: Slot
    variable: str
    reader: Slot
    mailbox: Mailbox


def shared_names(
    routes: Sequence[Route], places: dict[Slot, Place]
) -> tuple[dict[Written, Written], list[Route]]:
    """Who stands for whom: by (call, variable), the first of those whose values have one name, itself where alone; and the
    routes of which that is not true, because the value goes to readers by different mailboxes."""
    written = {(r.writer, r.variable): (r.writer, r.variable) for r in routes}

    def root(of: Written) -> Written:
        while written[of] != of:
            of = written[of]
        return of

    def first(a: Written, b: Written) -> list[Written]:
        return sorted((a, b), key=lambda w: (places[w[0]].number, w[1]))

    boxes: dict[Mailbox, list[Route]] = {}
    for route in routes:
        boxes.setdefault(route.mailbox, []).append(route)
    for found in boxes.values():
        writers = {r.writer for r in found}
        if not all(_is_newest(r.reader, r.writer, writers - {r.writer}, places) for r in found):
            for r in found[1:]:
                kept, other = first(root((found[0].writer, found[0].variable)), root((r.writer, r.variable)))
                written[other] = kept
    names = {of: root(of) for of in written}
    return names, [
        r
        for found in boxes.values()
        for r in found
        if not _is_newest(
            r.reader,
            r.writer,
            {of[0] for of in names if names[of] == names[r.writer, r.variable]} - {x.writer for x in found},
            places,
        )
    ]


def _is_newest(reader: Slot, writer: Slot, others: Set[Slot], places: dict[Slot, Place]) -> bool:
    """Whether ``reader`` always comes before any of ``others`` has run since ``writer`` last did, which runs whenever it
    does."""
    if not others:
        return True
    of, to = places[writer], places[reader]
    if to.blocks[: len(of.blocks)] != of.blocks or of.number > to.number:
        return False
    again = {
        b for b in to.blocks[len(of.blocks) :] if b[0] == "loop"
    }  # in which the writer does not run anew
    return not any(
        of.number < places[o].number < to.number or again.intersection(places[o].blocks) for o in others
    )


def mailbox(resource: Any, consumes: bool, parameter: str) -> Mailbox:
    """The mailbox of ``parameter`` on one side of ``resource``."""
    return id(resource), "consumer" if consumes else "producer", parameter
