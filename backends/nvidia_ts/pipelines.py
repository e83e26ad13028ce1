"""A pipeline of Task Scheduling as one of the authoring interface."""

from __future__ import annotations

from typing import Any

from warpdraft.core import PipelineConfig, SignalingThreads
from warpdraft.core.authoring.enums import PipelineOp, PipelineType

# What a `PipelineConfig` of Task Scheduling holds beyond what is read here: where its barriers lie.
IGNORED = ("barrier_ptr",)


def pipeline_of(config: Any) -> PipelineConfig | None:
    """``config``, with every field that says something of the schedule."""
    if config is None:
        return None
    return PipelineConfig(
        num_stages=int(config.num_stages),
        num_bytes=int(config.num_bytes) or None,
        producer_group=int(config.producer_group.size),
        consumer_group=int(config.consumer_group.size),
        pipeline_type=PipelineType(config.pipeline_type.value),
        cta_layout_vmnk=layout_of(config.cta_layout_vmnk),
        producer_signaling_threads=SignalingThreads(int(config.producer_signaling_threads)),
        consumer_signaling_threads=SignalingThreads(int(config.consumer_signaling_threads)),
        consumer_wait_signaling_threads=None
        if config.consumer_wait_signaling_threads is None
        else SignalingThreads(int(config.consumer_wait_signaling_threads)),
        umma_consumer_producer_op=PipelineOp[config.umma_consumer_producer_op.name],
        async_producer_op=PipelineOp[config.async_producer_op.name],
        advance_on_wait=bool(config.advance_on_wait),
        advance_on_acquire=bool(config.advance_on_acquire),
        num_bytes_per_warp_per_cta=config.num_bytes_per_warp_per_cta,
        mcast_mode_mn=tuple(int(v) for v in config.mcast_mode_mn),
        interleave_stride=tuple(int(v) for v in config.interleave_strides),
    )


def layout_of(layout: Any) -> tuple[int, ...] | None:
    """A cluster as (V, M, N, K): Task Scheduling takes a tuple or a CuTe layout, whose shape may be nested."""
    if layout is None:
        return None
    return tuple(_product(mode) for mode in getattr(layout, "shape", layout))


def _product(mode: Any) -> int:
    if not isinstance(mode, tuple):
        return int(mode)
    found = 1
    for part in mode:
        found *= _product(part)
    return found
