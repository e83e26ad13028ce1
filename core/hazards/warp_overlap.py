"""WD112  warp-overlap: two tasks own one warp."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from ..document import Document
from ..edits import SetTask
from ..findings import Finding, Fix
from .base import Hazard, error
from .examples import acquire, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD112", "warp-overlap"


def check(document: Document) -> Iterator[Finding]:
    """Pairs of tasks whose warp ranges overlap."""
    for a, b in combinations(document.tasks, 2):
        low = max(a.warp_idx, b.warp_idx)
        high = min(a.warp_idx + a.num_warps, b.warp_idx + b.num_warps) - 1
        if low <= high:
            warps = f"warp {low}" if low == high else f"warps {low} to {high}"
            yield error(
                CODE,
                NAME,
                f"{a.name} and {b.name} both own {warps}",
                tasks=(a.name, b.name),
                expected="warps of their own",
                actual=f"{warps} shared",
            )


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """Put the second task behind all others, on a warpgroup of its own."""
    end = max(t.warp_idx + t.num_warps for t in document.tasks)
    free = -(-end // 4) * 4
    yield Fix(f"move {finding.tasks[1]} to warp {free}", (SetTask(finding.tasks[1], "warp_idx", free),))


def _ring(warp: int):
    return document(
        "two tasks on one warp" if warp == 0 else "a warp for each task",
        task("load", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"))),
        task("use", warp, 1, loop(wait("x"), work("x", "read"), release("x"))),
        resources=(channel("x"),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="No two tasks own one warp.",
    why="A warp runs one role: it would do the first task to its end before the second, and wait for itself.",
    bad=_ring(0),
    good=_ring(4),
    check=check,
    repair=repair,
)
