"""What a peek can do to later waits: a try_wait that said yes lets every wait pass until the next peek."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
