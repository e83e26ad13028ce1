"""WD301  wait-cycle: warps that wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

from ..describe import words
from ..diagnosis import Diagnosis, diagnose
from ..findings import Finding
from ..run import Run, agent_name, prefix_steps
from .base import Hazard, error, unique
from .examples import acquire, channel, commit, document, release, task, wait, work
from .nearby import nearby
from .places import owed, resources_of

CODE, NAME = "WD301", "wait-cycle"


def examine(run: Run) -> Iterator[Finding]:
    """Each cycle of the waits at the end of a stuck run, warp by warp."""
    if run.execution.stopped or not run.execution.blocked:
        return
    diagnosis = diagnose(run)
    for cycle in diagnosis.cycles:
        yield _finding(run, diagnosis, cycle)


def _finding(run: Run, diagnosis: Diagnosis, cycle: tuple[int, ...]) -> Finding:
    stuck = [diagnosis.stuck[w] for w in cycle]
    lines = []
    for s, after in zip(stuck, [*stuck[1:], stuck[0]], strict=True):
        text = words(s.event, run.program.streams[s.stream], run.program.barriers)
        lines.append(f"{agent_name(run, s.stream)} {text}, which {agent_name(run, after.stream)} owes")
    return error(
        CODE,
        NAME,
        "a cycle of waits: " + "; ".join(lines),
        ops=unique(s.event.op for s in stuck),
        resources=unique(r for s in stuck for r in resources_of(run, s.barrier)),
        tasks=unique(run.task(s.stream) for s in stuck),
        expected="some warp of the cycle can go on",
        actual="each waits for the next",
        notes=unique(line for s in stuck for line in owed(run, diagnosis, s)),
        witness=prefix_steps(
            run, run.execution.at, [(s.stream, run.execution.at[s.stream] + 1, "") for s in stuck]
        ),
    )


def _crossed(first: str, second: str):
    return document(
        "two channels taken in opposite order" if first == "y" else "two channels taken in one order",
        task(
            "left",
            0,
            1,
            wait("x"),
            work("x", "read"),
            release("x"),
            acquire("y"),
            work("y", "fill"),
            commit("y"),
        ),
        task(
            "right",
            4,
            1,
            *(_take("y") if first == "y" else _give("x")),
            *(_give("x") if second == "x" else _take("y")),
        ),
        resources=(channel("x", 1), channel("y", 1)),
        symbols=(),
    )


def _take(name: str):
    return wait(name), work(name, "read"), release(name)


def _give(name: str):
    return acquire(name), work(name, "fill"), commit(name)


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="No cycle of waits.",
    why="Each warp of the cycle waits for an arrival that the next one makes only afterwards: the kernel hangs.",
    bad=_crossed("y", "x"),
    good=_crossed("x", "y"),
    examine=examine,
    repair=nearby,
)
