"""WD703  cluster-exit: a CTA may have exited while a peer still touches its shared memory or mbarriers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..async_arrivals import committed
from ..document import OpKind
from ..findings import Finding
from ..program import BarrierKind, Event, EventKind, Stream
from ..races import ARRIVING, Record
from ..run import Run
from .base import Hazard, error, unique
from .examples import buffer, document, op, task, work
from .places import where

CODE, NAME = "WD703", "cluster-exit"


class Touch(NamedTuple):
    """Event ``index`` (1-based) of ``stream`` touches CTA ``cta``."""

    stream: int
    index: int
    cta: int


def examine(run: Run) -> Iterator[Finding]:
    """Remote arrivals, copies, accesses and MMAs that no warp of the CTA that they reach knows to be done at its end."""
    if run.execution.stopped or run.execution.blocked or run.machine.ctas == 1:
        return
    for touch in _unknown_touches(run):
        yield _finding(run, touch)


def _unknown_touches(run: Run) -> Iterator[Touch]:
    """Of each op, the last touch of each other CTA, unless a warp of that CTA, at its end, knows it done: when that is
    known, so are those before it."""
    streams, each = run.program.streams, max(1, run.machine.per_cta)
    warps: dict[int, list[int]] = {}
    for u, stream in enumerate(streams):
        warps.setdefault(stream.cta, []).append(u)
    for w, stream in enumerate(streams):
        events, far = stream.events, _far(run, stream, each)
        left, j = set(far), len(events)
        while left and j:  # what an op reaches is the same in every iteration
            j -= 1
            event = events[j]
            if (key := (event[0], event[1], event[3] // each)) not in left:
                continue
            left.discard(key)
            for cta in far[key]:
                if not any(_knows(run, w, j + 1, event, u) for u in warps.get(cta, ())):
                    yield Touch(w, j + 1, cta)


def _far(run: Run, stream: Stream, each: int) -> dict[tuple[EventKind, str, int], set[int]]:
    """The other CTAs that events of ``stream`` reach, by kind, op and CTA of the barrier; once for the same ops."""
    known = run.machine.reached.setdefault((stream.task, stream.warps, stream.cta), {})
    ops = frozenset([e[1] for e in stream.events])
    if ops not in known:
        far = known[ops] = {}
        for e in stream.events:
            if ctas := _reached(run, e) - {stream.cta}:
                far.setdefault((e[0], e[1], e[3] // each), set()).update(ctas)
    return known[ops]


def _reached(run: Run, event: Event) -> set[int]:
    """The CTAs whose memory or mbarriers ``event`` touches."""
    found = {a.cta for a in event.accesses}
    if event.kind not in (EventKind.WAIT, EventKind.TRY):
        barriers = (run.barrier(b) for b in event.barriers)
        found |= {b.cta for b in barriers if b.kind is BarrierKind.MBARRIER}
    return found


def _knows(run: Run, w: int, j: int, event: Event, u: int) -> bool:
    """Whether stream ``u``, at its end, knows what event ``j`` of stream ``w`` does to be done."""
    execution, end = run.execution, run.execution.base[u]
    if event.kind is EventKind.COMMIT_ARRIVE:
        return committed(execution, w, j, end)
    if event.kind is not EventKind.ASYNC:
        return end[w] >= j
    if event.barrier >= 0:  # its phase is that of the barrier's last copy, or an earlier one
        landed = execution.landing.get(event.barrier)
        return landed is not None and end[execution.n + event.barrier] > landed[2]
    if event.engine in ARRIVING:
        record = Record(w, j, ARRIVING[event.engine], j, end, event, event.accesses[0])
        return execution.races.finished(record, u, execution.at[u] + 1, end)
    return False


def _finding(run: Run, touch: Touch) -> Finding:
    event = run.event(touch.stream, touch.index)
    remote = [run.barrier(b) for b in event.barriers if run.barrier(b).cta == touch.cta]
    what = remote[0].name if remote else ""
    places = unique(a.resource for a in event.accesses if a.cta == touch.cta)
    what = what or f"{places[0]} of CTA {touch.cta}"
    return error(
        CODE,
        NAME,
        f"{where(run, touch.stream, touch.index)} touches {what}, but nothing keeps CTA {touch.cta} from having exited",
        ops=(event.op,),
        resources=unique((*(b.resource for b in remote), *places)),
        tasks=(run.task(touch.stream),),
        expected=f"a warp of CTA {touch.cta} that waits for it, or a cluster barrier behind it in all CTAs",
        actual=f"no warp of CTA {touch.cta} waits for it",
    )


def _peers(*end):
    fill, read = work("x", "fill"), work("x", "read", ctas="peer")
    return document(
        "the CTAs part together" if end else "a CTA reads its peer's memory and does not say when it is done",
        task("exchange", 0, 1, fill, op(OpKind.CLUSTER_SYNC), read, *end),
        resources=(buffer("x"),),
        symbols=(),
        cluster=(2, 1, 1),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="No CTA exits while a peer may still touch its memory or barriers.",
    why="The shared memory of a CTA that has exited belongs to nobody, or to the next CTA: a remote access is a fault of "
    "the whole launch, a remote arrival lands on another kernel's barrier.",
    bad=_peers(),
    good=_peers(op(OpKind.CLUSTER_SYNC)),
    examine=examine,
)
