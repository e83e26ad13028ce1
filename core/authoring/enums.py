"""The words of NVIDIA's Task Scheduling that a schedule uses, with its names and meanings."""

from __future__ import annotations

from enum import Enum, IntFlag, StrEnum

from ..kinds import PipelineGroupMode as PipelineGroupMode


class PipelineType(StrEnum):
    """Kind of producer and of consumer: Tma (bulk copies), Umma (tensor core, one commit), Async (threads), ClcFetch."""

    AsyncAsync = "AsyncAsync"
    TmaAsync = "TmaAsync"
    TmaUmma = "TmaUmma"
    UmmaAsync = "UmmaAsync"
    AsyncUmma = "AsyncUmma"
    UmmaUmma = "UmmaUmma"
    ClcFetchAsync = "ClcFetchAsync"


class SignalingThreads(IntFlag):
    """Which threads arrive for a side of a pipeline.

    ``All``: every thread. ``TaskWarpLeader``: those of the task's first warp. ``CtaLeader``: only CTA 0 of the cluster
    signals; it combines with ``TaskWarpLeader``.
    """

    All = 1
    CtaLeader = 2
    TaskWarpLeader = 4


class WorkAttr(IntFlag):
    """``AUXILIARY``: the work touches no bytes and needs no bracket."""

    NONE = 0
    AUXILIARY = 1


class TileSchedulerType(StrEnum):
    """How a persistent kernel finds its next tile."""

    StaticPersistent = "StaticPersistent"
    ClcDynamicPersistent = "ClcDynamicPersistent"


class PipelineOp(Enum):
    """How an asynchronous producer signals: threads that arrive, or cp.async copies that do."""

    AsyncThread = "AsyncThread"
    AsyncLoad = "AsyncLoad"
