"""Resources and tasks that the scripts of this folder share, through the public interface of Task Scheduling."""

from dataclasses import dataclass, field

import cutlass
import cutlass.cute as cute
import cutlass.pipeline as pipeline
from cutlass.experimental.task_scheduling import WorkAttr, consumer_work, producer_work
from cutlass.experimental.task_scheduling.enums import SignalingThreads
from cutlass.experimental.task_scheduling.memory import SmemAllocation, SmemAllocator, TmemAllocation
from cutlass.experimental.task_scheduling.resources import (
    MemoryResource,
    PipelineConfig,
    TaskLocalVariable,
    TileSchedulerConfig,
    WorkQueue,
)
from cutlass.experimental.task_scheduling.task import Task
from cutlass.experimental.task_scheduling.task_manager import TaskManager

BYTES = 16384
ALL, CTA, WARP = SignalingThreads.All, SignalingThreads.CtaLeader, SignalingThreads.TaskWarpLeader


def group(count):
    """So many arrivals."""
    return pipeline.CooperativeGroup(pipeline.Agent.Thread, count)


def variable(default=0):
    """A value in a register of each thread."""
    return TaskLocalVariable(dtype=cutlass.Int32, default=default)


@dataclass(kw_only=True)
class Coords(MemoryResource):
    """Coordinates of the next tile in global memory."""

    coord: TaskLocalVariable = TaskLocalVariable.uninitialized()  # noqa: RUF009

    def __post_init__(self):
        self.coord = variable()

    @consumer_work(returns=coord)
    def coords(self, stage_info): ...


@dataclass(kw_only=True)
class Smem(MemoryResource):
    """A buffer in shared memory; ``size`` bytes a stage, 0: nothing is allocated."""

    size: int = BYTES
    stages: int = 1
    desc: TaskLocalVariable = TaskLocalVariable.uninitialized()  # noqa: RUF009
    allocation: object = field(init=False, default=None)

    def __post_init__(self):
        self.desc = variable()
        if self.size:
            stages = self.pipeline_config.num_stages if self.pipeline_config else self.stages
            self.allocation = SmemAllocation(self.name, self.size * stages)

    def get_smem_requirements(self):
        return [self.allocation] if self.allocation else []

    @producer_work
    def load(self, stage_info, *, coord): ...

    @producer_work
    def fill(self, stage_info):
        cute.arch.fence_view_async_shared()

    @producer_work
    def scribble(self, stage_info): ...

    @consumer_work
    def read(self, stage_info): ...

    @consumer_work(returns=desc)
    def describe(self, stage_info): ...


@dataclass(kw_only=True)
class Tmem(MemoryResource):
    """An accumulator in tensor memory; ``columns`` a stage."""

    columns: int = 128
    allocation: object = field(init=False, default=None)

    def __post_init__(self):
        stages = self.pipeline_config.num_stages if self.pipeline_config else 1
        self.allocation = TmemAllocation(self.name, self.columns * stages)

    def get_tmem_requirements(self):
        return [self.allocation]

    @producer_work
    def mma(self, stage_info, *, desc): ...

    @producer_work
    def accumulate(self, stage_info): ...

    @producer_work
    def mma_of(self, stage_info, *, a, b): ...

    @consumer_work
    def read(self, stage_info): ...


@dataclass(kw_only=True)
class Out(MemoryResource):
    """The result in global memory."""

    @producer_work
    def store(self, stage_info): ...


@dataclass(kw_only=True)
class State(MemoryResource):
    """What a task keeps in registers."""

    flag: TaskLocalVariable = TaskLocalVariable.uninitialized()  # noqa: RUF009

    def __post_init__(self):
        self.flag = variable()

    @consumer_work(work_attrs=WorkAttr.AUXILIARY, returns=flag)
    def decide(self, stage_info): ...


def tma_async(stages, consumers, *, nbytes=BYTES, **more):
    """Bulk copies by one warp, threads of ``consumers`` warps."""
    return PipelineConfig.create_tma_async_pipeline_cfg(
        stages, nbytes, group(1), group(consumers), None, **more
    )


def async_async(stages, producers, consumers, **more):
    """Threads of so many warps on both sides."""
    producer, consumer = group(32 * producers), group(32 * consumers)
    return PipelineConfig.create_async_async_pipeline_cfg(stages, producer, consumer, None, **more)


def tma_umma(stages, *, nbytes=BYTES, layout=None, **more):
    """Bulk copies, tensor core."""
    return PipelineConfig.create_tma_umma_pipeline_cfg(stages, nbytes, group(1), group(1), layout, **more)


def umma_async(stages, consumers, *, layout=None, **more):
    """Tensor core, threads of so many warps."""
    return PipelineConfig.create_umma_async_pipeline_cfg(
        stages, group(1), group(32 * consumers), layout, **more
    )


def static_queue(name="queue", cls=WorkQueue):
    """CTAs take tiles in turn."""
    return cls(TileSchedulerConfig.create_static_persistent_tile_scheduler_params(None), name=name)


def next_tile(queue):
    """What every role does at the end of a tile."""
    queue.try_wait()
    queue.wait()
    queue.get_and_advance_work_tile()
    queue.release()


def managed(tasks, graph, smem_allocator=None, **more):
    """A quiet manager; shared memory is laid out one buffer after the other unless it is said how."""
    if smem_allocator is None:
        smem_allocator = SmemAllocator()
        for resource in {id(r): r for t in tasks for r in (*t.src_resources, *t.dst_resources)}.values():
            smem_allocator.add_resource(resource)
        smem_allocator.compute_layout()
    return TaskManager(tasks, graph, verbose=False, smem_allocator=smem_allocator, **more)


def role(name, first, count, sources, sinks, schedule, **more):
    """A task."""
    return Task(sources, sinks, first, count, schedule=schedule, name=name, **more)
