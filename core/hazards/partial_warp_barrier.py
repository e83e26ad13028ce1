"""WD220  partial-warp-barrier: what a whole warp executes together is executed by a part of its lanes."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Engine, Guard, GuardKind, NamedBarrier, Op, OpKind, Task
from ..findings import Finding
from ..footprints import engine_of, target_work
from ..phrases import phrase
from ..tree import ops_of, placed
from .base import Hazard, error, unique
from .examples import buffer, document, guard, sync, task, work

CODE, NAME = "WD220", "partial-warp-barrier"
BARRIERS = (
    OpKind.BARRIER_SYNC,
    OpKind.BARRIER_ARRIVE,
    OpKind.CLUSTER_SYNC,
    OpKind.CLUSTER_ARRIVE,
    OpKind.CLUSTER_WAIT,
    OpKind.SYNC_WARP,
)
# .sync.aligned in PTX ISA, each in its own section
ALIGNED = (
    OpKind.REGISTERS_DECREASE,
    OpKind.REGISTERS_INCREASE,
    OpKind.WGMMA_FENCE,
    OpKind.TCGEN05_WAIT_LD,
    OpKind.TCGEN05_WAIT_ST,
    OpKind.TMEM_ALLOC,
    OpKind.TMEM_DEALLOC,
    OpKind.TMEM_RELINQUISH,
)
GROUPS = (OpKind.GROUP_COMMIT, OpKind.GROUP_WAIT)  # of wgmma
ENGINES = (Engine.WGMMA, Engine.TCGEN05_LD, Engine.TCGEN05_ST)
PEEKS = (OpKind.TRY_WAIT, OpKind.TRY_ACQUIRE, OpKind.MBARRIER_TRY_WAIT)
ASKS = (GuardKind.WHEN_TRUE, GuardKind.WHEN_FALSE)


def check(document: Document) -> Iterator[Finding]:
    """Barriers and aligned instructions below elect_lane, and below a condition that each lane has peeked for itself."""
    groups = {g.name for g in document.groups if g.kind is Engine.WGMMA}
    peeked = {
        (t.name, token) for t in document.tasks for o in ops_of(t) if o.kind in PEEKS for token in o.results
    }
    for found in placed(document):
        node = found.node
        if not isinstance(node, Op) or not _is_whole(document, node, groups):
            continue
        guards = [p for p in found.parents if isinstance(p, Guard)]
        lanes = [p for p in guards if p.kind is GuardKind.ELECT_LANE]
        asks = [p for p in guards if p.kind in ASKS and (found.task.name, p.token) in peeked]
        if lanes:
            yield _finding(found.task, node, lanes[-1], "is executed by one lane of each warp")
        elif asks:
            text = f"depends on {asks[-1].token}: each lane has peeked for itself, and may have seen something else"
            yield _finding(found.task, node, asks[-1], text)


def _is_whole(document: Document, op: Op, groups: set[str]) -> bool:
    """Whether all lanes of a warp execute ``op`` together."""
    if op.kind is OpKind.WORK:
        work = target_work(document, op)
        return work is not None and not work[1].view and engine_of(*work) in ENGINES
    return op.kind in (*BARRIERS, *ALIGNED) or (op.kind in GROUPS and op.target in groups)


def _finding(task: Task, op: Op, guard: Guard, text: str) -> Finding:
    return error(
        CODE,
        NAME,
        f"{phrase(op)} of {task.name} {text}",
        ops=unique((op.id, guard.id)),
        tasks=(task.name,),
        expected="all lanes of the warp, together",
        actual=f"inside {guard.id}, {guard.kind.value}",
    )


def _meet(*meeting):
    return document(
        "whole warps meet" if isinstance(meeting[0], Op) else "elected lanes meet",
        task("writer", 0, 1, work("scratch", "fill"), *meeting),
        task("reader", 4, 1, *meeting, work("scratch", "read")),
        resources=(buffer("scratch"),),
        barriers=(NamedBarrier("meet", 1, 64),),
        symbols=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Barriers and aligned instructions are executed by converged warps, not by an elected lane.",
    why="bar.sync counts whole warps, and what is .aligned in PTX (barriers, wgmma, tcgen05.ld, .st, .wait and .alloc, "
    "setmaxnreg) is undefined where lanes are missing; the other lanes run on.",
    bad=_meet(guard(GuardKind.ELECT_LANE, sync("meet"))),
    good=_meet(sync("meet")),
    check=check,
)
