"""Which event an op of each kind becomes, where the op alone says it."""

from __future__ import annotations

from .document import Engine, OpKind
from .program import EventKind

PIPELINE_KINDS = frozenset(
    (OpKind.ACQUIRE, OpKind.COMMIT, OpKind.TRY_ACQUIRE, OpKind.WAIT, OpKind.RELEASE, OpKind.TRY_WAIT)
)
GROUP_KINDS = {
    OpKind.GROUP_COMMIT: EventKind.GROUP_COMMIT,
    OpKind.GROUP_WAIT: EventKind.GROUP_WAIT,
    OpKind.GROUP_WAIT_READ: EventKind.GROUP_WAIT_READ,
}
FENCES = {
    OpKind.FENCE_PROXY_ASYNC: EventKind.FENCE,
    OpKind.SYNC_WARP: EventKind.SYNC_WARP,
    OpKind.FENCE_MBARRIER_INIT: EventKind.LIFETIME,
    OpKind.WGMMA_FENCE: EventKind.WGMMA_FENCE,
    OpKind.TCGEN05_FENCE_BEFORE: EventKind.FENCE_BEFORE,
    OpKind.TCGEN05_FENCE_AFTER: EventKind.FENCE_AFTER,
}
REGISTER_KINDS = (OpKind.REGISTERS_DECREASE, OpKind.REGISTERS_INCREASE)
DRAINS = {OpKind.TCGEN05_WAIT_LD: Engine.TCGEN05_LD, OpKind.TCGEN05_WAIT_ST: Engine.TCGEN05_ST}
NAMED_KINDS = {OpKind.BARRIER_SYNC: EventKind.SYNC, OpKind.BARRIER_ARRIVE: EventKind.BAR_ARRIVE}
MEETING_KINDS = frozenset((*GROUP_KINDS, *NAMED_KINDS))
