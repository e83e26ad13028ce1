"""WD605  threads: more warps than a CTA or a multiprocessor has, or a task on warps that do not exist."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document
from ..findings import Finding
from ..occupancy import MOST_CTAS, MOST_WARPS
from .base import Hazard, error
from .examples import acquire, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD605", "threads"
WARPS = 32  # of a CTA: 1,024 threads


def check(document: Document) -> Iterator[Finding]:
    """Each task's range of warps, and the warps of the CTAs that share a multiprocessor."""
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
    if min(document.cluster, default=1) < 1:
        yield error(
            CODE,
            NAME,
            f"the cluster is {document.cluster}; each of its sizes is at least 1",
            expected="at least one CTA",
            actual=str(document.cluster),
        )
    yield from _shared(document)


def _shared(document: Document) -> Iterator[Finding]:
    ctas = document.ctas_per_sm
    warps = 4 * -(
        -max((t.warp_idx + t.num_warps for t in document.tasks), default=1) // 4
    )  # whole warpgroups
    most = min(MOST_CTAS, MOST_WARPS // max(1, min(warps, WARPS)))
    if ctas == 1 or 1 <= ctas <= most:
        return
    yield error(
        CODE,
        NAME,
        f"{ctas} CTAs of {warps} warps are to share a multiprocessor; it has {MOST_WARPS} warps and {MOST_CTAS} CTAs",
        expected=f"1 to {most} CTAs on a multiprocessor",
        actual=str(ctas),
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
    rule="A CTA has at most 32 warps, and the CTAs that share a multiprocessor at most 64.",
    why="The launch fails: 1,024 threads are the most that a CTA can have. Of 64 warps, one CTA more waits for the others.",
    bad=_ring(32),
    good=_ring(28),
    check=check,
)
