"""WD113  mixed-persistence: some tasks loop over work tiles and others do not."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Loop, Task
from ..findings import Finding
from ..tree import walk
from .base import Hazard, error, listed
from .examples import acquire, channel, commit, document, loop, queue, release, task, tiles, wait, work

CODE, NAME = "WD113", "mixed-persistence"


def check(document: Document) -> Iterator[Finding]:
    """Tasks without a loop over work tiles beside tasks with one."""
    once = [t.name for t in document.tasks if not _persistent(t)]
    if 0 < len(once) < len(document.tasks):
        yield error(
            CODE,
            NAME,
            f"{listed(once)} work on one tile, the other tasks on many",
            tasks=tuple(once),
            expected="all tasks or none",
            actual=f"{len(once)} of {len(document.tasks)}",
        )


def _persistent(t: Task) -> bool:
    return any(isinstance(n, Loop) and n.kind == "tile" for n in walk(t.body))


def _ring(consumer_loops: bool):
    advance = work("queue", "get_and_advance_work_tile")
    use = loop(wait("x"), work("x", "read"), release("x"))
    return document(
        "both tasks loop over tiles" if consumer_loops else "only the producer loops over tiles",
        task("load", 0, 1, tiles(loop(acquire("x"), work("x", "fill"), commit("x")), advance)),
        task("use", 4, 1, tiles(use, advance) if consumer_loops else use),
        resources=(channel("x"), queue()),
        graph=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="All tasks loop over work tiles, or none does.",
    why="The task that works on one tile stops answering the others after it.",
    bad=_ring(False),
    good=_ring(True),
    check=check,
)
