"""The waits, fences, commits and memory of Blackwell's tensor core, by the names of PTX's tcgen05 instructions."""

from __future__ import annotations

from typing import Any

from ..document import OpKind
from .errors import refuse
from .integers import optional_integer
from .memory import TmemAllocation
from .recording import recorder
from .resources import MemoryResource
from .synchronisation import MBarrier


def tcgen05_wait_ld() -> None:
    """``tcgen05.wait::ld``: wait until this warp's loads from tensor memory are complete."""
    recorder("tcgen05_wait_ld()").op(OpKind.TCGEN05_WAIT_LD)


def tcgen05_wait_st() -> None:
    """``tcgen05.wait::st``: wait until this warp's stores to tensor memory are complete."""
    recorder("tcgen05_wait_st()").op(OpKind.TCGEN05_WAIT_ST)


def tcgen05_fence_before() -> None:
    """``tcgen05.fence::before_thread_sync``: order this warp's tcgen05 work before the barrier that comes next."""
    recorder("tcgen05_fence_before()").op(OpKind.TCGEN05_FENCE_BEFORE)


def tcgen05_fence_after() -> None:
    """``tcgen05.fence::after_thread_sync``: order this warp's later tcgen05 work after the barrier before it."""
    recorder("tcgen05_fence_after()").op(OpKind.TCGEN05_FENCE_AFTER)


def tcgen05_commit(mbarrier: MBarrier, stage: Any = None, cta: Any = None) -> None:
    """``tcgen05.commit``: one arrival on ``mbarrier`` when the MMAs, copies and shifts that the task's first warp (or the
    elected one) has issued so far are complete; ``stage`` and ``cta`` as for `MBarrier.arrive`. Raises ScheduleError for
    anything but an `MBarrier`."""
    if not isinstance(mbarrier, MBarrier):
        raise refuse(
            f"tcgen05_commit() arrives on an MBarrier, not {mbarrier!r}; a pipeline's commit and release do it by themselves"
        )
    mbarrier._record(OpKind.TCGEN05_COMMIT, stage, cta)


def tmem_alloc(what: Any = None, columns: int | None = None, cta_group: int = 1) -> None:
    """``tcgen05.alloc`` by this warp: the columns of resource ``what`` (or of its only `TmemAllocation`), or, without it,
    the first ``columns`` of tensor memory with all that lies in them. ``columns`` left out: as many as they take, a power of
    two from 32 on. ``cta_group``: 1, or 2 for a pair of CTAs, both of which execute it. Raises ScheduleError."""
    _lifetime(OpKind.TMEM_ALLOC, what, columns, cta_group)


def tmem_dealloc(what: Any = None, columns: int | None = None, cta_group: int = 1) -> None:
    """``tcgen05.dealloc`` of what `tmem_alloc` was given."""
    _lifetime(OpKind.TMEM_DEALLOC, what, columns, cta_group)


def tmem_relinquish(cta_group: int = 1) -> None:
    """``tcgen05.relinquish_alloc_permit``: this CTA allocates no more."""
    _lifetime(OpKind.TMEM_RELINQUISH, None, None, cta_group)


def tensormap_update(tensor_map: MemoryResource) -> None:
    """Rewrite the tensor map ``tensor_map`` (a resource) in memory. Works that copy by it are given it as an argument."""
    _resource(OpKind.TENSORMAP_UPDATE, tensor_map)


def fence_tensormap(tensor_map: MemoryResource | None = None) -> None:
    """``fence.proxy.tensormap``: later copies see the tensor map (all of them, without one) as it was updated before."""
    _resource(OpKind.FENCE_TENSORMAP, tensor_map)


def _lifetime(kind: OpKind, what: Any, columns: int | None, cta_group: int) -> None:
    call = f"{kind.value}()"
    if cta_group not in (1, 2):
        raise refuse(f"{call}: cta_group is 1 or 2, not {cta_group!r}")
    target = what
    if isinstance(what, TmemAllocation):
        target = what.owner
        if target is None or len(target.tmem_allocations()) != 1:
            raise refuse(
                f"{call}: {what.name!r} is not the only allocation of a resource; give the resource itself"
            )
    args = () if cta_group == 1 else (("cta_group", 2),)
    _resource(kind, target, count=optional_integer(f"{call}: columns", columns), args=args)


def _resource(kind: OpKind, target: Any, **fields: Any) -> None:
    if target is not None and not isinstance(target, MemoryResource):
        raise refuse(f"{kind.value}() takes a resource, not {target!r}")
    if target is None and kind is OpKind.TENSORMAP_UPDATE:
        raise refuse("tensormap_update() needs the resource that is the tensor map")
    recorder(f"{kind.value}()").op(kind, target, **fields)
