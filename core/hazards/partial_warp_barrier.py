"""WD220  partial-warp-barrier: a barrier of whole warps is executed by one elected lane."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, GuardKind, NamedBarrier, Op, OpKind
from ..findings import Finding
from ..tree import placed
from .base import Hazard, error, unique
from .examples import buffer, document, guard, sync, task, work

CODE, NAME = "WD220", "partial-warp-barrier"
WHOLE_WARPS = (
    OpKind.BARRIER_SYNC,
    OpKind.BARRIER_ARRIVE,
    OpKind.CLUSTER_SYNC,
    OpKind.CLUSTER_ARRIVE,
    OpKind.CLUSTER_WAIT,
    OpKind.SYNC_WARP,
)


def check(document: Document) -> Iterator[Finding]:
    """Barriers below elect_lane."""
    for found in placed(document):
        node, lanes = (
            found.node,
            [p for p in found.parents if getattr(p, "kind", None) is GuardKind.ELECT_LANE],
        )
        if isinstance(node, Op) and node.kind in WHOLE_WARPS and lanes:
            yield error(
                CODE,
                NAME,
                f"{node.kind.value} {node.target}".strip()
                + f" of {found.task.name} is executed by one lane of each warp",
                ops=unique((node.id, lanes[-1].id)),
                tasks=(found.task.name,),
                expected="all lanes of the warp, together",
                actual=f"inside {lanes[-1].id}, elect_lane",
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
    rule="Named, cluster and warp barriers are executed by converged warps, not by an elected lane.",
    why="bar.sync counts whole warps and its aligned form is undefined where lanes are missing; the other lanes run on.",
    bad=_meet(guard(GuardKind.ELECT_LANE, sync("meet"))),
    good=_meet(sync("meet")),
    check=check,
)
