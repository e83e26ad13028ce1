"""An accumulator that goes back and forth, as attention kernels have it: threads rewrite its stages in place before the
tensor core reads them again. Scratch beside tensor memory, a value that is carried in two ways, one getter with an offset,
and an allocation for the responses of the dynamic queue."""

from dataclasses import dataclass

import cutlass
from clc_queue import fetch_schedule
from cutlass.experimental.task_scheduling import (
    WorkAttr,
    consumer_work,
    domain_loop,
    producer_work,
    schedule,
    work_tile_loop,
)
from cutlass.experimental.task_scheduling.memory import SmemAllocation, SmemAllocator, TmemAllocator
from cutlass.experimental.task_scheduling.resources import (
    MemoryResource,
    PipelineConfig,
    TaskLocalVariable,
    TileSchedulerConfig,
    WorkQueue,
)
from cutlass.experimental.task_scheduling.task import Task
from parts import Out, Tmem, group, managed, next_tile, role, umma_async, variable


class Rounds(Task):
    """Its trip count depends on the tile; ``offset`` fewer of them."""

    length, offset = 5, 0

    def get_domain(self, tile_coord):
        self.asked = tile_coord  # what it notes for others
        return cutlass.Int32(self.length) - self.offset


@dataclass(kw_only=True)
class Scratched(Tmem):
    """Tensor memory with a scratch buffer in shared memory."""

    def __post_init__(self):
        super().__post_init__()
        self.scratch = SmemAllocation(f"{self.name}_scratch", 512)

    def get_smem_requirements(self):
        return [self.scratch]


@dataclass(kw_only=True)
class Sum(MemoryResource):
    """A sum over the rounds."""

    total: TaskLocalVariable = TaskLocalVariable.uninitialized()  # noqa: RUF009

    def __post_init__(self):
        self.total = variable()

    @consumer_work(work_attrs=WorkAttr.AUXILIARY, returns=total)
    def start(self, stage_info): ...

    @consumer_work(work_attrs=WorkAttr.AUXILIARY, returns=total)
    def add(self, stage_info, *, total): ...


@dataclass(kw_only=True)
class Totals(MemoryResource):
    """Where sums go."""

    @producer_work
    def put(self, stage_info, *, total): ...


@schedule
def mma_schedule(queue, acc, product):
    queue.init_work_tile()
    with work_tile_loop(queue):
        acc.acquire()
        acc.accumulate()
        acc.commit()
        with domain_loop(Rounds.get_domain):
            acc.acquire()
            product.acquire()
            product.accumulate()
            product.commit()
            acc.accumulate()
            acc.commit()
        next_tile(queue)


@schedule
def rewrite_schedule(queue, acc, sums, totals):
    queue.init_work_tile()
    with work_tile_loop(queue):
        total = sums.start()
        with domain_loop(Rounds.get_domain):
            acc.wait()
            acc.read()
            totals.put(total=total)
            total = sums.add(total=total)
            acc.release()
        totals.put(total=total)
        next_tile(queue)


@schedule
def store_schedule(queue, product, out):
    queue.init_work_tile()
    with work_tile_loop(queue):
        with domain_loop(Rounds.get_domain):
            product.wait()
            product.read()
            product.release()
        out.store()
        next_tile(queue)


def rounds(offset, *args, **more):
    """A role with so many rounds fewer."""
    task = Rounds(*args, **more)
    task.offset = offset
    return task


def build():
    """The manager."""
    config = PipelineConfig.create_clc_fetch_async_pipeline_cfg(1, 16, group(1), group(32 * 10), (1, 1, 1, 1))
    scheduler = TileSchedulerConfig.create_clc_dynamic_persistent_tile_scheduler_params(None, None)
    queue = WorkQueue(scheduler, name="queue", pipeline_config=config)
    acc = Scratched(name="acc", pipeline_config=umma_async(1, 4))
    product = Tmem(name="product", pipeline_config=umma_async(2, 4))
    sums, totals, out = Sum(name="sums"), Totals(name="totals"), Out(name="out")
    smem, tmem = SmemAllocator(), TmemAllocator()
    for resource in (acc, product, queue):
        smem.add_resource(resource)
        tmem.add_resource(resource)
    smem.add(SmemAllocation("responses", 16, alignment=16))
    smem.compute_layout()
    tmem.compute_layout()
    rewrite = rewrite_schedule(queue, acc, sums, totals)
    return managed(
        [
            role("fetch", 0, 1, [queue], [queue], fetch_schedule(queue)),
            rounds(1, [queue], [acc, product], 1, 1, schedule=mma_schedule(queue, acc, product), name="mma"),
            rounds(0, [queue, acc, sums], [totals], 4, 4, schedule=rewrite, name="rewrite"),
            rounds(
                1, [queue, product], [out], 8, 4, schedule=store_schedule(queue, product, out), name="store"
            ),
        ],
        {acc: [acc, queue], product: [acc, queue], totals: [acc, sums], out: [product], queue: [queue]},
        smem_allocator=smem,
        tmem_allocator=tmem,
    )


if __name__ == "__main__":
    build()
