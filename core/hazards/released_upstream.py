"""WD106  released-upstream: an asynchronous producer starts on an upstream stage that was given back before."""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Finding
from .base import Hazard, error, unique
from .examples import (
    MMA,
    accumulator,
    acquire,
    commit,
    document,
    group_commit,
    group_wait,
    loop,
    release,
    ring,
    task,
    wait,
    work,
)
from .nearby import nearby
from .trace import Trace

CODE, NAME = "WD106", "released-upstream"


def follow(trace: Trace) -> Iterator[Finding]:
    """Asynchronous works on views of a released stage; works without a view behind the release of what the graph says that
    they read."""
    for problem in trace.of("upstream"):
        at = f" ({problem.at})" if problem.at else ""
        yield error(
            CODE,
            NAME,
            f"{problem.task} at {problem.op}{at}: {problem.text}",
            ops=(problem.op,),
            resources=unique((problem.resource,)),
            tasks=(problem.task,),
            expected=f"{problem.resource} held until its last asynchronous reader is done",
            actual="released before",
        )


def _gemm(early: bool):
    mma = (work("acc", "mma", tile="t"), group_commit("mma_group"), group_wait("mma_group"))
    body = (release("ab"), *mma) if early else (*mma, release("ab"))
    return document(
        "mma on a released stage" if early else "mma on a stage that is held",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task("math", 4, 4, loop(wait("ab"), work("ab", "tile", result="t"), *body)),
        resources=(ring(), accumulator()),
        groups=(MMA,),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="An upstream stage is held until every asynchronous producer that reads it has run.",
    why="After the release the stage is refilled: the engine reads the next tile instead of this one.",
    bad=_gemm(True),
    good=_gemm(False),
    follow=follow,
    repair=nearby,
)
