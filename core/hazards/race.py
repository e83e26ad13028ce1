"""WD401  race: two conflicting accesses that nothing orders."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import NamedBarrier
from ..findings import Finding
from ..run import Run
from .base import Hazard
from .conflicts import races
from .examples import buffer, document, sync, task, work
from .nearby import nearby

CODE, NAME = "WD401", "race"


def examine(run: Run) -> Iterator[Finding]:
    """Races on one resource, between tasks or between warps of one."""
    return races(run, CODE, NAME)


def _handover(*meeting):
    return document(
        "a buffer handed on with a barrier" if meeting else "a buffer handed on with no barrier",
        task("writer", 0, 1, work("scratch", "fill"), *meeting),
        task("reader", 4, 1, *meeting, work("scratch", "read")),
        resources=(buffer("scratch"),),
        barriers=(NamedBarrier("meet", 1, 64),),
        symbols=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Conflicting accesses are ordered, between tasks and between the warps of one task.",
    why="The reader sees old, new or torn data, as the warp scheduler has it; results differ from run to run.",
    bad=_handover(),
    good=_handover(sync("meet")),
    examine=examine,
    repair=nearby,
)
