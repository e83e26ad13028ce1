"""WD604  warpgroup-alignment: wgmma or setmaxnreg by something else than whole, aligned warpgroups."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Engine, Guard, GuardKind, Op, OpKind
from ..event_kinds import REGISTER_KINDS
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
    """Tasks with wgmma or setmaxnreg on odd warps, and those that one warp is elected for."""
    seen = set()
    for found in placed(document):
        what = _together(document, found.node) if isinstance(found.node, Op) else ""
        if not what:
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
            f"{t.name} executes {what} at {found.node.id} with {warps}; it takes whole warpgroups",
            ops=(found.node.id,),
            tasks=(t.name,),
            expected="warps from a multiple of 4, as many as a multiple of 4",
            actual=warps,
        )


def _together(document: Document, op: Op) -> str:
    """What a warpgroup executes together: both instructions are aligned (PTX ISA, wgmma, setmaxnreg)."""
    if op.kind in REGISTER_KINDS:
        return "setmaxnreg"
    found = target_work(document, op) if op.kind is OpKind.WORK else None
    return "wgmma" if found is not None and engine_of(*found) is Engine.WGMMA else ""


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
    rule="Tasks that use wgmma, or setmaxnreg in their schedule, cover whole, aligned groups of four warps.",
    why="Both are executed by a warpgroup together, in one place; anything else is undefined.",
    bad=_gemm(2),
    good=_gemm(4),
    check=check,
)
