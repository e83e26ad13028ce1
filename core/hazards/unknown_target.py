"""WD116  unknown-target: the target names no GPU architecture."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document
from ..findings import Finding
from ..unmodelled import CHECKED, known_target
from .base import Hazard, error, listed
from .examples import acquire, commit, document, fence, loop, release, ring, task, wait, work

CODE, NAME = "WD116", "unknown-target"


def check(document: Document) -> Iterator[Finding]:
    """A target that no compiler takes."""
    if not known_target(document.target):
        yield error(
            CODE,
            NAME,
            f"target {document.target!r} names no architecture",
            expected=f"{listed(CHECKED)} are checked in full",
            actual=document.target or "nothing",
        )


def _ring(target: str):
    return document(
        f"a schedule for {target}",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab"))),
        resources=(ring(),),
        target=target,
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="The target is an architecture that schedules are built for.",
    why="Limits and instructions differ between architectures: for one that does not exist nothing can be checked or built.",
    bad=_ring("sm_9a"),
    good=_ring("sm_90a"),
    check=check,
)
