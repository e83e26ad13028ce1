"""WD219  unobserved-phase: an arrive of the next phase comes before any wait has seen that this one is over."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Mbarrier
from ..findings import Finding
from ..program import EventKind
from ..run import Run
from .base import Hazard, error, unique
from .examples import document, mbar_arrive, mbar_wait, task
from .nearby import nearby
from .places import resources_of, where

CODE, NAME = "WD219", "unobserved-phase"


def examine(run: Run) -> Iterator[Finding]:
    """Arrives on a barrier whose last phase no wait before them has seen over; none where phases are wrong anyway."""
    if run.wrong:
        return
    for b, (w, j, g) in run.execution.unobserved.items():
        name = run.barrier(b).name
        waits = unique(
            e.op for s in run.program.streams for e in s.events if e.barrier == b and e.kind is EventKind.WAIT
        )
        yield error(
            CODE,
            NAME,
            f"{where(run, w, j)} arrives for phase {g + 1} of {name}, and no wait before it has seen phase {g} over",
            ops=unique((run.event(w, j).op, *waits)),
            resources=resources_of(run, b),
            tasks=(run.task(w),),
            expected=f"a wait that passes phase {g} before the arrive",
            actual="no wait" if not waits else "waits that nothing puts before it",
        )


def _twice(*between):
    return document(
        "each phase is waited for before the next arrive"
        if between
        else "two phases in a row without a wait",
        task(
            "signal", 0, 1, mbar_arrive("ready"), *between, mbar_arrive("ready"), mbar_wait("ready", parity=1)
        ),
        mbarriers=(Mbarrier("ready", 1),),
        symbols=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Each phase of an mbarrier is observed by a successful wait before an arrive of the next phase.",
    why='PTX demands it of every phase (mbarrier, "Phase of the mbarrier object"): without, the outcome is undefined.',
    bad=_twice(),
    good=_twice(mbar_wait("ready", parity=0)),
    examine=examine,
    repair=nearby,
)
