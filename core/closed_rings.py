"""Waits for stages of a pipeline that has ended, and that its producer could not have filled if it had gone on.

A consumer that asks for more than is filled is starved. Where the producer's next acquire would not pass either, since a
consumer that releases each stage too has ended, the two would wait for each other: a longer producer is no cure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .diagnosis import ARRIVALS, Diagnosis
from .program import Event, EventKind
from .run import Run


class ClosedRing(NamedTuple):
    """``stream`` waits at ``event``, now or after some more of its steps, for a stage that is filled only once ``empty``
    has completed phase ``generation``, which takes a release that comes behind this wait."""

    stream: int
    event: Event
    empty: int
    generation: int


def closed_rings(run: Run, diagnosis: Diagnosis) -> Iterator[ClosedRing]:
    """One for each starved stream of which that is so."""
    for w in diagnosis.starved:
        stuck = diagnosis.stuck[w]
        waited = run.barrier(stuck.barrier)
        if stuck.event.kind is EventKind.WAIT and waited.side == "full" and stuck.event.number is not None:
            found = _closed(run, w, waited.resource, waited.cta)
            if found is not None:
                yield found


def _closed(run: Run, w: int, resource: str, cta: int) -> ClosedRing | None:
    others: dict[int, int] = {}
    for u in run.execution.blocked:
        left = run.program.streams[u].events[run.execution.at[u] :]
        if any(e.kind is EventKind.WAIT and _is_empty(run, e, resource) for e in left):
            return None  # the producer has not ended
        if u != w:
            _add(others, run, u, left)
    ahead = run.program.streams[w].events[run.execution.at[w] :]
    own: dict[int, int] = {}
    for place, event in enumerate(ahead):
        barrier = run.barrier(event.barrier) if event.kind is EventKind.WAIT else None
        if barrier and (barrier.resource, barrier.side) == (resource, "full") and event.number is not None:
            empty = run.machine.barrier(resource, "empty", barrier.stage, cta)
            state = run.execution.state[empty]
            more = own.get(empty, 0) + others.get(empty, 0) - state.pending
            phases = state.completed + (1 + more // state.count if more >= 0 else 0)
            behind: dict[int, int] = {}
            _add(behind, run, w, ahead[place:])
            if phases < event.number and behind.get(empty):
                return ClosedRing(w, event, empty, event.number - 1)
        _add(own, run, w, (event,))
    return None


def _is_empty(run: Run, event: Event, resource: str) -> bool:
    barrier = run.barrier(event.barrier)
    return (barrier.resource, barrier.side) == (resource, "empty")


def _add(found: dict[int, int], run: Run, w: int, events) -> None:
    """The arrivals that stream ``w`` makes with ``events``, by barrier."""
    for event in events:
        if event.kind in ARRIVALS and event.barrier >= 0:
            for b in event.barriers:
                made = (1 if event.number is None else event.number) * run.program.streams[w].weight
                found[b] = found.get(b, 0) + made
