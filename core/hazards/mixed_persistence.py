"""WD113  mixed-persistence: some tasks loop over work tiles and others do not."""

from __future__ import annotations

from collections.abc import Iterator

from ..clusters import looked_at, nodes_in
from ..document import Document, Loop, Op
from ..findings import Finding
from .base import Hazard, error, listed
from .examples import acquire, channel, commit, document, loop, queue, release, task, tiles, wait, work

CODE, NAME = "WD113", "mixed-persistence"


def check(document: Document) -> Iterator[Finding]:
    """Tasks without a loop over work tiles beside tasks with one, in the same CTA. Who uses nothing works on no tile."""
    for cta in range(looked_at(document)):
        found = {t.name: list(nodes_in(t.body, cta)) for t in document.tasks}
        tasks = [name for name, nodes in found.items() if any(isinstance(n, Op) and n.target for n in nodes)]
        once = [n for n in tasks if not any(isinstance(x, Loop) and x.kind == "tile" for x in found[n])]
        if 0 < len(once) < len(tasks):
            verb = "works" if len(once) == 1 else "work"
            yield error(
                CODE,
                NAME,
                f"{listed(once)} {verb} on one tile, the other tasks on many",
                tasks=tuple(once),
                expected="all tasks or none",
                actual=f"{len(once)} of {len(tasks)}",
            )
            return


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
