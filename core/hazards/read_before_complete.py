"""WD408  read-before-complete: a result is read before the wait that covers the operation which makes it."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import NamedBarrier
from ..findings import Finding
from ..run import Run
from .base import Hazard
from .conflicts import races
from .examples import MMA, accumulator, buffer, document, fence, group_commit, group_wait, sync, task, work
from .nearby import nearby

CODE, NAME = "WD408", "read-before-complete"


def examine(run: Run) -> Iterator[Finding]:
    """Accesses of a result that is still being written."""
    return races(run, CODE, NAME)


def _multiply(newest: int):
    return document(
        "accumulators are read behind the wait" if newest == 0 else "accumulators are read too soon",
        task(
            "math",
            0,
            4,
            work("operand", "share"),
            fence(),
            sync("meet"),
            work("operand", "tile", result="t"),
            work("acc", "mma", tile="t"),
            group_commit("mma_group"),
            group_wait("mma_group", newest),
            work("acc", "read"),
        ),
        resources=(buffer("operand"), accumulator()),
        barriers=(NamedBarrier("meet", 1, 128),),
        groups=(MMA,),
        symbols=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Accumulators are read after the group wait that covers them.",
    why="wgmma writes its registers after its issue: a register that is read before the wait holds half a sum.",
    bad=_multiply(1),
    good=_multiply(0),
    examine=examine,
    repair=nearby,
)
