"""WD801  redundant-sync: a wait, fence or barrier that no verdict needs."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Op, OpKind
from ..edits import DeleteNode
from ..findings import Finding, Fix
from ..phrases import phrase
from ..tree import find_node, ops_of
from .base import Hazard, advice, listed
from .examples import acquire, commit, document, fence, loop, release, ring, task, wait, work
from .study import Study, edited

CODE, NAME = "WD801", "redundant-sync"
ALONE = (
    OpKind.WAIT,
    OpKind.GROUP_WAIT,
    OpKind.GROUP_WAIT_READ,
    OpKind.MBARRIER_WAIT,
    OpKind.FENCE_MBARRIER_INIT,
    OpKind.FENCE_PROXY_ASYNC,
    OpKind.SYNC_WARP,
    OpKind.FENCE_TENSORMAP,
    OpKind.PRODUCER_TAIL,
    OpKind.WGMMA_FENCE,
    OpKind.TCGEN05_WAIT_LD,
    OpKind.TCGEN05_WAIT_ST,
    OpKind.TCGEN05_FENCE_BEFORE,
    OpKind.TCGEN05_FENCE_AFTER,
)
TOGETHER = (  # all who meet at a barrier
    OpKind.BARRIER_SYNC,
    OpKind.BARRIER_ARRIVE,
    OpKind.CLUSTER_SYNC,
    OpKind.CLUSTER_ARRIVE,
    OpKind.CLUSTER_WAIT,
)
Unit = tuple[Op, ...]


def advise(study: Study) -> Iterator[Finding]:
    """Each wait, fence or barrier without which the document verifies again: for all trip counts, with no new finding and
    no new assumption, and with no order lost between accesses to memory that is not modelled."""
    if study.report.scope.kind != "all":
        study.notes.append(
            f"{CODE} {NAME} is not looked for: the verdict is for listed trip counts, which prove nothing of others"
        )
        return
    removed: list[Unit] = []
    for unit in units(study.document):
        without = _without(study.document, unit)
        if objection(study, without, unit):
            continue
        yield _finding(study, unit, without, _needed_together(study, removed, unit))
        removed.append(unit)


def units(document: Document) -> Iterator[Unit]:
    """What can be taken out at once: an op with its unrolled copies, or all who meet at a barrier."""
    for role in document.tasks:
        for op in ops_of(role):
            if op.kind in ALONE and op.copy_of in ("", op.id) and not op.implicit:
                yield (op,)
    yield from meetings(document)


def meetings(document: Document) -> Iterator[Unit]:
    """The ops of each barrier: by the order in which each task does them, where all do the same number; else all at once."""
    found: dict[str, dict[tuple[str, OpKind], list[Op]]] = {}
    for role in document.tasks:
        for op in ops_of(role):
            if op.kind in TOGETHER:
                found.setdefault(op.target, {}).setdefault((role.name, op.kind), []).append(op)
    for rows in found.values():
        if len({len(row) for row in rows.values()}) == 1:
            yield from zip(*rows.values(), strict=True)
        else:
            yield tuple(op for row in rows.values() for op in row)


def objection(study: Study, without: Document, unit: Unit) -> str:
    """Why ``unit`` is not called redundant; "" if it is proved to be."""
    found = study.objection(without, strict_lanes=any(op.kind is OpKind.SYNC_WARP for op in unit))
    if not found and (lost := study.unseen.lost(without)):
        found = f"it may order accesses to {listed(lost)}, which are not modelled"
        study.notes.append(f"{unit[0].id}: no rule needs {phrase(unit[0])}, but {found}")
    return found


def _without(document: Document, *units: Unit) -> Document:
    ids = [op.id for unit in units for op in unit]
    for id in ids:
        if find_node(document, id) is not None:  # it went with the first of its copies
            document = edited(document, DeleteNode(id, copies=True))
    return document


def _needed_together(study: Study, removed: list[Unit], unit: Unit) -> list[Unit]:
    """The units called redundant before that are not, once ``unit`` is out."""
    if not removed or not study.objection(_without(study.document, *removed, unit)):
        return []
    return [other for other in removed if study.objection(_without(study.document, other, unit))] or removed


def _finding(study: Study, unit: Unit, without: Document, others: list[Unit]) -> Finding:
    words = phrase(unit[0]) + (f" (and {len(unit) - 1} more that meet there)" if len(unit) > 1 else "")
    before, after = study.timeline.total, study.simulated(without).total
    notes = [
        "proof: the document without it verifies for all trip counts, with no new finding and no new assumption",
        "the proof takes each work to touch what it is declared to touch, and nothing else",
    ]
    notes += [f"it holds if {words}" for words in study.report.scope.assumed]
    if others:
        names = listed(op.id for other in others for op in other[:1])
        notes.append(f"not together with {names}: once one is out, the other is needed")
    if after > before:
        notes.append(f"it may be there for speed: the predicted timeline grows to {after} cycles without it")
    return advice(
        CODE,
        NAME,
        f"no verdict needs {words}",
        ops=tuple(op.id for op in unit),
        resources=tuple(dict.fromkeys(op.target for op in unit if op.target)),
        actual=f"predicted timeline {before} cycles, {after} without it",
        notes=tuple(notes),
        fixes=(Fix(f"remove {words}", tuple(DeleteNode(op.id, copies=True) for op in unit)),),
    )


def _ring(*fences: Op):
    return document(
        "fenced twice" if len(fences) > 1 else "fenced once",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task("use", 4, 1, loop(wait("ab"), work("ab", "read"), *fences, release("ab"))),
        resources=(ring(),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="A wait, fence or barrier changes some verdict: without it a rule would be broken.",
    why="Each costs cycles in every iteration, and a reader of the schedule looks in vain for what it protects.",
    bad=_ring(fence(), fence()),
    good=_ring(fence()),
    advise=advise,
)
