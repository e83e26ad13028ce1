"""Synchronisation of annotations as calls of the CuTe DSL, for the bodies of works."""

from __future__ import annotations

from collections.abc import Mapping

from warpdraft.core.document import Engine, OpKind
from warpdraft.core.python_text import Imports

from ..annotations import Barrier, Sync

GROUPS = {  # engine -> what commits its groups, and what waits for them
    Engine.BULK_STORE: ("cute.arch.cp_async_bulk_commit_group", "cute.arch.cp_async_bulk_wait_group"),
    Engine.CP_ASYNC: ("cute.arch.cp_async_commit_group", "cute.arch.cp_async_wait_group"),
    Engine.WGMMA: ("cute.nvgpu.warpgroup.commit_group", "cute.nvgpu.warpgroup.wait_group"),
}
LONE = {
    OpKind.FENCE_PROXY_ASYNC: 'cute.arch.fence_proxy("async.shared", space="cta")',
    OpKind.SYNC_WARP: "cute.arch.sync_warp()",
    OpKind.WGMMA_FENCE: "cute.nvgpu.warpgroup.fence()",
    OpKind.TCGEN05_WAIT_LD: "cute.arch.fence_view_async_tmem_load()",
    OpKind.TCGEN05_WAIT_ST: "cute.arch.fence_view_async_tmem_store()",
    OpKind.TCGEN05_FENCE_BEFORE: "primitives.tcgen05_fence(primitives.Tcgen05Fence.BEFORE_THREAD_SYNC)",
    OpKind.TCGEN05_FENCE_AFTER: "primitives.tcgen05_fence(primitives.Tcgen05Fence.AFTER_THREAD_SYNC)",
    OpKind.CLUSTER_ARRIVE: "cute.arch.cluster_arrive()",
    OpKind.CLUSTER_WAIT: "cute.arch.cluster_wait()",
    OpKind.CLUSTER_SYNC: "cute.arch.cluster_arrive(); cute.arch.cluster_wait()",
}


def call_of(sync: Sync, barriers: Mapping[str, Barrier], imports: Imports | None = None) -> str:
    """The call that ``sync`` is, without its conditions; ``imports`` learns what it needs."""
    if sync.op is OpKind.GROUP_COMMIT:
        text = f"{GROUPS[sync.group][0]}()"
    elif sync.op in (OpKind.GROUP_WAIT, OpKind.GROUP_WAIT_READ):
        read = ", read=True" if sync.op is OpKind.GROUP_WAIT_READ else ""
        text = f"{GROUPS[sync.group][1]}({sync.count or 0}{read})"
    elif sync.barrier:
        barrier = barriers[sync.barrier]
        function = "barrier" if sync.op is OpKind.BARRIER_SYNC else "barrier_arrive"
        text = f"cute.arch.{function}(barrier_id={barrier.id}, number_of_threads={barrier.threads})"
    else:
        text = LONE[sync.op]
    if imports is not None:
        imports(text.partition(".")[0])
    return text


def conditions_of(sync: Sync, first_warp: int) -> list[str]:
    """The lines that open the blocks around the call, for a task whose first warp is ``first_warp``."""
    found = [] if sync.warp is None else [f"if cute.arch.warp_idx() == {first_warp + sync.warp}:"]
    return [*found, "with cute.arch.elect_one():"] if sync.lane else found
