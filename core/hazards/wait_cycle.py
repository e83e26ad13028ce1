"""WD301  wait-cycle: warps that wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

from ..closed_rings import ClosedRing, closed_rings
from ..describe import phase, words
from ..diagnosis import Diagnosis, diagnose
from ..document import OpKind
from ..findings import Finding
from ..program import EventKind
from ..run import Run, agent_name, prefix_steps
from ..tree import ops_of
from .base import Hazard, error, listed, unique
from .examples import acquire, channel, commit, document, release, task, wait, work
from .nearby import nearby
from .places import owed, resources_of

CODE, NAME = "WD301", "wait-cycle"


def examine(run: Run) -> Iterator[Finding]:
    """Each cycle of the waits at the end of a stuck run, warp by warp; and those that an ended producer would close."""
    if run.execution.stopped or not run.execution.blocked:
        return
    diagnosis = diagnose(run)
    for cycle in diagnosis.cycles:
        if any(diagnosis.stuck[w].event.kind is EventKind.REGISTERS for w in cycle):
            continue  # WD303 says so
        yield _finding(run, diagnosis, cycle)
    shown: set[tuple[str, str]] = set()
    for ring in closed_rings(run, diagnosis):
        key = run.task(ring.stream), run.barrier(ring.empty).resource
        if key not in shown:
            shown.add(key)
            yield _closed(run, ring)


def _closed(run: Run, ring: ClosedRing) -> Finding:
    """A consumer that waits for an ended producer, which waits for it as soon as it goes on."""
    w, at, empty = ring.stream, run.execution.at[ring.stream] + 1, run.barrier(ring.empty)
    awaited = words(ring.event, run.program.streams[w], run.program.barriers)
    makers = [
        (t.name, o.id)
        for t in run.document.tasks
        for o in ops_of(t)
        if o.target == empty.resource and o.kind is OpKind.ACQUIRE
    ]
    who = listed(dict.fromkeys(name for name, _ in makers)) or "its producer"
    return error(
        CODE,
        NAME,
        f"a cycle of waits: {agent_name(run, w)} {awaited}; {who} has ended, and to fill that stage would wait for "
        f"{empty.name} {phase(ring.generation)}, which {agent_name(run, w)} owes behind its wait",
        ops=unique((run.event(w, at).op, *(id for _, id in makers))),
        resources=(empty.resource,),
        tasks=unique((run.task(w), *(name for name, _ in makers))),
        expected="every consumer that is counted releases each stage",
        actual="another consumer has ended before",
        notes=(f"{agent_name(run, w)} owes {empty.name} an arrival, behind a wait that cannot pass",),
        witness=prefix_steps(run, run.execution.at, [(w, at, "")]),
    )


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
