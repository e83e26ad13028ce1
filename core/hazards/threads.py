"""WD605  threads: more warps than a CTA has, or a task on warps that do not exist."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document
from ..findings import Finding
from .base import Hazard, error
from .examples import acquire, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD605", "threads"
WARPS = 32  # of a CTA: 1,024 threads


def check(document: Document) -> Iterator[Finding]:
    """Each task's range of warps."""
    for t in document.tasks:
        if t.warp_idx < 0 or t.num_warps < 1:
            message = f"{t.name} has {t.num_warps} warps from warp {t.warp_idx}"
        elif t.warp_idx + t.num_warps > WARPS:
            message = (
                f"{t.name} needs warp {t.warp_idx + t.num_warps - 1}; a CTA has {WARPS}, numbered from 0"
            )
        else:
            continue
        yield error(
            CODE,
            NAME,
            message,
            tasks=(t.name,),
            expected=f"1 to {WARPS} warps, from 0",
            actual=f"{t.num_warps} from {t.warp_idx}",
        )


def _ring(warp: int):
    return document(
        f"a consumer on warps {warp} to {warp + 3}",
        task("load", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"))),
        task("use", warp, 4, loop(wait("x"), work("x", "read"), release("x"))),
        resources=(channel("x"),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="A CTA has at most 32 warps.",
    why="The launch fails: 1,024 threads are the most that a CTA can have.",
    bad=_ring(32),
    good=_ring(28),
    check=check,
)
