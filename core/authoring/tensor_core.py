"""The waits, fences and commits of Blackwell's tensor core, by the names of PTX's tcgen05 instructions."""

from __future__ import annotations

from typing import Any

from ..document import OpKind
from .errors import refuse
from .recording import recorder
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
