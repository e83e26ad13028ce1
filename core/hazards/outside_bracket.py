"""WD105  outside-bracket: work on a stage that is not held, or a wait that an old peek may skip."""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Finding
from .base import Hazard, error
from .examples import acquire, channel, commit, document, loop, release, task, wait, work
from .nearby import nearby
from .trace import OPENING, Problem, Trace

CODE, NAME = "WD105", "outside-bracket"


def follow(trace: Trace) -> Iterator[Finding]:
    """Steps outside their bracket, and blocking twins of peeks that are used up or looked at another stage."""
    for problem in trace.of("bracket"):
        yield _finding(problem, "between " + " or ".join(OPENING.values()) + " and its counterpart", ())
    for problem in trace.of("stale"):
        yield _finding(
            problem,
            "a peek for every wait, at the stage that the wait is for, or none",
            ("once the peek has said yes, the waits behind it pass without looking at the barrier",),
        )


def _finding(problem: Problem, expected: str, notes: tuple[str, ...]) -> Finding:
    at = f" ({problem.at})" if problem.at else ""
    return error(
        CODE,
        NAME,
        f"{problem.task} at {problem.op}{at}: {problem.text}",
        ops=(problem.op,),
        resources=(problem.resource,),
        tasks=(problem.task,),
        expected=expected,
        actual=problem.text,
        notes=notes,
    )


def _ring(*body):
    return document(
        "the stage is read after its release"
        if body[1].work == ""
        else "the stage is read before its release",
        task("load", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"))),
        task("use", 4, 1, loop(*body)),
        resources=(channel("x"),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Producer work lies between acquire and commit, consumer work between wait and release; a peek serves one wait.",
    why="Outside the bracket the stage belongs to the other side: it is being filled, or read, at the same time.",
    bad=_ring(wait("x"), release("x"), work("x", "read")),
    good=_ring(wait("x"), work("x", "read"), release("x")),
    follow=follow,
    repair=nearby,
)
