"""Pipeline descriptions, with the names of NVIDIA's Task Scheduling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..document import Pipeline, Signal
from ..limits import MAX_BYTES, MAX_STAGES, MAX_WARPS
from .enums import PipelineOp, PipelineType, SignalingThreads
from .errors import refuse
from .given import flag, shown
from .integers import index_of, integer, optional_integer

Signaling = SignalingThreads | Signal | str | None
Group = Any  # an arrival count, anything with a `.size`, or None: derive

THREAD_PRODUCERS = {PipelineType.AsyncAsync, PipelineType.AsyncUmma}
THREAD_CONSUMERS = {PipelineType.AsyncAsync, PipelineType.UmmaAsync, PipelineType.ClcFetchAsync}


@dataclass(frozen=True)
class PipelineConfig:
    """One pipeline of ``num_stages`` stages.

    ``num_bytes``: transaction bytes of a stage; ``producer_group``, ``consumer_group``: arrival count of full and of empty,
    or anything with a ``.size``; None derives. ``pipeline_type``: a `PipelineType`, or None where it follows from the works.

    Who arrives (`document.Signal`): without ``*_signaling_threads`` the signal follows from the type. A `Signal` says it
    directly. A `SignalingThreads` is translated on sides where threads arrive: ``All`` is Signal.THREAD (each lane, 32 a
    warp), ``TaskWarpLeader`` is Signal.LEADER_THREADS (the 32 of the task's first warp). Sides of TMA and of tensor cores
    have one arrival by their nature and stay None. A TmaAsync consumer releases with one elected lane a warp; it is
    Signal.THREAD with ``All`` only if its count says so (see `lowering.pipeline_record`), as in Task Scheduling.
    """

    num_stages: int
    num_bytes: int | None = None
    producer_group: Group = None
    consumer_group: Group = None
    pipeline_type: PipelineType | str | None = None
    barrier_ptr: Any = None
    cta_layout_vmnk: Any = None
    producer_signaling_threads: Signaling = None
    consumer_signaling_threads: Signaling = None
    consumer_wait_signaling_threads: Signaling = None
    umma_consumer_producer_op: Any = PipelineOp.AsyncThread
    advance_on_wait: bool = False
    advance_on_acquire: bool = False
    num_bytes_per_warp_per_cta: int | None = None
    mcast_mode_mn: tuple[int, int] = (1, 1)
    interleave_stride: int | tuple[int, int, int, int] = 1
    async_producer_op: Any = PipelineOp.AsyncThread

    def __post_init__(self) -> None:
        stages = integer("num_stages", self.num_stages, 1, MAX_STAGES)
        object.__setattr__(self, "num_stages", stages)  # a plain integer, also from NumPy's
        optional_integer("num_bytes", self.num_bytes, 0, MAX_BYTES)
        optional_integer("num_bytes_per_warp_per_cta", self.num_bytes_per_warp_per_cta, 0, MAX_BYTES)
        waits = self.consumer_wait_signaling_threads
        if waits is not None and not isinstance(waits, SignalingThreads) and waits not in list(Signal):
            raise refuse(f"consumer_wait_signaling_threads {waits!r} is neither a SignalingThreads nor a signal")
        for name in ("advance_on_wait", "advance_on_acquire"):
            object.__setattr__(self, name, flag(name, getattr(self, name)))
        _integers("mcast_mode_mn", self.mcast_mode_mn, 2)
        _integers("interleave_stride", self.interleave_stride, 4)
        _layout(self.cta_layout_vmnk)
        if self.pipeline_type not in (None, "") and _type_name(self.pipeline_type) not in list(PipelineType):
            raise refuse(f"pipeline_type {self.pipeline_type!r} is not one of {', '.join(PipelineType)}")
        for side in ("producer", "consumer"):
            count_of(getattr(self, f"{side}_group"))
            threads = getattr(self, f"{side}_signaling_threads")
            if (
                threads is not None
                and not isinstance(threads, SignalingThreads)
                and threads not in list(Signal)
            ):
                raise refuse(
                    f"{side}_signaling_threads {threads!r} is neither a SignalingThreads nor one of {', '.join(Signal)}"
                )
            if (
                isinstance(threads, SignalingThreads)
                and SignalingThreads.All in threads
                and threads != SignalingThreads.All
            ):
                raise refuse(f"{side}_signaling_threads: All cannot be combined with {threads!r}")

    @property
    def copies_arrive(self) -> bool:
        """Whether cp.async copies signal the full barrier."""
        ops = (self.async_producer_op, self.umma_consumer_producer_op)
        return any(getattr(op, "name", op) == "AsyncLoad" for op in ops)

    def record(self) -> Pipeline:
        """The document's pipeline. Raises ScheduleError for counts that are no number."""
        kind = PipelineType(_type_name(self.pipeline_type)) if self.pipeline_type else ""
        producer, consumer = self.producer_signaling_threads, self.consumer_signaling_threads
        return Pipeline(
            stages=self.num_stages,
            type=str(kind),
            bytes=optional_integer("num_bytes", self.num_bytes) or None,
            producer_count=count_of(self.producer_group),
            consumer_count=count_of(self.consumer_group),
            producer_signal=self._producer_signal(not kind or kind in THREAD_PRODUCERS),
            consumer_signal=_signal(consumer, not kind or kind in THREAD_CONSUMERS),
            advance_on_acquire=self.advance_on_acquire,
            advance_on_wait=self.advance_on_wait,
            producer_cta_leader=_cta_leader(producer),
            consumer_cta_leader=_cta_leader(consumer),
            interleave=_integers("interleave_stride", self.interleave_stride, 4),
            multicast=_integers("mcast_mode_mn", self.mcast_mode_mn, 2),
            cta_layout=_layout(self.cta_layout_vmnk),
        )

    @property
    def beside(self) -> dict[str, Any]:
        """What it says that no record of a pipeline holds, as parameters of its resource."""
        waits = self.consumer_wait_signaling_threads
        found = (
            {}
            if waits is None
            else {"consumer_wait_signaling_threads": getattr(waits, "name", waits) or str(waits)}
        )
        if self.num_bytes_per_warp_per_cta is not None:
            found["num_bytes_per_warp_per_cta"] = self.num_bytes_per_warp_per_cta
        return found

    def _producer_signal(self, by_threads: bool) -> Signal | None:
        """With `PipelineOp.AsyncLoad` each thread's copies arrive for it (CUTLASS `PipelineCpAsync`)."""
        said = self.producer_signaling_threads
        found = _signal(said, by_threads)
        open_ = isinstance(said, SignalingThreads | None) and found in (None, Signal.THREAD)
        return Signal.CP_ASYNC if self.copies_arrive and open_ else found


def _type_name(kind: PipelineType | str) -> str:
    return str(getattr(kind, "value", kind))


def count_of(group: Group) -> int | None:
    """The arrival count that ``group`` stands for: itself, or its ``size``."""
    if group is None:
        return None
    for number in (group, getattr(group, "size", None)):
        if (found := index_of(number)) is not None:
            return found
    raise refuse(f"{group!r} is no arrival count: give an integer or something with a .size")


def _signal(threads: Signaling, by_threads: bool) -> Signal | None:
    if threads is None or isinstance(threads, Signal):
        return threads
    if not isinstance(threads, SignalingThreads):
        return Signal(threads)
    if not by_threads:
        return None
    return Signal.LEADER_THREADS if SignalingThreads.TaskWarpLeader in threads else Signal.THREAD


def _cta_leader(threads: Signaling) -> bool:
    return isinstance(threads, SignalingThreads) and SignalingThreads.CtaLeader in threads


def _integers(what: str, value: Any, count: int) -> tuple[int, ...]:
    """``count`` positive integers, or one for all of them where that is allowed (four strides)."""
    if count == 4 and index_of(value) is not None:
        value = (value,) * 4
    if not isinstance(value, tuple | list) or len(value) != count:
        raise refuse(f"{what} must be {count} integers, not {shown(value)}")
    most = MAX_WARPS if count == 4 else None  # as many lanes as a task has warps
    return tuple(integer(what, v, 0 if count == 2 else 1, most) for v in value)


def _layout(layout: Any) -> tuple[int, ...]:
    shape = getattr(layout, "shape", layout)
    return tuple(integer("cta_layout_vmnk", d, 1) for d in shape) if isinstance(shape, tuple | list) else ()
