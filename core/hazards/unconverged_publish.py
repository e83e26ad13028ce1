"""WD213  unconverged-publish: one lane speaks for a warp whose lanes have not met."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import OpKind
from ..findings import Finding
from .base import Hazard, error, unique
from .examples import acquire, channel, commit, document, loop, op, release, task, wait, work
from .trace import Trace

CODE, NAME = "WD213", "unconverged-publish"


def follow(trace: Trace) -> Iterator[Finding]:
    """Elected arrivals behind writes of all lanes, and accesses of all lanes behind the wait of one."""
    for problem in trace.of("lanes"):
        at = f" ({problem.at})" if problem.at else ""
        yield error(
            CODE,
            NAME,
            f"{problem.task} at {problem.op}{at}: {problem.text}",
            ops=unique((problem.op, problem.other)),
            resources=unique((problem.resource,)),
            tasks=(problem.task,),
            expected="sync_warp between them",
            actual="nothing makes the lanes meet",
            notes=(
                "lanes of a warp may drift apart since sm_70; an arrive publishes what its own lane has done",
            ),
        )


def _ring(*meeting):
    return document(
        "the lanes meet before one of them arrives" if meeting else "one lane arrives for 32 that wrote",
        task("load", 0, 1, loop(acquire("x"), work("x", "fill"), *meeting, commit("x"))),
        task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"))),
        resources=(channel("x"),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Lanes that wrote meet (sync_warp) before one elected lane arrives for them, or starts an engine on it. "
    "Elections that an op makes by itself are checked with strict lanes only, `elect_lane` always.",
    why="The arrive of one lane orders only what that lane has written: the reader may find the bytes of others missing.",
    bad=_ring(),
    good=_ring(op(OpKind.SYNC_WARP)),
    follow=follow,
    strict_lanes=True,
)
