"""WD108  misplaced-guard: a guard outside the loop or the task that it speaks of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..document import Document, Footprint, Guard, GuardKind, Loop, Work
from ..findings import Finding
from ..tree import Placed, placed
from .base import Hazard, error
from .examples import acquire, channel, commit, document, guard, loop, release, task, wait, work
from .nearby import nearby

CODE, NAME = "WD108", "misplaced-guard"
OF_LOOP = (GuardKind.FIRST_ITER, GuardKind.LAST_ITER, GuardKind.EVERY)


def check(document: Document) -> Iterator[Finding]:
    """Guards that can never hold, or that nothing decides."""
    for found in placed(document):
        if isinstance(found.node, Guard):
            problem = _problem(found, found.node)
            if problem:
                message, expected = problem
                yield error(
                    CODE,
                    NAME,
                    f"{found.node.id} of {found.task.name}: {message}",
                    ops=(found.node.id,),
                    tasks=(found.task.name,),
                    expected=expected,
                    actual=f"{found.node.kind.value} {found.node.loop}".strip(),
                )


def _problem(found: Placed, node: Guard) -> tuple[str, str] | None:
    loops = [p for p in found.parents if isinstance(p, Loop)]
    if node.kind in OF_LOOP and not any(node.loop in ("", p.var) for p in loops):
        which = f"the loop {node.loop}" if node.loop else "any loop"
        return f"{node.kind.value} is outside {which}", "a place inside the loop"
    if node.kind is GuardKind.EVERY and node.period <= 0:
        return f"every has period {node.period}", "a period above 0"
    if node.kind is GuardKind.SKIPPABLE and not any(p.kind == "tile" for p in loops):
        return "skippable is outside a work-tile loop", "a place inside a work-tile loop"
    if node.kind is GuardKind.ELECT_WARP and not 0 <= node.warp < found.task.num_warps:
        return (
            f"no warp {node.warp} among the {found.task.num_warps} of the task",
            f"a warp below {found.task.num_warps}",
        )
    return None


def _ring(inside: bool):
    peek = guard(GuardKind.FIRST_ITER, work("x", "prepare"), loop="k")
    body = (acquire("x"), work("x", "fill"), commit("x"))
    return document(
        "first_iter inside its loop" if inside else "first_iter outside its loop",
        task("load", 0, 1, *(() if inside else (peek,)), loop(*((peek, *body) if inside else body))),
        task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"))),
        resources=(_with_prepare(),),
    )


def _with_prepare():
    nothing = Work("prepare", "producer", auxiliary=True, footprint=Footprint("range"))
    found = channel("x")
    return replace(found, works=(*found.works, nothing))


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="First, last and every guards stand inside their loop, `every` has a period above 0, elected warps exist.",
    why="The block never runs: what it was to wait for or release stays undone.",
    bad=_ring(False),
    good=_ring(True),
    check=check,
    repair=nearby,
)
