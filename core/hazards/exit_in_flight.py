"""WD409  exit-in-flight: a CTA ends while bulk copies still read or write its shared memory."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Engine
from ..findings import Finding
from ..footprints import engine_of
from ..program import EventKind
from ..run import Run, agent_name
from .base import Hazard, error, plural, unique
from .examples import STORE, buffer, document, fence, group_commit, group_wait, output, task, work
from .nearby import nearby
from .places import where

CODE, NAME = "WD409", "exit-in-flight"


def examine(run: Run) -> Iterator[Finding]:
    """Bulk groups that no wait covers at the end of a warp, and copies that no warp waits for."""
    if run.execution.stopped:
        return
    if not run.execution.blocked:
        for resource, (w, j, g) in _unawaited(run).items():
            yield _loading(run, resource, w, j, g)
    stuck = set(run.execution.blocked)
    for (w, engine), groups in run.execution.groups.items():
        if engine is not Engine.BULK_STORE or w in stuck:
            continue
        read = run.execution.base[w][run.execution.channel[w, engine] + 1]
        left = _reading(run, w, groups.committed, read) if groups.committed > read else 0
        if left or groups.open:
            yield _finding(run, w, left, groups.open)


def _reading(run: Run, w: int, committed: int, read: int) -> int:
    """How many of the ``committed`` groups of stream ``w``, but for the first ``read`` ones, have a store in them."""
    found, group = set(), committed
    for e in reversed(run.program.streams[w].events):
        if e.engine is Engine.BULK_STORE and e.kind is EventKind.GROUP_COMMIT:
            group -= 1
        elif e.engine is Engine.BULK_STORE and e.kind is EventKind.ASYNC:
            found.add(group)
    return sum(read <= group < committed for group in found)


def _unawaited(run: Run) -> dict[str, tuple[int, int, int]]:
    """By resource, a copy into shared memory that no warp knows complete at its end: stream, place, phase (-1: none)."""
    streams, ends = run.program.streams, run.execution.base
    n = len(streams)
    found: dict[str, tuple[int, int, int]] = {}
    for b, (w, j, g) in run.execution.landing.items():
        own, known = streams[w].cta, n + b
        if any(base[known] > g and streams[u].cta == own for u, base in enumerate(ends)):
            continue
        event = run.event(w, j)
        if not event.accesses or event.accesses[-1].cta == own:  # whose memory it fills
            found.setdefault(event.accesses[-1].resource if event.accesses else "", (w, j, g))
    for w, stream in enumerate(streams if _bare(run.document) else ()):
        bare = [j for j, e in enumerate(stream.events, 1) if e.engine is Engine.TMA and e.barrier < 0]
        for j in bare:
            e = stream.events[j - 1]
            for access in e.accesses if e.kind is EventKind.ASYNC else ():
                if access.write:
                    found.setdefault(access.resource, (w, j, -1))
    return found


def _bare(document: Document) -> bool:
    """Whether there may be copies into memory that complete on no mbarrier: it is no pipeline's."""
    return any(
        w.role == "producer" and engine_of(r, w) is Engine.TMA
        for r in document.resources
        if not r.pipeline
        for w in r.works
    )


def _loading(run: Run, resource: str, w: int, j: int, g: int) -> Finding:
    event = run.event(w, j)
    waits = f"phase {g} of {run.barrier(event.barrier).name}" if g >= 0 else "no mbarrier"
    return error(
        CODE,
        NAME,
        f"no warp waits for the copy by {where(run, w, j)}: it may still write shared memory when the CTA has ended",
        ops=(event.op,),
        resources=unique((resource, run.barrier(event.barrier).resource if event.barrier >= 0 else "")),
        tasks=(run.task(w),),
        expected="some warp waits for its barrier before the CTA ends",
        actual=f"it completes {waits}, which nobody waits for" if g >= 0 else f"it completes {waits}",
    )


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
    rule="No CTA ends while bulk copies still read or write its shared memory.",
    why="When the CTA has ended its shared memory goes to the next one: a copy takes that one's bytes, or overwrites them.",
    bad=_store(),
    good=_store(group_wait("store_group", 0, read=True)),
    examine=examine,
    repair=nearby,
)
