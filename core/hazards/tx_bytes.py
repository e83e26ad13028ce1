"""WD203  tx-bytes: a barrier expects another number of bytes than the copies deliver."""

from __future__ import annotations

from collections.abc import Iterator

from ..arrivals import TMA, bracket_copies, constant_trips, producer_signal
from ..document import Document, Engine, Guard, GuardKind, Loop, Op, OpKind, Task
from ..findings import Finding, Fix
from ..footprints import engine_of, target_work
from ..program import BarrierKind, EventKind
from ..run import Run, join_clocks, prefix_steps
from ..tree import find_node, find_resource, ops_of
from .base import Hazard, error, unique
from .counts import Mismatch, mismatches
from .examples import acquire, commit, document, fence, loop, release, ring, task, wait, work
from .nearby import nearby
from .places import resources_of, state, where

CODE, NAME = "WD203", "tx-bytes"
CONDITIONS = (
    GuardKind.WHEN_TRUE,
    GuardKind.WHEN_FALSE,
    GuardKind.FIRST_ITER,
    GuardKind.LAST_ITER,
    GuardKind.EVERY,
)


def check(document: Document) -> Iterator[Finding]:
    """Copies whose number within one acquire is known only at run time."""
    for resource in document.resources:
        if resource.pipeline is None or producer_signal(document, resource) != TMA:
            continue
        for t in document.tasks:
            for first in (o for o in ops_of(t) if o.kind is OpKind.ACQUIRE and o.target == resource.name):
                for copy, _, loops in bracket_copies(document, resource, t, first):
                    inner = next((x for x in loops if constant_trips(x) is None), None)
                    if inner is not None:
                        yield _open_ended(t, first, copy, inner)


def _open_ended(t: Task, first: Op, copy: Op, inner: Loop) -> Finding:
    return error(
        CODE,
        NAME,
        f"{t.name}: the acquire at {first.id} expects the bytes of one copy at {copy.id}, but the loop {inner.id} issues "
        "as many as its bounds say at run time",
        ops=(copy.id, first.id, inner.id),
        resources=(first.target,),
        tasks=(t.name,),
        expected="a loop of constant bounds inside the bracket, or an acquire and a commit in each iteration",
        actual=f"{inner.var} runs from {inner.start} to {inner.stop}",
    )


def examine(run: Run) -> Iterator[Finding]:
    """Wrong declarations of a run that went wrong, phases that their bytes can close early, and bytes that never balance."""
    if run.clean:
        return
    declared = {m.resource: m for m in mismatches(run.document) if m.side == "bytes"}
    for m in declared.values():
        yield _declared(run.document, m)
    for i in run.incidents("early_close", "zero_tx"):
        if run.barrier(i.barrier).resource not in declared:
            yield _early(run, i)
    for b in _never_balanced(run):
        if run.barrier(b).resource not in declared:
            yield _unbalanced(run, b)


def _declared(document: Document, m: Mismatch) -> Finding:
    advice = _conditional(document, m.resource)
    deliver = f"the copies deliver {m.made} B: declare {m.made}"
    if advice:
        deliver = f"the copies deliver up to {m.made} B, and not each time the same"
    ops = [o for t in document.tasks for o in ops_of(t) if o.target == m.resource and _delivers(document, o)]
    return error(
        CODE,
        NAME,
        f"{m.resource} declares {m.declared} B for a stage, but {deliver}",
        ops=unique(o.id for o in ops),
        resources=(m.resource,),
        expected=f"{m.made} B",
        actual=f"{m.declared} B",
        notes=(advice or "leave the bytes out, and each acquire expects those of its own copies",),
    )


def _conditional(document: Document, name: str) -> str:
    """Advice where a copy into ``name`` is inside a block that its acquire is not in; "" if there is none."""
    resource = find_resource(document, name)
    for t in document.tasks if resource is not None and resource.pipeline else ():
        for first in (o for o in ops_of(t) if o.kind is OpKind.ACQUIRE and o.target == name):
            around = find_node(document, first.id).parents
            for copy, *_ in bracket_copies(document, resource, t, first):
                inner = (n for n in find_node(document, copy.id).parents if n not in around)
                guard = next((n for n in inner if isinstance(n, Guard) and n.kind in CONDITIONS), None)
                if guard is not None:
                    return (
                        f"the acquire at {first.id} expects one number of bytes, whichever blocks run, and the copy at "
                        f"{copy.id} is not always made: an acquire and a commit inside each block, or blocks that exclude "
                        "each other and bring as many bytes"
                    )
    return ""


def _delivers(document: Document, op: Op) -> bool:
    if op.kind is OpKind.ACQUIRE:
        return True
    found = target_work(document, op) if op.kind is OpKind.WORK else None
    return found is not None and engine_of(*found) is Engine.TMA


def _early(run: Run, i) -> Finding:
    name = run.barrier(i.barrier).name
    zero = i.kind == "zero_tx"
    does = "a copy of 0 bytes completes nothing" if zero else "its bytes can balance too soon"
    return error(
        CODE,
        NAME,
        f"{name} does not wait for all copies of phase {i.generation}: {does} ({where(run, i.stream, i.index)})",
        ops=(run.event(i.stream, i.index).op,),
        resources=resources_of(run, i.barrier),
        tasks=(run.task(i.stream),),
        expected="every byte is expected before the phase's last arrival",
        actual=does,
        witness=prefix_steps(run, join_clocks(run, (i.stream, i.index, i.base)), [(i.stream, i.index, "")]),
    )


def _never_balanced(run: Run) -> Iterator[int]:
    """Barriers that somebody waits for, with all arrivals in and bytes that do not balance."""
    for b in dict.fromkeys(e.barrier for _, e in run.blocked() if e.kind is EventKind.WAIT):
        s = run.execution.state[b]
        if run.barrier(b).kind is BarrierKind.MBARRIER and s.pending == 0 and s.tx != 0:
            yield b


def _unbalanced(run: Run, b: int) -> Finding:
    log = run.execution.log[b]
    expected = sum(e.bytes for e in log if e.kind is not EventKind.ASYNC)
    delivered = sum(e.bytes for e in log if e.kind is EventKind.ASYNC)
    return error(
        CODE,
        NAME,
        f"{run.barrier(b).name} expects {expected} B in phase {run.execution.state[b].completed}, "
        f"but {delivered} B are delivered",
        ops=unique(run.event(e.stream, e.index).op for e in log),
        resources=resources_of(run, b),
        tasks=unique(run.task(e.stream) for e in log),
        expected=f"{delivered} B",
        actual=f"{expected} B",
        notes=tuple(filter(None, (state(run, b), _conditional(run.document, run.barrier(b).resource)))),
        witness=prefix_steps(run, run.execution.at, []),
    )


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """Declare the bytes that the copies deliver."""
    for m in mismatches(document):
        if m.side == "bytes" and m.resource in finding.resources:
            yield Fix(f"declare {m.made} B for a stage of {m.resource}", (m.edit,))
    yield from nearby(document, finding)


def _ring(nbytes: int):
    return document(
        f"{nbytes} B expected, 1024 B delivered",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab"))),
        resources=(ring(bytes=nbytes),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="The bytes expected on a barrier are those that the issued copies deliver.",
    why="With more expected the phase never completes: a hang. With fewer it completes before the data is there.",
    bad=_ring(2048),
    good=_ring(1024),
    check=check,
    examine=examine,
    repair=repair,
)
