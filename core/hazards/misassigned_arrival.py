"""WD206  misassigned-arrival: an arrival can land in an earlier phase, or a wait pass a phase early."""

from __future__ import annotations

from collections.abc import Iterator

from ..describe import phase
from ..document import Mbarrier
from ..findings import Finding
from ..run import Run, join_clocks, prefix_steps
from .base import Hazard, error, unique
from .cohorts import ONE, cohorts
from .examples import document, mbar_arrive, mbar_wait, task
from .nearby import nearby
from .places import resources_of, where

CODE, NAME = "WD206", "misassigned-arrival"


def examine(run: Run) -> Iterator[Finding]:
    """Contributions and waits that nothing orders after all contributions of the phase before."""
    for i in run.incidents("misassigned", "early_pass"):
        if cohorts(run, i) != ONE:
            continue  # two groups of warps on one barrier: WD208 or WD209
        name, early = run.barrier(i.barrier).name, i.kind == "early_pass"
        before = i.generation - 1
        other = i.other or (i.stream, i.index)
        does = "pass a phase too early" if early else f"land in {phase(before)}"
        yield error(
            CODE,
            NAME,
            f"{where(run, i.stream, i.index)} means {phase(i.generation)} of {name}, but can {does}: "
            f"{phase(before)} also needs {where(run, *other)}, which may come later",
            ops=unique((run.event(i.stream, i.index).op, run.event(*other).op)),
            resources=resources_of(run, i.barrier),
            tasks=unique((run.task(i.stream), run.task(other[0]))),
            expected=f"every arrival of {phase(before)} happens before it",
            actual="nothing orders them",
            witness=prefix_steps(
                run, join_clocks(run, (i.stream, i.index, i.base)), [(i.stream, i.index, "")]
            ),
        )


def _pair(*between):
    return document(
        "two arrivals a phase from each of two tasks",
        task("left", 0, 1, mbar_arrive("both"), *between, mbar_arrive("both"), mbar_wait("both", 1)),
        task("right", 4, 1, mbar_arrive("both"), *between, mbar_arrive("both"), mbar_wait("both", 1)),
        mbarriers=(Mbarrier("both", 2),),
        symbols=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="No arrival may land in an earlier phase than it is meant for, nor a wait pass early.",
    why="An mbarrier counts arrivals, not who made them: two by one warp complete a phase that another warp was to take "
    "part in, and whoever waits goes on too soon.",
    bad=_pair(),
    good=_pair(mbar_wait("both", 0)),
    examine=examine,
    repair=nearby,
)
