"""WD703  cluster-exit: a CTA may have exited, or may not have started, when a peer touches its memory or mbarriers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..async_arrivals import committed
from ..document import Document, OpKind
from ..findings import Finding
from ..program import BarrierKind, Event, EventKind, Stream
from ..races import ARRIVING, Record
from ..run import Run, places_before
from ..tree import made_once, ops_of
from .base import Hazard, error, listed, unique
from .examples import buffer, document, op, task, work
from .places import where

CODE, NAME = "WD703", "cluster-exit"
NEVER = 1 << 60


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
    if not _met_in_prologue(run):
        for touch in _hasty_touches(run):
            yield _hasty(run, touch)


def _met_in_prologue(run: Run) -> bool:
    """Whether the prologue initialises mbarriers: then the cluster meets behind that, before the tasks start."""
    own = _initialised(run.document)
    return any(b.kind is BarrierKind.MBARRIER and b.resource not in own for b in run.program.barriers)


@made_once
def _initialised(document: Document) -> frozenset[str]:
    """The mbarriers that the schedule itself initialises."""
    return frozenset(o.target for t in document.tasks for o in ops_of(t) if o.kind is OpKind.MBARRIER_INIT)


def _hasty_touches(run: Run) -> Iterator[Touch]:
    """Of each stream the first touch of each other CTA, unless the cluster has met before, as far as it can know."""
    met: dict[int, int] = {}  # stream -> its first wait for the cluster
    for w, stream in enumerate(run.program.streams):
        met[w] = next((j for j, e in enumerate(stream.events, 1) if e.kind is EventKind.CLUSTER_WAIT), NEVER)
    for w, stream in enumerate(run.program.streams):
        seen: set[int] = set()
        for j, event in enumerate(stream.events[: met[w]], 1):
            for cta in sorted(_reached(run, event) - {stream.cta} - seen):
                seen.add(cta)
                if not _told(run, w, j, met):
                    yield Touch(w, j, cta)


def _told(run: Run, w: int, j: int, met: dict[int, int]) -> bool:
    """Whether stream ``w`` may know by event ``j``, through barriers of its CTA, that another warp has met the cluster."""
    streams, places = run.program.streams, places_before(run, w, j)
    waited = any(e.kind in (EventKind.WAIT, EventKind.SYNC) for e in streams[w].events[: j - 1])
    return waited and any(s.cta == streams[w].cta and places[u] >= met[u] for u, s in enumerate(streams))


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


def _hasty(run: Run, touch: Touch) -> Finding:
    event = run.event(touch.stream, touch.index)
    places = unique(a.resource for a in event.accesses if a.cta == touch.cta)
    names = unique(run.barrier(b).name for b in event.barriers if run.barrier(b).cta == touch.cta)
    return error(
        CODE,
        NAME,
        f"{where(run, touch.stream, touch.index)} touches {listed([*names, *places])} of CTA {touch.cta}, but nothing says "
        f"that CTA {touch.cta} has started",
        ops=(event.op,),
        resources=places,
        tasks=(run.task(touch.stream),),
        expected="a cluster barrier before it",
        actual="none, and no mbarrier that the prologue publishes to the cluster",
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
    rule="No CTA exits while a peer may still touch its memory or barriers, and none is touched before it has started.",
    why="The shared memory of a CTA that has exited belongs to nobody, or to the next CTA: a remote access is a fault of "
    "the whole launch, a remote arrival lands on another kernel's barrier. So is that of one that has not started.",
    bad=_peers(),
    good=_peers(op(OpKind.CLUSTER_SYNC)),
    examine=examine,
)
