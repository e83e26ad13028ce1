"""What a verdict takes for granted: what a document does not state, works are trusted to do inside.

Where a task states some of the waits or fences of a tensor core, or all its works there are stock bodies, they are held to
them; elsewhere works are taken to wait and fence by themselves, as schedules do that keep these instructions inside.
"""

from __future__ import annotations

from collections.abc import Iterator

from .allocations import allocated
from .arrivals import routes
from .clusters import looked_at
from .conditions import condition_keys
from .document import Document, Engine, OpKind, Signal, Space, Task
from .fencing import fences_nothing
from .footprints import engine_of, tracked
from .grid_dependency import dependents
from .routes import own_copies
from .tensor_core import TENSOR
from .tensor_memory import by_threads, issued_as
from .tree import find_resource, find_work, ops_of

FENCES = (OpKind.TCGEN05_FENCE_BEFORE, OpKind.TCGEN05_FENCE_AFTER)
STOCK = "sm90."  # bodies that fence for themselves


def assumed(document: Document) -> tuple[str, ...]:
    """One reason for each thing that works are trusted with, and the tasks that it speaks of."""
    found = (*_tensor_cores(document), *_global_memory(document), *_grids(document), *_clusters(document))
    return tuple(dict.fromkeys(found))


def _global_memory(document: Document) -> Iterator[str]:
    """What is written and read without a storage that says which bytes."""
    roles: dict[str, set[str]] = {}
    for task in document.tasks:
        for resource, work in _works(document, task):
            if resource.space is Space.GMEM and not tracked(resource):
                roles.setdefault(resource.name, set()).add(work.role)
    both = [name for name, of in roles.items() if len(of) == 2]
    if both:
        yield f"no two accesses of global memory meet ({', '.join(both)}: no storage says which bytes)"


def by_default(document: Document) -> tuple[str, ...]:
    """The works that schedules call and nobody has said the accesses of, as "resource.work"."""
    called = {
        (op.target, op.work) for task in document.tasks for op in ops_of(task) if op.kind is OpKind.WORK
    }
    return tuple(
        f"{r.name}.{w.name}"
        for r in document.resources
        for w in r.works
        if w.assumed and (r.name, w.name) in called
    )


def _tensor_cores(document: Document) -> Iterator[str]:
    waits, fences, entering, leaving, wgmma = [], [], [], [], []
    for task in document.tasks:
        works = list(_works(document, task))
        threads = [f"{r.name}.{w.name}" for r, w in works if _by_threads(r, w, task)]
        if threads:
            waits.append(f"{threads[0]} of {task.name}")
        if not fences_nothing(document, task) and any(_touches(document, r, w, task) for r, w in works):
            if not states(task, FENCES):
                fences.append(task.name)
            elif not states(task, FENCES[1:]):
                entering.append(task.name)
            elif not states(task, FENCES[:1]) and any(_hands_on(r, w, task) for r, w in works):
                leaving.append(task.name)
        if not states(task, (OpKind.WGMMA_FENCE,)):
            wgmma += [f"{r.name}.{w.name}" for r, w in works if _unfenced(r, w)][:1]
    if waits:
        yield f"works wait for tcgen05.ld and .st inside ({', '.join(waits)})"
    if fences:
        yield f"works fence for tcgen05 inside ({', '.join(fences)})"
    if entering:
        yield f"works fence for tcgen05 inside, after waits ({', '.join(entering)})"
    if leaving:
        yield f"works fence for tcgen05 inside, before arrivals ({', '.join(leaving)})"
    if wgmma:
        yield f"works fence for wgmma inside ({', '.join(wgmma)})"
    copies = [t.name for t in document.tasks if _refills(document, t)]
    if copies:
        yield (
            "a tcgen05.cp writes columns only when the MMA before it has read them, which PTX ISA does not list "
            f"({', '.join(copies)})"
        )
    mine = allocated(document)
    held = [r.name for r in document.resources if r.space is Space.TMEM and r.name not in mine]
    if held:
        yield f"tensor memory is allocated before its first use and freed after its last ({', '.join(held)})"


def states(task: Task, kinds: tuple[OpKind, ...]) -> bool:
    """Whether ``task`` has an op of ``kinds``."""
    return any(op.kind in kinds for op in ops_of(task))


def _works(document: Document, task: Task) -> Iterator[tuple]:
    for op in ops_of(task):
        resource = find_resource(document, op.target) if op.kind is OpKind.WORK else None
        work = find_work(resource, op.work) if resource else None
        if work is not None and not work.view and not work.auxiliary:
            yield resource, work


def _refills(document: Document, task: Task) -> bool:
    """Whether the tensor core copies into its memory and multiplies, for one task."""
    engines = {
        engine_of(r, w) for r, w in _works(document, task) if r.space is Space.TMEM and w.role == "producer"
    }
    return {Engine.TCGEN05, Engine.TCGEN05_CP} <= engines


def _by_threads(resource, work, task: Task) -> bool:
    return resource.space is Space.TMEM and issued_as(resource, work, task) is Engine.WARP


def _hands_on(resource, work, task: Task) -> bool:
    """Whether threads reach tensor memory by the work, so that no commit fences behind it."""
    return resource.space is Space.TMEM and by_threads(issued_as(resource, work, task))


def _touches(document: Document, resource, work, task: Task) -> bool:
    """Whether the work is one of a tensor core's, or reaches its memory."""
    signals = resource.pipeline and Signal.COMMIT in (
        resource.pipeline.producer_signal,
        resource.pipeline.consumer_signal,
    )
    return resource.space is Space.TMEM or engine_of(resource, work) in TENSOR or bool(signals)


def _unfenced(resource, work) -> bool:
    return engine_of(resource, work) is Engine.WGMMA and not work.body.startswith(STOCK)


def _grids(document: Document) -> Iterator[str]:
    """What no edge says of the grids before and behind this one."""
    barriers = [r for r in document.resources if r.space is Space.PDL]
    waiting = [r.name for r in barriers if any(w.role == "consumer" for w in r.works)]
    if waiting and not dependents(document, waiting):
        yield f"nothing here depends on the preceding grid (no edge of the graph leads from {waiting[0]})"
    if barriers and not waiting:
        yield f"no preceding grid still runs when this one starts ({barriers[0].name}: nobody waits for it)"
    for r in barriers:
        if dict(r.params).get("successor_waits") is False:
            yield f"works fence their stores at the scope of the GPU before {r.name} launches the next grid"


def _clusters(document: Document) -> Iterator[str]:
    """What is not said of the CTAs of a cluster."""
    if looked_at(document) == 1:
        return
    for resource in document.resources:
        if resource.pipeline and not own_copies(routes(document, resource)):
            yield (
                f"the CTAs that share {resource.name} fill its stages together, in equal parts (no work says whom it is "
                "multicast to)"
            )
    if condition_keys(document):
        yield "a condition at run time comes out alike in all CTAs of a cluster"
