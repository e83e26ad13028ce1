"""Which value a work is given, by the rule of Task Scheduling's run time.

A route copies what a work returns into a mailbox of the reader: one for each reading resource, side and parameter, whichever
call reads it. So a parameter holds what was written to its mailbox last, also in the iteration before. Where that is always
what the schedule passes, each call's results have names of their own, as in authoring; where another writer of the mailbox
may come between, all writers of it share one name.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

from warpdraft.core.document import Document, Op, Token
from warpdraft.core.tree import find_resource, find_work, ops_of

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


def shared_names(routes: Sequence[Route], places: dict[Slot, Place]) -> dict[Written, Written]:
    """Who stands for whom: by (call, variable), the first of those whose values have one name, itself where alone. A value
    that goes to readers by different mailboxes, which not all of these writers fill, has one name all the same
    (`mixed_views`)."""
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
    return {of: root(of) for of in written}


def mixed_views(document: Document) -> Iterator[str]:
    """Where a name may not be what a reader is given: views that several calls give one name, read by several mailboxes. Of
    values that are no views nothing depends on whose they are; conditions take what was written last (`TaskReader`)."""
    for task in document.tasks:
        made: dict[str, list[Op]] = {}
        for op in ops_of(task):
            for name in op.results:
                made.setdefault(name, []).append(op)
        for name, ops in made.items():
            works = [find_work(find_resource(document, o.target), o.work) for o in ops]
            if len(ops) > 1 and any(w and w.view for w in works):
                boxes = {box for o in ops_of(task) for box in _boxes(document, o, name)}
                if len(boxes) > 1:
                    yield f"{task.name}: {name} goes to readers whose mailboxes may not hold one view"


def _boxes(document: Document, op: Op, name: str) -> Iterator[tuple[str, str, str]]:
    work = find_work(find_resource(document, op.target), op.work)
    for parameter, value in op.args:
        if value == Token(name):
            yield op.target, work.role if work else "", parameter


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
