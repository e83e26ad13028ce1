"""WD221  cp-async-arrive: an arrival of cp.async copies, or a phase's bytes, that its mbarrier does not count as meant."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Engine, Mbarrier, OpKind, Resource, Space, Storage, Work
from ..edits import SetBarrier
from ..findings import Finding, Fix
from ..phases import MAX_TX
from ..run import Run, join_clocks, prefix_steps
from ..tree import ops_of
from .base import Hazard, error, plural, unique
from .counts import Mismatch, mismatches
from .examples import document, mbar_wait, op, task, work
from .places import resources_of, where

CODE, NAME = "WD221", "cp-async-arrive"
FORMS = {OpKind.CP_ASYNC_ARRIVE: "nothing", OpKind.CP_ASYNC_ARRIVE_NOINC: "32 a warp"}


def check(document: Document) -> Iterator[Finding]:
    """Declared counts of mbarriers on which copies arrive."""
    for m in mismatches(document):
        found = [(t.name, o) for t in document.tasks for o in ops_of(t) if o.target == m.resource]
        copies = [(name, o) for name, o in found if o.kind in FORMS]
        if m.side == "raw" and copies:
            yield _miscounted(m, copies)


def _miscounted(m: Mismatch, copies: list) -> Finding:
    forms = dict.fromkeys(o.kind for _, o in copies)
    says = " and ".join(
        f"{'.noinc' if kind is OpKind.CP_ASYNC_ARRIVE_NOINC else 'the plain form'} counts {FORMS[kind]}"
        for kind in forms
    )
    return error(
        CODE,
        NAME,
        f"{m.resource} is declared with {plural(m.declared, 'arrival')} a phase, but {plural(m.made, 'arrival')} "
        f"{'is' if m.made == 1 else 'are'} made: of cp.async.mbarrier.arrive {says}",
        ops=unique(o.id for _, o in copies),
        resources=(m.resource,),
        tasks=unique(name for name, _ in copies),
        expected=str(m.made),
        actual=str(m.declared),
    )


def examine(run: Run) -> Iterator[Finding]:
    """Phases that may end without the copies that are to hold them, and those whose bytes leave their range."""
    for i in run.incidents("loose_copies"):
        name = run.barrier(i.barrier).name
        yield error(
            CODE,
            NAME,
            f"{where(run, i.stream, i.index)} is to keep {name} open until its copies are done, but nothing orders it "
            "before an arrival of that phase: the phase may end without them",
            ops=(run.event(i.stream, i.index).op,),
            resources=resources_of(run, i.barrier),
            tasks=(run.task(i.stream),),
            expected="an arrival of the same phase behind it",
            actual="it adds what it takes away, so it counts as no arrival",
            witness=prefix_steps(
                run, join_clocks(run, (i.stream, i.index, i.base)), [(i.stream, i.index, "")]
            ),
        )
    for i in run.incidents("tx_range"):
        name = run.barrier(i.barrier).name
        yield error(
            CODE,
            NAME,
            f"the bytes that {name} still expects in one phase can come to {i.passed}; an mbarrier counts to {MAX_TX}",
            ops=(run.event(i.stream, i.index).op,),
            resources=resources_of(run, i.barrier),
            tasks=(run.task(i.stream),),
            expected=f"-{MAX_TX} to {MAX_TX}",
            actual=str(i.passed),
        )


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """Declare what is made."""
    if len(finding.resources) == 1 and finding.expected.isdigit():
        n, name = int(finding.expected), finding.resources[0]
        yield Fix(f"declare {plural(n, 'arrival')} on {name}", (SetBarrier(name, "count", n),))


def _copied(count: int):
    copies = Resource(
        "tile",
        Space.SMEM,
        storage=Storage(1024),
        works=(Work("copy", "producer", Engine.CP_ASYNC), Work("read", "consumer")),
    )
    return document(
        f"a warp's copies arrive, {plural(count, 'arrival')} declared",
        task("load", 0, 1, work("tile", "copy"), op(OpKind.CP_ASYNC_ARRIVE_NOINC, "ready")),
        task("use", 4, 1, mbar_wait("ready"), work("tile", "read")),
        resources=(copies,),
        mbarriers=(Mbarrier("ready", count),),
        symbols=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Arrivals of cp.async copies are counted as their form says, and a phase's bytes stay within 2^20 - 1.",
    why="With .noinc each thread's copies are one arrival of the count. The plain form adds to the pending count what it "
    "takes away: it is no arrival, and holds a phase open only in front of one. With another count the phase ends before "
    "the copies, or never (PTX ISA, cp.async.mbarrier.arrive; for bytes, Contents of the mbarrier object).",
    bad=_copied(1),
    good=_copied(32),
    check=check,
    examine=examine,
    repair=repair,
)
