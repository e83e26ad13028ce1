"""WD504  conditional-fence: the only proxy fence on a path is in a loop that can run zero times."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import NamedBarrier
from ..findings import Finding
from ..run import Run
from ..schedulers import has_slots
from ..tree import find_resource
from .base import Hazard, listed
from .examples import (
    STORE,
    K,
    buffer,
    document,
    elect,
    fence,
    group_commit,
    group_wait,
    loop,
    output,
    sync,
    task,
    work,
)
from .missing_proxy_fence import finding_of, idle_fences, repair

CODE, NAME = "WD504", "conditional-fence"


def examine(run: Run) -> Iterator[Finding]:
    """Missing proxy fences (WD501) of a task whose fences are in loops that run zero times in this case."""
    for pair in run.execution.races.unfenced.values():
        idle = idle_fences(run, pair)
        if idle and not has_slots(find_resource(run.document, pair.first.access.resource)):
            yield finding_of(
                run, pair, CODE, NAME, f"the fence is in {listed(idle)}, which runs zero times here"
            )


def _store(*fences):
    return document(
        "the fence is in a loop over k" if hasattr(fences[0], "body") else "the fence is on every path",
        task(
            "store",
            0,
            4,
            work("stage", "share"),
            *fences,
            sync("meet"),
            elect(
                work("stage", "tile", result="t"),
                work("out", "store", tile="t"),
                group_commit("store_group"),
                group_wait("store_group", 0, read=True),
            ),
        ),
        resources=(buffer("stage"), output()),
        groups=(STORE,),
        barriers=(NamedBarrier("meet", 1, 128),),
        symbols=(K,),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="The only fence on a path is not in a loop that can run zero times.",
    why="For most inputs the fence is there. For the one with no iterations the engine reads what was in memory before.",
    bad=_store(loop(fence())),
    good=_store(fence()),
    examine=examine,
    repair=repair,
)
