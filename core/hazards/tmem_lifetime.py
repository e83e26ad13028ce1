"""WD406  tmem-lifetime: tensor memory is used, freed or allocated outside its lifetime."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ..allocations import Misuse, cta_group, lifetime_ops
from ..document import Document, NamedBarrier, OpKind
from ..findings import Finding
from ..run import Run, join_clocks, prefix_steps
from ..tensor_memory import place
from .base import Hazard, error, unique
from .examples import acquire, commit, document, loop, op, release, sync, task, tensor, wait, wait_ld, work
from .places import accessed, verb, where

CODE, NAME = "WD406", "tmem-lifetime"
EXPECTED = {
    "missing": "an allocation before it",
    "freed": "no use and no second freeing after it",
    "unpublished": "a barrier between the allocation and it",
    "taken": "one warp that allocates, once",
    "used": "every use has ended, and is known to have, before the columns are freed",
    "relinquished": "all allocations before the permit is given up",
    "left": "tmem_dealloc() before the kernel ends",
    "unpaired": "both CTAs of the pair meet between their allocation and the freeing",
}


def check(document: Document) -> Iterator[Finding]:
    """One size of CTA group a kernel, and a pair only in a cluster."""
    ops = lifetime_ops(document)
    groups = {o.id: cta_group(o) for o in ops}
    for r in document.resources:
        for w in r.works:
            given = dict(w.params).get("cta_group")
            if isinstance(given, int):
                groups[f"{r.name}.{w.name}"] = given
    if len(set(groups.values())) > 1:
        first = next(iter(groups.values()))
        other = [name for name, group in groups.items() if group != first]
        yield error(
            CODE,
            NAME,
            f"{next(iter(groups))} is for a group of {first} CTA{'s' * (first > 1)}, {other[0]} for {groups[other[0]]}",
            ops=tuple(o.id for o in ops if o.id in (next(iter(groups)), other[0])),
            expected="one cta_group in a kernel",
            actual=" and ".join(map(str, sorted(set(groups.values())))),
        )
    pairs = [o.id for o in ops if cta_group(o) == 2]
    if pairs and prod(document.cluster) < 2:
        yield error(
            CODE,
            NAME,
            f"{pairs[0]} is for a pair of CTAs, but the cluster has one",
            ops=tuple(pairs),
            expected="a cluster of 2 CTAs or more",
            actual="1",
        )


def examine(run: Run) -> Iterator[Finding]:
    """What the execution did with columns in a state that it must not."""
    return (_finding(run, misuse) for misuse in run.execution.allocations.found.values())


def _finding(run: Run, misuse: Misuse) -> Finding:
    x, other = misuse.record, misuse.other
    last = [(x.stream, x.index, "")]
    places = [(x.stream, x.index, x.base)] + ([(other.stream, other.index, other.base)] if other else [])
    if other is not None and not run.execution.races.finished(other, x.stream, x.index, x.base):
        last.insert(0, (other.stream, other.index, ""))
    return error(
        CODE,
        NAME,
        _message(run, misuse),
        ops=unique((x.event.op, other.event.op if other else "")),
        resources=unique((x.access.resource, other.access.resource if other else "")),
        tasks=unique((run.task(x.stream), run.task(other.stream) if other else "")),
        expected=EXPECTED[misuse.kind],
        actual="none" if misuse.kind in ("missing", "left") else "",
        notes=tuple(_notes(misuse)),
        witness=prefix_steps(run, join_clocks(run, *places), last),
    )


def _message(run: Run, misuse: Misuse) -> str:
    other, kind = misuse.other, misuse.kind
    what, second = _what(run, misuse.record), _what(run, other) if other else ""
    match kind:
        case "missing":
            return f"{what} touches tensor memory that nobody has allocated"
        case "freed":
            return f"{what} touches tensor memory that {second} has freed"
        case "unpublished":
            return f"nothing makes {what} wait for {second}: it may come first, and finds no address"
        case "taken":
            return f"{what} allocates columns that {second} holds"
        case "used":
            return f"{what} may come before the end of {second}"
        case "relinquished":
            return f"{what} may come after the permit to allocate is given up by {second}"
        case "left":
            return f"what {what} allocates is never freed"
    return f"{what} may free the columns of the pair before the other CTA has allocated them"


def _what(run: Run, record) -> str:
    at = where(run, record.stream, record.index)
    if record.access.resource:
        return f"the {verb(record)} of {accessed(record)} by {at}"
    return at


def _notes(misuse: Misuse) -> Iterator[str]:
    access = misuse.record.access
    if access.space:
        yield f"columns {access.low} to {access.high - 1} of {place(access.space)}"
    if misuse.kind == "used" and misuse.other is not None and misuse.other.component >= 0:
        yield "the load or store must be waited for before the barrier: it returns before it is done"


MEET = NamedBarrier("meet", 1, 160)


def _kernel(*last):
    return document(
        "the columns are freed behind the last reader"
        if last
        else "the columns are freed beside their last reader",
        task(
            "mma",
            0,
            1,
            op(OpKind.TMEM_ALLOC, "acc"),
            op(OpKind.TMEM_RELINQUISH),
            sync("meet"),
            loop(acquire("acc"), work("acc", "mma"), commit("acc")),
            *last,
            op(OpKind.TMEM_DEALLOC, "acc"),
        ),
        task(
            "epilogue",
            4,
            4,
            sync("meet"),
            loop(wait("acc"), work("acc", "load"), wait_ld(), release("acc")),
            *last,
        ),
        resources=(tensor(),),
        barriers=(MEET,),
        target="sm_100a",
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Tensor memory is allocated before its first use, its address handed on by a barrier, and freed after its last, "
    "by a pair together; none is allocated once the permit is given up.",
    why="Who uses columns too early has no address, who frees them too early hands them to the next kernel while they are "
    "being read, and who never frees them blocks its allocation for ever.",
    bad=_kernel(),
    good=_kernel(sync("meet")),
    check=check,
    examine=examine,
)
