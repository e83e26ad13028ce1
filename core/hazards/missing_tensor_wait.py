"""WD502  missing-tcgen05-wait: tensor memory is handed on, or what was loaded used, while a load or store is in flight."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Engine, OpKind
from ..edits import InsertNode, places
from ..findings import Finding, Fix
from ..footprints import target_work
from ..run import Run
from ..tensor_memory import issued_as
from ..tree import find_task
from .base import Hazard, error
from .conflicts import races
from .examples import acquire, commit, document, loop, op, release, task, tensor, wait, wait_ld, work
from .trace import Trace

CODE, NAME = "WD502", "missing-tcgen05-wait"
WAIT_OF = {Engine.TCGEN05_LD: OpKind.TCGEN05_WAIT_LD, Engine.TCGEN05_ST: OpKind.TCGEN05_WAIT_ST}


def examine(run: Run) -> Iterator[Finding]:
    """Accesses that may come before the end of a load or store that was issued before."""
    return races(run, CODE, NAME)


def follow(trace: Trace) -> Iterator[Finding]:
    """Values that are used before their load was waited for."""
    for problem in trace.of("unloaded"):
        at = f" ({problem.at})" if problem.at else ""
        yield error(
            CODE,
            NAME,
            f"{problem.task} at {problem.op}{at}: {problem.text}",
            ops=(problem.op, problem.other),
            resources=(problem.resource,),
            tasks=(problem.task,),
            expected=f"tcgen05_wait_ld() between {problem.other} and {problem.op}",
            actual="none",
        )


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """Wait right behind the load or store."""
    for place in places(document):
        if place.node.id not in finding.ops or getattr(place.node, "kind", None) is not OpKind.WORK:
            continue
        found, task = target_work(document, place.node), find_task(document, place.task)
        kind = WAIT_OF.get(issued_as(*found, task)) if found and task else None
        if kind is not None:
            title = f"{kind.value} after {place.node.id}"
            yield Fix(title, (InsertNode(place.parent, place.index + 1, op(kind)),))


def _drain(*waits):
    return document(
        "the accumulator is released once it has been read"
        if waits
        else "the accumulator is released at once",
        task("mma", 0, 1, loop(acquire("acc"), work("acc", "mma"), commit("acc"))),
        task("epilogue", 4, 4, loop(wait("acc"), work("acc", "load"), *waits, release("acc"))),
        resources=(tensor(),),
        target="sm_100a",
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="tcgen05.ld and tcgen05.st are waited for before others may touch what they read and write, and before the loaded "
    "values are used.",
    why="Both return before they have moved anything: the next MMA overwrites what is still being read, or a reader finds "
    "the columns, or its registers, as they were.",
    bad=_drain(),
    good=_drain(wait_ld()),
    follow=follow,
    examine=examine,
    repair=repair,
)
