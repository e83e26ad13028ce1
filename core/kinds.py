"""The words of a document: where bytes live, who touches them, what an op does, when a block runs."""

from __future__ import annotations

from enum import StrEnum


class Space(StrEnum):
    """Where a resource's bytes live. ``NONE``: no storage is modelled (global tensors, coordinates)."""

    NONE = "none"
    GMEM = "gmem"
    SMEM = "smem"
    TMEM = "tmem"
    RMEM = "rmem"  # registers: private to each warp
    QUEUE = "queue"
    PDL = "pdl"


class Engine(StrEnum):
    """Who touches the bytes of a work, and so when the access ends and through which proxy it goes."""

    WARP = "warp"  # the calling threads, generic proxy, done when the op is done
    TMA = "tma"  # bulk tensor copy into shared memory, async proxy, completes bytes on an mbarrier
    WGMMA = "wgmma"  # async proxy reads of shared memory, register accumulators, ends with its wgmma group
    TCGEN05 = "tcgen05"  # MMA: async proxy, ends with a commit to an mbarrier
    TCGEN05_CP = "tcgen05_cp"  # copy from shared into tensor memory, ends as an MMA does
    TCGEN05_SHIFT = "tcgen05_shift"  # moves rows of tensor memory, ends as an MMA does
    TCGEN05_LD = "tcgen05_ld"  # each warp reads its lanes of tensor memory, ends with its tcgen05.wait::ld
    TCGEN05_ST = "tcgen05_st"  # each warp writes its lanes of tensor memory, ends with its tcgen05.wait::st
    CP_ASYNC = "cp_async"  # non-bulk copy, generic proxy, ends with its cp.async group
    BULK_STORE = "bulk_store"  # bulk copy out of shared memory, async proxy, ends with its bulk group


class Signal(StrEnum):
    """How one warp's (or engine's) commit or release turns into mbarrier arrivals; see `core.arrivals`."""

    WARP = "warp"  # one elected arrival a warp
    THREAD = "thread"  # every lane arrives: 32 a warp
    LEADER_THREADS = "leader_threads"  # the lanes of the task's first warp: 32 a task
    LEADER = "leader"  # one elected arrival by the task's first warp
    COMMIT = "commit"  # one arrival when the issued MMAs complete (tcgen05.commit)
    CP_ASYNC = "cp_async"  # every lane, when its cp.async copies complete (cp.async.mbarrier.arrive.noinc): 32 a warp


class OpKind(StrEnum):
    """What an op does; its ``target`` is a resource, barrier or group as the comment says."""

    ACQUIRE = "acquire"  # resource
    COMMIT = "commit"
    TRY_ACQUIRE = "try_acquire"
    PRODUCER_TAIL = "producer_tail"  # waits until every stage that the task has filled is free again
    WAIT = "wait"
    RELEASE = "release"
    TRY_WAIT = "try_wait"
    WORK = "work"  # resource; `work` names the method
    GROUP_COMMIT = "group_commit"  # async group
    GROUP_WAIT = "group_wait"  # async group; `count` newest groups may stay open
    GROUP_WAIT_READ = "group_wait_read"  # as above, but only the sources have been read (bulk stores)
    BARRIER_SYNC = "barrier_sync"  # named barrier
    BARRIER_ARRIVE = "barrier_arrive"
    MBARRIER_ARRIVE = "mbarrier_arrive"  # raw mbarrier; `count` arrivals a warp
    MBARRIER_EXPECT = "mbarrier_expect"  # expect_tx of `count` bytes
    MBARRIER_ARRIVE_EXPECT = "mbarrier_arrive_expect"  # one arrival and expect_tx of `count` bytes
    MBARRIER_WAIT = "mbarrier_wait"  # `count` is the parity waited for; None follows the phases in turn
    MBARRIER_TRY_WAIT = "mbarrier_try_wait"  # whether that phase is over; the phases' turn stays
    MBARRIER_INIT = (
        "mbarrier_init"  # raw mbarrier, all its stages unless `stage` says which; without one, the prologue's
    )
    MBARRIER_INVAL = "mbarrier_inval"  # as init: its bytes may be used for something else
    FENCE_MBARRIER_INIT = (
        "fence_mbarrier_init"  # no target; publishes this thread's inits to the cluster and the async proxy
    )
    FENCE_PROXY_ASYNC = "fence_proxy_async"  # no target
    SYNC_WARP = "sync_warp"
    REGISTERS_DECREASE = "setmaxregister_decrease"  # no target: setmaxnreg.dec to `count` registers a thread
    REGISTERS_INCREASE = (
        "setmaxregister_increase"  # setmaxnreg.inc, which blocks until the CTA's pool has them
    )
    WGMMA_FENCE = "wgmma_fence"
    TCGEN05_WAIT_LD = "tcgen05_wait_ld"
    TCGEN05_WAIT_ST = "tcgen05_wait_st"
    TCGEN05_FENCE_BEFORE = "tcgen05_fence_before"
    TCGEN05_FENCE_AFTER = "tcgen05_fence_after"
    TMEM_ALLOC = "tmem_alloc"  # resource, or all tensor memory; `count` columns (None: as many as it takes)
    TMEM_DEALLOC = "tmem_dealloc"
    TMEM_RELINQUISH = "tmem_relinquish"  # no target: no allocation by this CTA after it
    TENSORMAP_UPDATE = "tensormap_update"  # resource: a tensor map, whose bytes are rewritten
    FENCE_TENSORMAP = "fence_tensormap"  # resource, or all tensor maps
    TCGEN05_COMMIT = (
        "tcgen05_commit"  # raw mbarrier: one arrival when this warp's mma, cp and shift so far are done
    )
    CP_ASYNC_ARRIVE = "cp_async_arrive"  # raw mbarrier: held open until this warp's cp.async so far are done
    CP_ASYNC_ARRIVE_NOINC = "cp_async_arrive_noinc"  # raw mbarrier: every lane arrives when they are done
    CLUSTER_SYNC = "cluster_sync"
    CLUSTER_ARRIVE = "cluster_arrive"
    CLUSTER_WAIT = "cluster_wait"


class PipelineGroupMode(StrEnum):
    """Which side of a group of pipelines is driven for all members at once; see `core.pipeline_groups`."""

    Merge = "Merge"
    Fork = "Fork"
    FusedMerge = "FusedMerge"


class GuardKind(StrEnum):
    """When a guarded block runs."""

    ELECT_WARP = (
        "elect_warp"  # only warp `warp` of the task; the others move their cursors past it (`core.cursors`)
    )
    ELECT_LANE = "elect_lane"  # one lane of each warp
    CTA_RANK = "cta_rank"  # only CTA `cta` of the cluster
    FIRST_ITER = "first_iter"  # of loop `loop`
    LAST_ITER = "last_iter"
    EVERY = "every"  # iterations start, start + period, ... (by index) of loop `loop`
    WHEN_TRUE = "when_true"  # run-time condition `key`
    WHEN_FALSE = "when_false"
    SKIPPABLE = "skippable"  # left out on tiles that the tile loop's predicate skips
