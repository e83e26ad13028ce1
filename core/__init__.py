"""The public face of the framework."""

from .advice import Advice, advise
from .authoring.enums import (
    PipelineGroupMode,
    PipelineOp,
    PipelineType,
    SignalingThreads,
    TileSchedulerType,
    WorkAttr,
)
from .authoring.errors import ScheduleError
from .authoring.groups import PipelineGroup
from .authoring.kernels import GmemTensor, Kernel
from .authoring.loops import (
    FIRST_ITER,
    LAST_ITER,
    Every,
    IterationPredicate,
    OpaqueCondition,
    cta_rank,
    domain_loop,
    elect_lane,
    elect_warp,
    named_loop,
    named_token,
    when_false,
    when_true,
    work_tile_loop,
)
from .authoring.manager import TaskManager
from .authoring.memory import SmemAllocation, SmemAllocator, TmemAllocation, TmemAllocator
from .authoring.pipeline_factories import (
    create_async_async_pipeline_cfg,
    create_async_umma_pipeline_cfg,
    create_clc_fetch_async_pipeline_cfg,
    create_tma_async_pipeline_cfg,
    create_tma_umma_pipeline_cfg,
    create_umma_async_pipeline_cfg,
    create_umma_umma_pipeline_cfg,
)
from .authoring.pipelines import PipelineConfig
from .authoring.queues import PdlLaunchBarrier, PdlWaitBarrier, TileSchedulerConfig, WorkQueue
from .authoring.resources import MemoryResource
from .authoring.schedules import Schedule, schedule
from .authoring.symbols import ceil_div, symbol
from .authoring.synchronisation import (
    AsyncGroup,
    MBarrier,
    NamedBarrier,
    cluster_arrive,
    cluster_sync,
    cluster_wait,
    fence_mbarrier_init,
    fence_proxy_async,
    setmaxregister_decrease,
    setmaxregister_increase,
    sync_warp,
    wgmma_fence,
)
from .authoring.tasks import Task
from .authoring.tensor_core import (
    fence_tensormap,
    tcgen05_commit,
    tcgen05_fence_after,
    tcgen05_fence_before,
    tcgen05_wait_ld,
    tcgen05_wait_st,
    tensormap_update,
    tmem_alloc,
    tmem_dealloc,
    tmem_relinquish,
)
from .authoring.values import ResourceContext, StageInfo, TaskLocalVariable, WorkTileInfo
from .authoring.works import consumer_work, producer_work
from .document import Document, Engine, Footprint, Part, Signal, Space, Storage
from .equality import equal_schedules
from .findings import Finding, Fix, Report, Scope, Severity, Step
from .history import History
from .report import render_report
from .store import DocumentError, dumps, load, loads, save
from .to_python import to_python
from .verify import verify

__all__ = [
    "FIRST_ITER",
    "LAST_ITER",
    "Advice",
    "AsyncGroup",
    "Document",
    "DocumentError",
    "Engine",
    "Every",
    "Finding",
    "Fix",
    "Footprint",
    "GmemTensor",
    "History",
    "IterationPredicate",
    "Kernel",
    "MBarrier",
    "MemoryResource",
    "NamedBarrier",
    "OpaqueCondition",
    "Part",
    "PdlLaunchBarrier",
    "PdlWaitBarrier",
    "PipelineConfig",
    "PipelineGroup",
    "PipelineGroupMode",
    "PipelineOp",
    "PipelineType",
    "Report",
    "ResourceContext",
    "Schedule",
    "ScheduleError",
    "Scope",
    "Severity",
    "Signal",
    "SignalingThreads",
    "SmemAllocation",
    "SmemAllocator",
    "Space",
    "StageInfo",
    "Step",
    "Storage",
    "Task",
    "TaskLocalVariable",
    "TaskManager",
    "TileSchedulerConfig",
    "TileSchedulerType",
    "TmemAllocation",
    "TmemAllocator",
    "WorkAttr",
    "WorkQueue",
    "WorkTileInfo",
    "advise",
    "ceil_div",
    "cluster_arrive",
    "cluster_sync",
    "cluster_wait",
    "consumer_work",
    "create_async_async_pipeline_cfg",
    "create_async_umma_pipeline_cfg",
    "create_clc_fetch_async_pipeline_cfg",
    "create_tma_async_pipeline_cfg",
    "create_tma_umma_pipeline_cfg",
    "create_umma_async_pipeline_cfg",
    "create_umma_umma_pipeline_cfg",
    "cta_rank",
    "domain_loop",
    "dumps",
    "elect_lane",
    "elect_warp",
    "equal_schedules",
    "fence_mbarrier_init",
    "fence_proxy_async",
    "fence_tensormap",
    "load",
    "loads",
    "named_loop",
    "named_token",
    "producer_work",
    "render_report",
    "save",
    "schedule",
    "setmaxregister_decrease",
    "setmaxregister_increase",
    "symbol",
    "sync_warp",
    "tcgen05_commit",
    "tcgen05_fence_after",
    "tcgen05_fence_before",
    "tcgen05_wait_ld",
    "tcgen05_wait_st",
    "tensormap_update",
    "tmem_alloc",
    "tmem_dealloc",
    "tmem_relinquish",
    "to_python",
    "verify",
    "wgmma_fence",
    "when_false",
    "when_true",
    "work_tile_loop",
]
