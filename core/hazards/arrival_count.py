"""WD201  arrival-count: a barrier is declared with another number of arrivals than the tasks make."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, OpKind
from ..findings import Finding, Fix
from ..raw_counts import ARRIVALS
from ..run import Run, execute
from ..tree import ops_of
from .base import Hazard, error, listed, plural, unique
from .counts import Mismatch, corrected, mismatches
from .examples import acquire, commit, document, fence, loop, release, ring, task, wait, work

CODE, NAME = "WD201", "arrival-count"
OPEN = (
    "with that number something else goes wrong: perhaps more arrivals are meant, such as those of other CTAs"
)
ARRIVING = {
    "full": (OpKind.COMMIT, OpKind.ACQUIRE),
    "empty": (OpKind.RELEASE,),
    "raw": ARRIVALS,
}


def examine(run: Run) -> Iterator[Finding]:
    """Wrong declarations of a run that went wrong: those whose repair helps, and those that hang for want of arrivals."""
    if run.clean:
        return
    every = mismatches(run.document)
    wrong = tuple(m for m in every if m.side != "bytes")
    mended = bool(wrong) and run.machine.mends()
    repaired = _again(run, every) if wrong and not mended else run
    after, before, hung = troubled(repaired), troubled(run), hanging(run)
    found: set[str] = set()
    for m in _short(run, {m.resource for m in wrong if m.side == "raw"}):
        if _again(run, (m,)).clean:
            found.add(m.resource)
            yield _finding(run.document, m)
    for m in wrong:
        key = (m.resource, m.side)
        helps = mended or repaired.clean or (key in before and key not in after) or (before and not after)
        short = key in hung and m.declared > m.made and not hanging(repaired)
        if m.resource not in found and (helps or short):
            yield _finding(run.document, m, () if helps else (OPEN,))


def _again(run: Run, wrong: tuple[Mismatch, ...]) -> Run:
    """``run`` with the right numbers declared."""
    from ..machine import Machine

    return execute(Machine(corrected(run.document, wrong)), dict(run.case), dict(run.conditions))


def _short(run: Run, names: set[str]) -> Iterator[Mismatch]:
    """Raw mbarriers that warps wait for in vain, as if they were declared with the arrivals that the open phase has got."""
    declared = {m.name: m.count for m in run.document.mbarriers if m.name in names}
    for b in dict.fromkeys(e.barrier for _, e in run.blocked()):
        name, state = run.barrier(b).resource, run.execution.state[b]
        if run.barrier(b).side == "raw" and name in declared and 0 < state.pending < state.count:
            yield Mismatch(name, "raw", "count", declared[name], state.count - state.pending, seen=True)


def hanging(run: Run) -> set[tuple[str, str]]:
    """The barriers (resource, side) that warps wait for in vain."""
    barriers = [run.barrier(e.barrier) for _, e in run.blocked()]
    return {(name, b.side) for b in barriers for name in b.pipelines}


def troubled(run: Run) -> set[tuple[str, str]]:
    """The barriers (resource, side) at which a run went wrong."""
    barriers = {i.barrier for i in run.execution.incidents} | {e.barrier for _, e in run.blocked()}
    return {(name, run.barrier(b).side) for b in barriers for name in run.barrier(b).pipelines}


def _finding(document: Document, m: Mismatch, more: tuple[str, ...] = ()) -> Finding:
    kinds = ARRIVING[m.side]
    ops = {
        t.name: [o.id for o in ops_of(t) if o.target == m.resource and o.kind in kinds]
        for t in document.tasks
    }
    tasks = [name for name, ids in ops.items() if ids]
    name = m.resource if m.side == "raw" else f"{m.side} {m.resource}"
    makers = listed(tasks) or "no task"
    return error(
        CODE,
        NAME,
        f"{name} is declared with {plural(m.declared, 'arrival')} a phase, but {makers} "
        f"{'make' if len(tasks) > 1 else 'makes'} {m.made}: declare {m.made}",
        ops=unique(id for ids in ops.values() for id in ids),
        resources=(m.resource,),
        tasks=tuple(tasks),
        expected=str(m.made),
        actual=str(m.declared),
        notes=more if more or m.seen else ("leave the count out, and it is derived",),
    )


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """Declare the right number."""
    for m in mismatches(document):
        if m.side != "bytes" and m.resource in finding.resources and str(m.made) == finding.expected:
            yield Fix(f"declare {plural(m.made, 'arrival')} on {m.side} {m.resource}", (m.edit,))


def _ring(count: int):
    return document(
        f"a consumer of one warp, {plural(count, 'arrival')} declared",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab"))),
        resources=(ring(consumer_count=count),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="The declared arrivals are those that the tasks make in each phase.",
    why="With too many declared the phase never completes: a hang. With too few it completes early: a stage is "
    "overwritten or read too soon.",
    bad=_ring(32),
    good=_ring(1),
    examine=examine,
    repair=repair,
)
