"""WD501  missing-proxy-fence: threads and an engine touch the same bytes with no proxy fence between."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, NamedBarrier, OpKind, Work
from ..edits import InsertNode, places
from ..findings import Finding, Fix, Severity
from ..program import EventKind
from ..races import Pair, Record
from ..run import Run, join_clocks, prefix_steps
from ..schedulers import has_slots
from ..tree import find_node, find_resource, find_work, ops_of
from .base import Hazard, unique
from .examples import (
    STORE,
    buffer,
    document,
    elect,
    fence,
    group_commit,
    group_wait,
    op,
    output,
    sync,
    task,
    work,
)
from .misreads import idle_loops
from .places import accessed, verb, where

CODE, NAME = "WD501", "missing-proxy-fence"
CROSSINGS = (
    EventKind.ARRIVE,
    EventKind.ARRIVE_EXPECT,
    EventKind.COMMIT_ARRIVE,
    EventKind.SYNC,
    EventKind.BAR_ARRIVE,
    EventKind.CLUSTER_ARRIVE,
    EventKind.ASYNC,
)


def examine(run: Run) -> Iterator[Finding]:
    """Ordered pairs of a generic and an asynchronous access without a fence by whoever made the first."""
    for pair in run.execution.races.unfenced.values():
        slots = has_slots(find_resource(run.document, pair.first.access.resource))  # of WD705
        if not slots and not idle_fences(run, pair) and not _trusted(run, pair):
            yield finding_of(run, pair, CODE, NAME)


def idle_fences(run: Run, pair: Pair) -> list[str]:
    """The loops that run zero times here and hold the fences of the task that made the first access."""
    name = run.task(pair.first.stream)
    fences = [
        o.id
        for t in run.document.tasks
        if t.name == name
        for o in ops_of(t)
        if o.kind is OpKind.FENCE_PROXY_ASYNC
    ]
    return idle_loops(run, fences)


def finding_of(run: Run, pair: Pair, code: str, name: str, *more: str) -> Finding:
    """The finding of ``pair``, with ``more`` notes first."""
    x, y = pair
    resource = find_resource(run.document, x.access.resource)
    second = _work(run, y)
    named = second is not None and second.engine is not None  # who says its engine does reach shared memory
    assumed = not x.access.write and resource is not None and resource.storage is None and not named
    before = next_crossing(run, x.stream, x.index)
    notes = [
        *more,
        f"fence.proxy.async by {run.task(x.stream)}, after {x.event.op}"
        + (f" and before {before}" if before else ""),
    ]
    if (
        any(e.kind is EventKind.FENCE for e in run.program.streams[y.stream].events[: y.index])
        and x.stream != y.stream
    ):
        notes.append(f"a fence by {run.task(y.stream)} orders only its own warp's accesses")
    if (lane := _lane_fence(run, pair)) and not x.event.lane:
        notes.append(f"{lane} is executed by one elected lane and orders only what that lane has accessed")
    if (reader := _silent_reader(run, x)) is not None:
        notes.append(
            f"{reader.name} of {x.access.resource} is taken to read the stage by threads; if it only describes it to an "
            "engine, say view=True on its consumer_work"
        )
    if assumed:
        notes.append(
            f"{x.access.resource} declares no storage: that the threads read all of the stage is assumed"
        )
    return Finding(
        code,
        name,
        Severity.WARNING if assumed else Severity.ERROR,
        f"the {verb(x)} of {accessed(x)} by {where(run, x.stream, x.index)} and the {verb(y)} of {accessed(y)} by "
        f"{where(run, y.stream, y.index)} go through different proxies with no fence between",
        ops=unique((x.event.op, y.event.op)),
        resources=unique((x.access.resource, y.access.resource)),
        tasks=unique((run.task(x.stream), run.task(y.stream))),
        expected=f"a proxy fence by {run.task(x.stream)} between {x.event.op} and the barrier",
        actual="none",
        notes=tuple(notes),
        witness=prefix_steps(
            run,
            join_clocks(run, (x.stream, x.index, x.base), (y.stream, y.index, y.base)),
            [(y.stream, y.index, "")],
        ),
    )


def _silent_reader(run: Run, x: Record) -> Work | None:
    """The consumer work of a read, where it says neither by which engine it reads nor that it makes a view."""
    work = _work(run, x)
    silent = work is not None and work.role == "consumer" and work.engine is None and not work.view
    return None if x.access.write or not silent else work


def _trusted(run: Run, pair: Pair) -> bool:
    """Whether the first access is of a work of which nobody has said what it does: that it fences where it has to is part of
    the hypothesis. One that writes and has no body of its own has no fence either."""
    work = _work(run, pair.first)
    return work is not None and work.assumed and (not pair.first.access.write or bool(work.body))


def _work(run: Run, record: Record) -> Work | None:
    """The work of an access."""
    op = find_node(run.document, record.event.op).node
    return find_work(find_resource(run.document, op.target), op.work)


def _lane_fence(run: Run, pair: Pair) -> str:
    """The first fence between the two accesses, in the stream of the first, that only one lane executes."""
    x, y = pair
    known = y.index - 1 if x.stream == y.stream else y.base[x.stream]
    events = run.program.streams[x.stream].events[x.index : known]
    return next((e.op for e in events if e.kind is EventKind.FENCE and e.lane), "")


def next_crossing(run: Run, w: int, j: int) -> str:
    """The first op of stream ``w`` after event ``j`` that lets others go on, or that the engine executes itself."""
    events = run.program.streams[w].events
    return next((e.op for e in events[j:] if e.kind in CROSSINGS), "")


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """Put a fence right behind the first access."""
    place = next((p for p in places(document) if finding.ops and p.node.id == finding.ops[0]), None)
    if place is not None:
        fence_op = op(OpKind.FENCE_PROXY_ASYNC)
        yield Fix(f"fence after {place.node.id}", (InsertNode(place.parent, place.index + 1, fence_op),))


def _store(*fences):
    return document(
        "threads write, fence, and a bulk store reads" if fences else "threads write, and a bulk store reads",
        task(
            "store",
            0,
            4,
            work("stage", "share"),
            *fences,
            sync("meet"),
            elect(
                work("stage", "tile", result="t"),
                work("out", "store", tile="t"),
                group_commit("store_group"),
                group_wait("store_group", 0, read=True),
            ),
        ),
        resources=(buffer("stage"), output()),
        groups=(STORE,),
        barriers=(NamedBarrier("meet", 1, 128),),
        symbols=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Between an access by threads and one through the async proxy, whoever made the first fences before the barrier.",
    why="A barrier orders threads, not proxies: the engine may still see the bytes as they were before the threads wrote "
    "them, or overwrite what they are about to read.",
    bad=_store(),
    good=_store(fence()),
    examine=examine,
    repair=repair,
)
