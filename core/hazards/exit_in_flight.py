"""WD409  exit-in-flight: a warp ends while its bulk stores still read shared memory."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Engine
from ..findings import Finding
from ..program import EventKind
from ..run import Run, agent_name
from .base import Hazard, error, plural, unique
from .examples import STORE, buffer, document, fence, group_commit, group_wait, output, task, work

CODE, NAME = "WD409", "exit-in-flight"


def examine(run: Run) -> Iterator[Finding]:
    """Bulk groups that no wait covers at the end of a warp."""
    if run.execution.stopped:
        return
    stuck = set(run.execution.blocked)
    for (w, engine), groups in run.execution.groups.items():
        if engine is not Engine.BULK_STORE or w in stuck:
            continue
        read = run.execution.base[w][run.execution.channel[w, engine] + 1]
        if groups.committed > read or groups.open:
            yield _finding(run, w, groups.committed - read, groups.open)


def _finding(run: Run, w: int, groups: int, loose: int) -> Finding:
    events = run.program.streams[w].events
    stores = [e for e in events if e.engine is Engine.BULK_STORE and e.kind is EventKind.ASYNC]
    last = stores[-1:] if not loose else stores[-loose:]
    left = f"{plural(loose, 'bulk store')} in no group" if loose else plural(groups, "bulk group")
    return error(
        CODE,
        NAME,
        f"{agent_name(run, w)} ends with {left} that may still read shared memory",
        ops=unique(e.op for e in last),
        resources=unique(a.resource for e in last for a in e.accesses if not a.write),
        tasks=(run.task(w),),
        expected="a wait that leaves no bulk read open before the end",
        actual=f"{left} open",
    )


def _store(*end):
    return document(
        "the last store is waited for" if end else "the last store is not waited for",
        task(
            "store",
            0,
            1,
            work("stage", "fill"),
            fence(),
            work("stage", "tile", result="t"),
            work("out", "store", tile="t"),
            group_commit("store_group"),
            *end,
        ),
        resources=(buffer("stage"), output()),
        groups=(STORE,),
        symbols=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="No warp ends while bulk operations still read the CTA's shared memory.",
    why="When the CTA has ended its shared memory goes to the next one, and the copy takes that one's bytes.",
    bad=_store(),
    good=_store(group_wait("store_group", 0, read=True)),
    examine=examine,
)
