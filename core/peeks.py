"""What a peek can do to later waits: a try_wait that said yes lets every wait pass until the next peek."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .cuts import Mark
from .frontier import Frontier
from .program import Barrier, Event, EventKind, Program


def with_true_peeks(program: Program) -> Program | None:
    """The program in which every peek succeeds and the waits that rely on it are gone; None where each of these is for the
    very phase that its peek looked at."""
    streams, stale = [], False
    for stream in program.streams:
        events, reused = _skipping(stream.events, program.barriers)
        streams.append(replace(stream, events=events))
        stale = stale or reused
    return replace(program, streams=tuple(streams)) if stale else None


def _skipping(events: Sequence[Event], barriers: Sequence[Barrier]) -> tuple[list[Event], bool]:
    kept: list[Event] = []
    seen: dict[
        tuple[str, str], tuple[int, int | None]
    ] = {}  # (resource, side) -> the phase that a peek looked at
    stale = False
    for event in events:
        if event.kind not in (EventKind.TRY, EventKind.WAIT) or event.drain:
            kept.append(event)
            continue
        if barriers[event.barrier].side == "raw":  # no wait relies on a peek at a raw mbarrier
            kept.append(event)
            continue
        side, phase = (
            (barriers[event.barrier].resource, barriers[event.barrier].side),
            (event.barrier, event.number),
        )
        if event.kind is EventKind.TRY:
            seen[side] = phase
            kept.append(event._replace(kind=EventKind.WAIT))  # it says yes once the phase is over
        elif side in seen:
            stale = stale or seen[side] != phase
        else:
            kept.append(event)
    return kept, stale


def peeked(program: Program, w: int, mark: Mark) -> dict[tuple[str, str], tuple]:
    """By (resource, side), the use of its pipeline that stream ``w`` looked at with its last peek before ``mark``, counted
    from each of its cursors there."""
    last: dict[tuple[str, str], Event] = {}
    for event in program.streams[w].events[: mark.position]:
        if event.kind is EventKind.TRY and program.barriers[event.barrier].side != "raw":
            last[program.barriers[event.barrier].resource, program.barriers[event.barrier].side] = event
    found = {}
    for (name, side), event in last.items():
        stages = sum(b.resource == name and b.side == side for b in program.barriers)
        use = (event.number or 0) * stages + program.barriers[event.barrier].stage
        cursors = ((cursor, use - uses) for (of, cursor), uses in mark.cursors.items() if of == name)
        found[name, side] = tuple(sorted(cursors))
    return found


def peeked_alike(program: Program, one: Frontier, two: Frontier, other: Program) -> bool:
    """Whether old peeks stand for the same waits to come at both cuts; ``other`` is the program of ``two``."""
    return all(
        w in two.cut.marks and peeked(program, w, mark) == peeked(other, w, two.cut.marks[w])
        for w, mark in one.cut.marks.items()
    )
