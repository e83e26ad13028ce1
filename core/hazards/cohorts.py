"""Which groups of warps meet at a named barrier, where its generations mix."""

from __future__ import annotations

from ..incidents import Incident
from ..program import EventKind
from ..run import Run

ONE, MEET, CLASH = "one", "meet", "clash"
JOINS = (EventKind.SYNC, EventKind.BAR_ARRIVE)


def cohorts(run: Run, incident: Incident) -> str:
    """`ONE` group (always for an mbarrier), groups meant to `MEET` under too small a count, or groups that `CLASH`."""
    barrier = run.barrier(incident.barrier)
    if barrier.side not in ("named", "cluster"):
        return ONE
    kinds: dict[str, set[EventKind]] = {}
    for stream in run.program.streams:
        joins = {e.kind for e in stream.events if e.barrier == incident.barrier and e.kind in JOINS}
        if joins:
            kinds.setdefault(stream.task, set()).update(joins)
    if len(kinds) < 2 or sum(reach(run, incident.barrier).values()) <= barrier.count:
        return ONE
    one_sided = {frozenset(found) for found in kinds.values()}
    if barrier.side == "cluster" or one_sided == {
        frozenset({EventKind.SYNC}),
        frozenset({EventKind.BAR_ARRIVE}),
    }:
        return MEET
    return CLASH


def reach(run: Run, b: int) -> dict[str, int]:
    """Warps of each task that take part in barrier ``b`` at all."""
    found: dict[str, int] = {}
    for stream in run.program.streams:
        if any(e.kind in JOINS and e.barrier == b for e in stream.events):
            found[stream.task] = found.get(stream.task, 0) + stream.weight
    return found
