"""WD211  unpublished-init: an mbarrier is used before its init is known, or its bytes are used for something else."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Mbarrier, NamedBarrier, OpKind
from ..findings import Finding, Severity
from ..lifetimes import PROLOGUE, Lifetimes, Moment, before, lifetimes, over
from ..program import EventKind
from ..run import Run
from .base import Hazard, unique
from .examples import document, elect, mbar_arrive, mbar_wait, op, sync, task
from .places import resources_of, where

CODE, NAME = "WD211", "unpublished-init"
NOTE = "left out everywhere, init, fence and barrier are done by the kernel's prologue"


def examine(run: Run) -> Iterator[Finding]:
    """What is wrong with the lives of raw mbarriers, each barrier and kind once."""
    if not run.machine.lifetimes:
        return
    found, seen = lifetimes(run), set()
    for finding in _all(run, found):
        key = finding.message.split(":")[0], finding.resources
        if key not in seen:
            seen.add(key)
            yield finding


def _all(run: Run, found: Lifetimes) -> Iterator[Finding]:
    for b in found.uses:
        yield from _doubled(run, found, b, b)
        for use in found.uses[b]:
            yield from _used(run, found, b, use)
        for access in found.data[b]:
            yield from _overwritten(run, found, b, access)
    for a, b in found.sharing:
        yield from _doubled(run, found, a, b)


def _doubled(run: Run, found: Lifetimes, a: int, b: int) -> Iterator[Finding]:
    """Two inits of the same bytes with no inval between."""
    pairs = [(x, y) for x in found.inits[a] for y in found.inits[b] if x is not y]
    pairs += [(PROLOGUE, PROLOGUE)] if a != b and found.inits[a] == found.inits[b] == [PROLOGUE] else []
    for x, y in pairs:
        ended = any(before(x, v) and before(v, y) for v in found.invals[a])
        ended = ended or any(before(y, v) and before(v, x) for v in found.invals[b])
        if not ended:
            names = unique((run.barrier(a).name, run.barrier(b).name))
            text = f"{' and '.join(names)}: the same bytes are initialised twice, by {_who(run, x)} and {_who(run, y)}"
            yield _finding(
                run, b, text, (x, y), "mbarrier.inval of the first, behind its last use", "none", others=(a,)
            )
            return


def _used(run: Run, found: Lifetimes, b: int, use: Moment) -> Iterator[Finding]:
    name = run.barrier(b).name
    known = [i for i in found.inits[b] if before(i, use)]
    if not known:
        inits = found.inits[b]
        text = f"{name} is used before its init: {_who(run, use)} comes with no barrier behind "
        text += _who(run, inits[0]) if inits else "its init, which nobody executes"
        yield _finding(
            run, b, text, (use, *inits[:1]), "a barrier between init and use", "nothing orders them"
        )
        return
    for v in found.invals[b]:
        ended = over(use, b, v, len(run.program.streams))
        if not ended and not any(before(v, i) for i in known):
            text = (
                f"{name} is used when it may be invalid: {_who(run, use)}, which is not "
                f"{'known to be over' if before(use, v) else ''} before {_who(run, v)}".replace("  ", " ")
            )
            yield _finding(run, b, text, (use, v), "every use before the inval", "nothing orders them")
    last = known[-1]
    if last is PROLOGUE:
        return
    remote = run.program.streams[use.stream].cta != run.barrier(b).cta
    by_engine = use.event.kind is EventKind.ASYNC
    fenced = any(before(last, f) and before(f, use) for f in found.fences.get(last.stream, ()))
    if not fenced and (remote or by_engine or use.stream != last.stream):
        who = "another CTA" if remote else "an engine" if by_engine else "others"
        text = f"{name} is initialised without fence.mbarrier_init: {who} use it ({_who(run, use)})"
        severity = Severity.ERROR if remote else Severity.WARNING
        wanted = f"fence_mbarrier_init after {last.event.op}, before the barrier"
        yield _finding(run, b, text, (last, use), wanted, "none", severity)


def _overwritten(run: Run, found: Lifetimes, b: int, access: Moment) -> Iterator[Finding]:
    """Data in the bytes of a live barrier."""
    for i in found.inits[b]:
        gone = any(before(i, v) and before(v, access) for v in found.invals[b])
        if not gone and not before(access, i):
            text = f"{run.barrier(b).name} shares bytes with data: {_who(run, access)} touches them while it may be live"
            wanted = "the access before the init, or behind an inval"
            yield _finding(run, b, text, (access, i), wanted, "nothing orders them")


def _who(run: Run, moment: Moment) -> str:
    return "the prologue" if moment is PROLOGUE else where(run, moment.stream, moment.index)


def _finding(
    run: Run,
    b: int,
    text: str,
    moments: tuple[Moment, ...],
    expected: str,
    actual: str,
    severity: Severity = Severity.ERROR,
    others: tuple[int, ...] = (),
) -> Finding:
    told = [m for m in moments if m is not PROLOGUE]
    return Finding(
        CODE,
        NAME,
        severity,
        text,
        ops=unique(m.event.op for m in told),
        resources=unique(name for number in (b, *others) for name in resources_of(run, number)),
        tasks=unique(run.task(m.stream) for m in told),
        expected=expected,
        actual=actual,
        notes=(NOTE,),
    )


def _handed(*publishing):
    return document(
        "the init is published by a barrier"
        if publishing
        else "nothing is between the init and its use by others",
        task(
            "producer",
            0,
            4,
            elect(op(OpKind.MBARRIER_INIT, "ready"), op(OpKind.FENCE_MBARRIER_INIT)),
            *publishing,
            elect(mbar_arrive("ready")),
        ),
        task("consumer", 4, 4, *publishing, mbar_wait("ready")),
        barriers=(NamedBarrier("start", 1, 256),),
        mbarriers=(Mbarrier("ready", 1),),
        symbols=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="An mbarrier's init is fenced and behind a barrier before others use it; its bytes are invalidated before they are "
    "used again.",
    why="Who comes first finds whatever was in memory: it hangs or passes at once. A second init, or data, on a live "
    "barrier resets its phase under those who wait.",
    bad=_handed(),
    good=_handed(sync("start")),
    examine=examine,
)
