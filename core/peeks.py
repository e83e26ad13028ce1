"""What a peek can do to later waits: a try_wait that said yes lets every wait pass until the next peek."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .program import Barrier, Event, EventKind, Program, Stream


def with_true_peeks(program: Program) -> Program | None:
    """The program in which every peek succeeds and the waits that rely on it are gone; None if no old peek is used twice."""
    streams, stale = [], False
    for stream in program.streams:
        events, reused = _skipping(stream.events, program.barriers)
        streams.append(Stream(stream.task, stream.warp, stream.weight, stream.warps, events))
        stale = stale or reused
    return replace(program, streams=tuple(streams)) if stale else None


def _skipping(events: Sequence[Event], barriers: Sequence[Barrier]) -> tuple[list[Event], bool]:
    kept: list[Event] = []
    used: dict[tuple[str, str], int] = {}  # (resource, side) of a peek -> waits that it has let pass
    for event in events:
        if event.kind not in (EventKind.TRY, EventKind.WAIT):
            kept.append(event)
            continue
        side = barriers[event.barrier].resource, barriers[event.barrier].side
        if event.kind is EventKind.TRY:
            used[side] = 0
            kept.append(event._replace(kind=EventKind.WAIT))  # it says yes once the phase is over
        elif side in used:
            used[side] += 1
        else:
            kept.append(event)
    return kept, any(count > 1 for count in used.values())
