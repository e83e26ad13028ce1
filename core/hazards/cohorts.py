"""Which groups of warps meet at a named barrier, where its generations mix."""

from __future__ import annotations

from collections.abc import Sequence

from ..incidents import Incident
from ..program import EventKind
from ..run import Run

ONE, MEET, CLASH = "one", "meet", "clash"
JOINS = (EventKind.SYNC, EventKind.BAR_ARRIVE)
ALL_JOINS = (*JOINS, EventKind.CLUSTER_ARRIVE)


def cohorts(run: Run, incident: Incident) -> str:
    """`ONE` group whose arrivals are out of order (always for an mbarrier), more warps that are to `MEET` than the count
    takes, or groups that `CLASH`: each has the count by itself, or another name for the hardware barrier."""
    barrier = run.barrier(incident.barrier)
    if barrier.side not in ("named", "cluster"):
        return ONE
    joins = [
        e for s in run.program.streams for e in s.events if e.barrier == incident.barrier and e.kind in JOINS
    ]
    if incident.kind == "count_mismatch" or len({e.number for e in joins}) > 1:  # two names, two counts
        return CLASH
    found = reach(run, incident.barrier)
    if sum(found.values()) <= barrier.count:
        return ONE
    if barrier.side == "cluster" or _one_sided(run, incident.barrier):
        return MEET
    return CLASH if _deal(sorted(found.values(), reverse=True), barrier.count) else MEET


def reach(run: Run, b: int) -> dict[str, int]:
    """Warps of each task that take part in barrier ``b`` at all."""
    found: dict[str, int] = {}
    for stream in run.program.streams:
        if any(e.kind in ALL_JOINS and e.barrier == b for e in stream.events):
            found[stream.task] = found.get(stream.task, 0) + stream.weight
    return found


def _one_sided(run: Run, b: int) -> bool:
    """Whether some tasks only arrive and the others only sync: they hand something on, and are to meet."""
    kinds: dict[str, set[EventKind]] = {}
    for stream in run.program.streams:
        kinds.setdefault(stream.task, set()).update(
            e.kind for e in stream.events if e.barrier == b and e.kind in JOINS
        )
    return {frozenset(found) for found in kinds.values() if found} == {frozenset((kind,)) for kind in JOINS}


def _deal(sizes: Sequence[int], count: int) -> bool:
    """Whether groups of ``sizes`` warps, largest first, can be put together to cohorts of ``count`` warps each."""
    if not sizes:
        return True
    return any(_deal(rest, count) for rest in _without(sizes[1:], count - sizes[0]))


def _without(sizes: Sequence[int], left: int) -> list[list[int]]:
    """What remains of ``sizes`` once some that sum to ``left`` are taken out, for each choice of them."""
    if left == 0:
        return [list(sizes)]
    if left < 0 or not sizes:
        return []
    taken = _without(sizes[1:], left - sizes[0])
    return taken + [[sizes[0], *rest] for rest in _without(sizes[1:], left)]
