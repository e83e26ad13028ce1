"""WD207  over-arrival: an arrival on a barrier whose arrivals are spent."""

from __future__ import annotations

from collections.abc import Iterator

from ..describe import phase
from ..findings import Finding
from ..run import Run, join_clocks, prefix_steps
from .base import Hazard, error
from .examples import acquire, commit, document, fence, loop, release, ring, task, wait, work
from .nearby import nearby
from .places import resources_of, state, where

CODE, NAME = "WD207", "over-arrival"


def examine(run: Run) -> Iterator[Finding]:
    """Arrivals that met a phase with nothing pending: the run ends there."""
    for i in run.incidents("over_arrival"):
        name = run.barrier(i.barrier).name
        yield error(
            CODE,
            NAME,
            f"{where(run, i.stream, i.index)} arrives on {name}, but {phase(i.generation)} has all its arrivals and only "
            "waits for bytes",
            ops=(run.event(i.stream, i.index).op,),
            resources=resources_of(run, i.barrier),
            tasks=(run.task(i.stream),),
            expected="at least 1 arrival pending",
            actual=state(run, i.barrier),
            witness=prefix_steps(
                run, join_clocks(run, (i.stream, i.index, i.base)), [(i.stream, i.index, "")]
            ),
        )


def _copy(*arming):
    return document(
        "the stage is armed twice" if len(arming) > 1 else "the stage is armed once",
        task("load", 0, 1, loop(*arming, work("ab", "load"), commit("ab"))),
        task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab"))),
        resources=(ring(),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="No arrival on a barrier whose arrivals of this phase are spent.",
    why="PTX leaves an arrive with nothing pending undefined; in practice the count wraps and the phase never ends.",
    bad=_copy(acquire("ab"), acquire("ab")),
    good=_copy(acquire("ab")),
    examine=examine,
    repair=nearby,
)
