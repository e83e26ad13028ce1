"""WD604  warpgroup-alignment: wgmma by something else than whole, aligned warpgroups."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Engine, Guard, GuardKind, Op, OpKind
from ..findings import Finding
from ..footprints import engine_of, target_work
from ..tree import placed
from .base import Hazard, error
from .examples import (
    MMA,
    accumulator,
    acquire,
    commit,
    document,
    group_commit,
    group_wait,
    loop,
    release,
    ring,
    task,
    wait,
    work,
)

CODE, NAME = "WD604", "warpgroup-alignment"
GROUP = 4  # warps (PTX ISA, wgmma: a warpgroup is four contiguous warps, the first a multiple of 4)


def check(document: Document) -> Iterator[Finding]:
    """Tasks with wgmma on odd warps, and wgmma that one warp is elected for."""
    seen = set()
    for found in placed(document):
        if not isinstance(found.node, Op) or not _is_wgmma(document, found.node):
            continue
        t = found.task
        elected = any(isinstance(p, Guard) and p.kind is GuardKind.ELECT_WARP for p in found.parents)
        if (t.warp_idx % GROUP == 0 and t.num_warps % GROUP == 0 and not elected) or t.name in seen:
            continue
        seen.add(t.name)
        warps = "one elected warp" if elected else f"warps {t.warp_idx} to {t.warp_idx + t.num_warps - 1}"
        yield error(
            CODE,
            NAME,
            f"{t.name} executes wgmma at {found.node.id} with {warps}; it takes whole warpgroups",
            ops=(found.node.id,),
            tasks=(t.name,),
            expected="warps from a multiple of 4, as many as a multiple of 4",
            actual=warps,
        )


def _is_wgmma(document: Document, op: Op) -> bool:
    found = target_work(document, op) if op.kind is OpKind.WORK else None
    return found is not None and engine_of(*found) is Engine.WGMMA


def _gemm(first: int):
    return document(
        f"wgmma on warps {first} to {first + 3}",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task(
            "math",
            first,
            4,
            loop(
                wait("ab"),
                work("ab", "tile", result="t"),
                work("acc", "mma", tile="t"),
                group_commit("mma_group"),
                group_wait("mma_group"),
                release("ab"),
            ),
        ),
        resources=(ring(), accumulator()),
        groups=(MMA,),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Tasks that use wgmma cover whole, aligned groups of four warps.",
    why="wgmma is executed by a warpgroup together; anything else is undefined.",
    bad=_gemm(2),
    good=_gemm(4),
    check=check,
)
