"""WD407  tmem-lanes: the warps that load or store tensor memory do not reach the lanes that matter."""

from __future__ import annotations

from collections.abc import Iterator

from ..allocations import held
from ..cuts import ops_of_warp
from ..document import Document, Engine, Op, OpKind, Resource, Space, Task, Token
from ..findings import Finding
from ..footprints import engine_of
from ..layout import layout
from ..tensor_core import AWAITED, COMMITTED
from ..tensor_memory import QUARTERS, by_threads, issued_as, lanes, quarter
from ..tree import find_work, ops_of
from .base import Hazard, error, listed, unique
from .examples import acquire, commit, document, loop, release, task, tensor, wait, wait_ld, work

CODE, NAME = "WD407", "tmem-lanes"
ALL = frozenset(range(QUARTERS))
Uses = dict[int, set[str]]  # by quarter of the lanes, the ops


def check(document: Document) -> Iterator[Finding]:
    """Tensor memory that one side reaches in other lanes than the other side, where all works on it state how."""
    for resource in document.resources:
        if resource.space is not Space.TMEM:
            continue
        near = [r for r in document.resources if _overlap(document, resource, r)]
        loads, stores, whole, operand = _uses(document, resource, near)
        if loads is None or stores is None:
            continue  # a work of threads that says nothing of lanes
        if loads and (whole or stores):
            yield from _missing(resource, loads, ALL if whole else frozenset(stores), "loaded", whole)
        if operand and stores and not whole:
            yield from _missing(resource, stores, ALL, "stored", True)


def _overlap(document: Document, one: Resource, other: Resource) -> bool:
    if one is other:
        return True
    if other.space is not Space.TMEM or one.storage is None or other.storage is None:
        return False
    offsets = layout(document).offsets
    a, b = offsets[one.name], offsets[other.name]
    return a < b + held(other) and b < a + held(one)


def _uses(
    document: Document, resource: Resource, near: list[Resource]
) -> tuple[Uses | None, Uses | None, bool, bool]:
    """The loads of ``resource`` and the stores to it or what lies over it, by quarter (None: some are not stated); whether a
    tensor core writes it whole, and whether one reads it as an operand."""
    loads: Uses | None = {}
    stores: Uses | None = {}
    whole = operand = False
    for t in document.tasks:
        tokens: set[str] = set()
        for op in ops_of(t):
            owner = next((r for r in near if r.name == op.target), None)
            found = find_work(owner, op.work) if owner and op.kind is OpKind.WORK else None
            if found is not None and found.view and owner is resource:
                tokens.update(op.results)
            if any(isinstance(v, Token) and v.name in tokens for _, v in op.args):
                reader = _engine(document, op)
                operand = operand or reader in COMMITTED
                loads = None if by_threads(reader) else loads
            if found is None or found.view or found.auxiliary:
                continue
            engine, producer = issued_as(owner, found, t), found.role == "producer"
            whole = whole or (producer and engine in COMMITTED)
            if engine is Engine.WARP:
                loads, stores = (loads, None) if producer else (None if owner is resource else loads, stores)
            elif engine in AWAITED:
                into = stores if producer else (loads if owner is resource else None)
                if into is not None:
                    _add(into, t, op)
    return loads, stores, whole, operand


def _engine(document: Document, op: Op) -> Engine:
    target = next((r for r in document.resources if r.name == op.target), None)
    work = find_work(target, op.work)
    return engine_of(target, work) if target and work else Engine.WARP


def _add(into: Uses, t: Task, op: Op) -> None:
    for w in range(t.num_warps):
        if any(o.id == op.id for o in ops_of_warp(t.body, w)):
            into.setdefault(quarter(t, w), set()).add(op.id)


def _missing(
    resource: Resource, used: Uses, wanted: frozenset[int], done: str, whole: bool
) -> Iterator[Finding]:
    stray = [] if whole else sorted(set(used) - wanted)
    left = sorted(wanted - set(used)) if whole else []
    if not stray and not left:
        return
    where = listed(lanes(q) for q in stray or left)
    reached = listed(lanes(q) for q in sorted(used))
    yield error(
        CODE,
        NAME,
        f"{where} of {resource.name} are {done}, but no warp stores them"
        if stray
        else f"{where} of {resource.name} are {done} by no warp",
        ops=unique(sorted(set().union(*used.values()))),
        resources=(resource.name,),
        expected=listed(lanes(q) for q in sorted(wanted)),
        actual=reached,
        notes=(
            "a warp reaches the 32 lanes from 32 * (warp % 4) on, counted from the first warp of the CTA",
        ),
    )


def _drain(warps: int):
    return document(
        f"an epilogue of {warps} warps",
        task("mma", 0, 1, loop(acquire("acc"), work("acc", "mma"), commit("acc"))),
        task("epilogue", 4, warps, loop(wait("acc"), work("acc", "load"), wait_ld(), release("acc"))),
        resources=(tensor(),),
        target="sm_100a",
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="A warp loads and stores only the 32 lanes of tensor memory from 32 * (warp % 4) on.",
    why="The tensor core fills all 128 lanes: rows in lanes that no warp of the epilogue can reach are lost, and what one "
    "warp stores, a warp of another number modulo 4 cannot load.",
    bad=_drain(2),
    good=_drain(4),
    check=check,
)
