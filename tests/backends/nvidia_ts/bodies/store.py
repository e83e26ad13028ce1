"""A script of Task Scheduling: tiles go through a ring of two stages out to global memory, by bulk stores."""

from dataclasses import dataclass, field
from typing import Any

import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync
from cutlass.experimental.task_scheduling import (
    consumer_work,
    domain_loop,
    producer_work,
    schedule,
    work_tile_loop,
)
from cutlass.experimental.task_scheduling.memory import SmemAllocation, SmemAllocator
from cutlass.experimental.task_scheduling.resources import (
    MemoryResource,
    PipelineConfig,
    StageInfo,
    TileSchedulerConfig,
    WorkQueue,
)
from cutlass.experimental.task_scheduling.task import Task
from cutlass.experimental.task_scheduling.task_manager import TaskManager
from cutlass.pipeline import Agent, CooperativeGroup


@dataclass(kw_only=True)
class Smem(MemoryResource):
    store_atom: Any = None
    allocations: list = field(default_factory=list)

    def get_smem_requirements(self):
        return self.allocations

    @producer_work
    @cute.jit
    def load(self, stage_info: StageInfo) -> None:
        cute.copy(self.load_atom, self.source, self.tile, tma_bar_ptr=stage_info.barrier)

    @consumer_work
    @cute.jit
    def put(self, stage_info: StageInfo) -> None:
        cute.copy(self.store_atom, self.tile, self.sink)
        cute.arch.cp_async_bulk_commit_group()


@schedule
def load_schedule(queue, smem):
    with work_tile_loop(queue):
        with domain_loop(0, 4):
            smem.try_acquire()  # a look first
            smem.acquire()
            smem.load()
            smem.commit()
        queue.wait()
        queue.get_and_advance_work_tile()
        queue.release()


@schedule
def store_schedule(queue, smem):
    with work_tile_loop(queue):
        with domain_loop(0, 4):
            smem.wait()
            smem.put()
            smem.release()
        queue.wait()
        queue.get_and_advance_work_tile()
        queue.release()


def threads(count):
    return CooperativeGroup(Agent.Thread, count)


def build(c=None):
    store_atom, _sink = (
        (None, None) if c is None else cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), c)
    )
    queue = WorkQueue(TileSchedulerConfig.create_static_persistent_tile_scheduler_params(None), name="queue")
    smem = Smem(
        name="smem",
        store_atom=store_atom,
        pipeline_config=PipelineConfig.create_tma_async_pipeline_cfg(2, 1024, threads(1), threads(1)),
        allocations=[SmemAllocation("tile", size_bytes=2048, alignment=128)],
    )
    allocator = SmemAllocator()
    allocator.add_resource(smem)
    allocator.compute_layout()
    load = Task([queue], [smem], 0, 1, schedule=load_schedule(queue, smem), name="load")
    store = Task([queue, smem], [], 1, 1, schedule=store_schedule(queue, smem), name="store")
    return TaskManager([load, store], {smem: [queue]}, smem_allocator=allocator, verbose=False)


if __name__ == "__main__":
    build()
