"""Programmatic dependent launch: which works wait for the preceding grid, let the next one start, or touch what they share.

``griddepcontrol.wait`` blocks until the preceding grids are complete and their memory is visible; ``launch_dependents``
lets the next grid start before this one ends (PTX ISA, "griddepcontrol"). An edge of the graph from the resource that waits
says that its downstream is written by the preceding grid, or written here while that grid may still use it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .document import Document, Engine, Op, OpKind, Resource, Space, Task, Token
from .footprints import engine_of
from .tree import find_resource, find_work, ops_of


@dataclass(frozen=True, slots=True)
class GridDependency:
    """Ids of ops: ``waits`` for the preceding grid, ``launches`` of the next, ``touches`` of what depends on the preceding
    one (op -> resource), ``stores`` to global memory (op -> resource). ``declared``: whether any resource waits at all;
    ``unheeded``: the resource whose launch starts a grid that does not wait ("": it waits)."""

    waits: frozenset[str]
    launches: frozenset[str]
    touches: dict[str, str]
    stores: dict[str, str]
    declared: bool
    unheeded: str

    @property
    def ops(self) -> frozenset[str]:
        """All of them that an execution keeps the clocks of."""
        stores = self.stores if self.unheeded else ()
        return self.waits | self.launches | frozenset(self.touches) | frozenset(stores)


def grid_dependency(document: Document) -> GridDependency:
    """The dependent launches of ``document``."""
    barriers = {r.name: r for r in document.resources if r.space is Space.PDL}
    if not barriers:
        return GridDependency(frozenset(), frozenset(), {}, {}, False, "")
    waiting = {n for n, r in barriers.items() if any(w.role == "consumer" for w in r.works)}
    launching = {n for n, r in barriers.items() if any(w.role == "producer" for w in r.works)}
    ops = [(t, o) for t in document.tasks for o in ops_of(t) if o.kind is OpKind.WORK]
    waits = frozenset(o.id for _, o in ops if _role(barriers, o) == "consumer")
    launches = frozenset(o.id for _, o in ops if _role(barriers, o) == "producer")
    dependent = dependents(document, waiting)
    touches = {o.id: name for t, o in ops if (name := _touched(document, t, o, dependent))}
    stores = {o.id: o.target for _, o in ops if _stores(find_resource(document, o.target), o)}
    unheeded = (n for n in launching if dict(barriers[n].params).get("successor_waits") is False)
    return GridDependency(waits, launches, touches, stores, bool(waiting), next(unheeded, ""))


def dependents(document: Document, waiting: Iterable[str]) -> set[str]:
    """The resources that an edge makes depend on the preceding grid."""
    names = set(waiting)
    return {e.downstream for e in document.graph if e.upstream in names} - names


def _role(barriers: dict[str, Resource], op: Op) -> str:
    work = find_work(barriers.get(op.target), op.work)
    return work.role if work else ""


def _touched(document: Document, task: Task, op: Op, dependent: set[str]) -> str:
    """The dependent resource that ``op`` touches, or ""."""
    resource = find_resource(document, op.target)
    work = find_work(resource, op.work)
    if resource is None or work is None or work.auxiliary or resource.space is Space.PDL:
        return ""
    if op.target in dependent and not work.view and (work.role == "producer" or not resource.pipeline):
        return op.target
    sources = {r for r in dependent if not getattr(find_resource(document, r), "pipeline", None)}
    taken = _origins(task, op)
    if taken:  # a view of a dependent resource is read where its token is used
        return next((r for r in sorted(sources & taken) if not work.view), "")
    if work.role != "producer" or engine_of(resource, work) not in (Engine.TMA, Engine.CP_ASYNC):
        return ""
    ups = {e.upstream for e in document.graph if e.downstream == op.target and e.upstream in task.src}
    plain = {u for u in ups if (r := find_resource(document, u)) and not r.pipeline and r.space in _MEMORY}
    return min(plain) if plain and plain <= sources else ""


_MEMORY = (Space.NONE, Space.GMEM)


def _origins(task: Task, op: Op) -> set[str]:
    """The resources whose works returned the tokens that ``op`` takes."""
    tokens = {v.name for _, v in op.args if isinstance(v, Token)}
    return {o.target for o in ops_of(task) if tokens.intersection(o.results)} if tokens else set()


def _stores(resource: Resource | None, op: Op) -> bool:
    work = find_work(resource, op.work)
    return bool(
        resource
        and work
        and resource.space is Space.GMEM
        and not resource.pipeline
        and work.role == "producer"
        and not work.auxiliary
    )
