"""One factory for each kind of pipeline; parameters in the order of NVIDIA's Task Scheduling.

As there, ``*_signaling_threads`` default to ``SignalingThreads.All``; unlike there, groups may be left out (derived).
Groups are arrival counts: 1 a producing task where copies or MMAs fill a stage, 32 a warp where threads arrive, 1 where MMAs
use it. A TmaAsync consumer has 1 a warp, or all its threads if its group is as large, which is how Task Scheduling decides.
Another number is WD201.
"""

from __future__ import annotations

from typing import Any

from .enums import PipelineOp, PipelineType, SignalingThreads
from .pipelines import Group, PipelineConfig, Signaling

ALL = SignalingThreads.All
Strides = int | tuple[int, int, int, int]


def create_async_async_pipeline_cfg(
    num_stages: int,
    producer_group: Group = None,
    consumer_group: Group = None,
    cta_layout_vmnk: Any = None,
    producer_signaling_threads: Signaling = ALL,
    consumer_signaling_threads: Signaling = ALL,
    barrier_ptr: Any = None,
    producer_op: Any = PipelineOp.AsyncThread,
    advance_on_acquire: bool = False,
    interleave_stride: Strides = 1,
    advance_on_wait: bool = False,
) -> PipelineConfig:
    """Threads fill a stage, threads use it."""
    return PipelineConfig(
        num_stages=num_stages,
        producer_group=producer_group,
        consumer_group=consumer_group,
        pipeline_type=PipelineType.AsyncAsync,
        barrier_ptr=barrier_ptr,
        cta_layout_vmnk=cta_layout_vmnk,
        producer_signaling_threads=producer_signaling_threads,
        consumer_signaling_threads=consumer_signaling_threads,
        async_producer_op=producer_op,
        advance_on_acquire=advance_on_acquire,
        advance_on_wait=advance_on_wait,
        interleave_stride=interleave_stride,
    )


def create_tma_async_pipeline_cfg(
    num_stages: int,
    num_bytes: int | None = None,
    producer_group: Group = None,
    consumer_group: Group = None,
    cta_layout_vmnk: Any = None,
    producer_signaling_threads: Signaling = ALL,
    consumer_signaling_threads: Signaling = ALL,
    barrier_ptr: Any = None,
    advance_on_wait: bool = False,
    interleave_stride: Strides = 1,
    num_bytes_per_warp_per_cta: int | None = None,
) -> PipelineConfig:
    """Bulk copies fill a stage, threads (or wgmma, which threads wait for) use it."""
    return PipelineConfig(
        num_stages=num_stages,
        num_bytes=num_bytes,
        producer_group=producer_group,
        consumer_group=consumer_group,
        pipeline_type=PipelineType.TmaAsync,
        barrier_ptr=barrier_ptr,
        cta_layout_vmnk=cta_layout_vmnk,
        producer_signaling_threads=producer_signaling_threads,
        consumer_signaling_threads=consumer_signaling_threads,
        advance_on_wait=advance_on_wait,
        interleave_stride=interleave_stride,
        num_bytes_per_warp_per_cta=num_bytes_per_warp_per_cta,
    )


def create_tma_umma_pipeline_cfg(
    num_stages: int,
    num_bytes: int | None = None,
    producer_group: Group = None,
    consumer_group: Group = None,
    cta_layout_vmnk: Any = None,
    producer_signaling_threads: Signaling = ALL,
    consumer_signaling_threads: Signaling = ALL,
    barrier_ptr: Any = None,
    advance_on_wait: bool = False,
    interleave_stride: Strides = 1,
    mcast_mode_mn: tuple[int, int] = (1, 1),
    num_bytes_per_warp_per_cta: int | None = None,
) -> PipelineConfig:
    """Bulk copies fill a stage, tcgen05 MMAs use it."""
    return PipelineConfig(
        num_stages=num_stages,
        num_bytes=num_bytes,
        producer_group=producer_group,
        consumer_group=consumer_group,
        pipeline_type=PipelineType.TmaUmma,
        barrier_ptr=barrier_ptr,
        cta_layout_vmnk=cta_layout_vmnk,
        producer_signaling_threads=producer_signaling_threads,
        consumer_signaling_threads=consumer_signaling_threads,
        advance_on_wait=advance_on_wait,
        interleave_stride=interleave_stride,
        mcast_mode_mn=mcast_mode_mn,
        num_bytes_per_warp_per_cta=num_bytes_per_warp_per_cta,
    )


def create_umma_async_pipeline_cfg(
    num_stages: int,
    producer_group: Group = None,
    consumer_group: Group = None,
    cta_layout_vmnk: Any = None,
    producer_signaling_threads: Signaling = ALL,
    consumer_signaling_threads: Signaling = ALL,
    barrier_ptr: Any = None,
    interleave_stride: Strides = 1,
) -> PipelineConfig:
    """tcgen05 MMAs fill a stage, threads use it."""
    return PipelineConfig(
        num_stages=num_stages,
        producer_group=producer_group,
        consumer_group=consumer_group,
        pipeline_type=PipelineType.UmmaAsync,
        barrier_ptr=barrier_ptr,
        cta_layout_vmnk=cta_layout_vmnk,
        producer_signaling_threads=producer_signaling_threads,
        consumer_signaling_threads=consumer_signaling_threads,
        interleave_stride=interleave_stride,
    )


def create_async_umma_pipeline_cfg(
    num_stages: int,
    producer_group: Group = None,
    consumer_group: Group = None,
    cta_layout_vmnk: Any = None,
    producer_signaling_threads: Signaling = ALL,
    consumer_signaling_threads: Signaling = ALL,
    consumer_wait_signaling_threads: Signaling = None,
    producer_op: Any = PipelineOp.AsyncThread,
    barrier_ptr: Any = None,
    advance_on_wait: bool = False,
    advance_on_acquire: bool = False,
    interleave_stride: Strides = 1,
) -> PipelineConfig:
    """Threads fill a stage, tcgen05 MMAs use it."""
    return PipelineConfig(
        num_stages=num_stages,
        producer_group=producer_group,
        consumer_group=consumer_group,
        pipeline_type=PipelineType.AsyncUmma,
        barrier_ptr=barrier_ptr,
        cta_layout_vmnk=cta_layout_vmnk,
        producer_signaling_threads=producer_signaling_threads,
        consumer_signaling_threads=consumer_signaling_threads,
        consumer_wait_signaling_threads=consumer_wait_signaling_threads,
        umma_consumer_producer_op=producer_op,
        advance_on_wait=advance_on_wait,
        advance_on_acquire=advance_on_acquire,
        interleave_stride=interleave_stride,
    )


def create_umma_umma_pipeline_cfg(
    num_stages: int,
    producer_group: Group = None,
    consumer_group: Group = None,
    cta_layout_vmnk: Any = None,
    producer_signaling_threads: Signaling = ALL,
    consumer_signaling_threads: Signaling = ALL,
    barrier_ptr: Any = None,
) -> PipelineConfig:
    """tcgen05 MMAs fill a stage, tcgen05 MMAs use it."""
    return PipelineConfig(
        num_stages=num_stages,
        producer_group=producer_group,
        consumer_group=consumer_group,
        pipeline_type=PipelineType.UmmaUmma,
        barrier_ptr=barrier_ptr,
        cta_layout_vmnk=cta_layout_vmnk,
        producer_signaling_threads=producer_signaling_threads,
        consumer_signaling_threads=consumer_signaling_threads,
    )


def create_clc_fetch_async_pipeline_cfg(
    num_stages: int,
    num_bytes: int | None = None,
    producer_group: Group = None,
    consumer_group: Group = None,
    cta_layout_vmnk: Any = None,
    producer_signaling_threads: Signaling = SignalingThreads.CtaLeader,
    consumer_signaling_threads: Signaling = ALL,
    barrier_ptr: Any = None,
) -> PipelineConfig:
    """The scheduler warp fetches work tiles, threads read them."""
    return PipelineConfig(
        num_stages=num_stages,
        num_bytes=num_bytes,
        producer_group=producer_group,
        consumer_group=consumer_group,
        pipeline_type=PipelineType.ClcFetchAsync,
        barrier_ptr=barrier_ptr,
        cta_layout_vmnk=cta_layout_vmnk,
        producer_signaling_threads=producer_signaling_threads,
        consumer_signaling_threads=consumer_signaling_threads,
    )


FACTORIES = (
    create_async_async_pipeline_cfg,
    create_tma_async_pipeline_cfg,
    create_tma_umma_pipeline_cfg,
    create_umma_async_pipeline_cfg,
    create_async_umma_pipeline_cfg,
    create_umma_umma_pipeline_cfg,
    create_clc_fetch_async_pipeline_cfg,
)
for _factory in FACTORIES:  # reachable as PipelineConfig.create_... too
    setattr(PipelineConfig, _factory.__name__, staticmethod(_factory))
