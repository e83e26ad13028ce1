"""Who takes part in the generations of a named barrier."""

from __future__ import annotations

from ..incidents import Incident
from ..program import EventKind
from ..run import Run


def same_cohort(run: Run, incident: Incident) -> bool:
    """Whether both events are of warps that take part in the barrier in the same way. An mbarrier has one cohort."""
    if run.barrier(incident.barrier).side not in ("named", "cluster") or incident.other is None:
        return True
    return run.task(incident.stream) == run.task(incident.other[0])


def meant_to_meet(run: Run, incident: Incident) -> bool:
    """Whether one side only arrives and the other syncs: then both belong to one generation, and the count is too small."""
    kinds = {run.event(incident.stream, incident.index).kind}
    if incident.other is not None:
        kinds.add(run.event(*incident.other).kind)
    return kinds == {EventKind.SYNC, EventKind.BAR_ARRIVE}
