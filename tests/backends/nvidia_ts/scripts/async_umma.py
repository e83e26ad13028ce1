"""Threads write what a tensor core reads, which hands on to another of its MMAs: AsyncUmma, UmmaUmma."""

from cutlass.experimental.task_scheduling import domain_loop, schedule
from cutlass.experimental.task_scheduling.memory import TmemAllocator
from cutlass.experimental.task_scheduling.resources import PipelineConfig
from parts import Out, Smem, Tmem, group, managed, role, umma_async


@schedule
def write_schedule(operand):
    with domain_loop(6):
        operand.acquire()
        operand.fill()
        operand.commit()


@schedule
def first_schedule(operand, inner):
    with domain_loop(6):
        operand.wait()
        desc = operand.describe()
        inner.acquire()
        inner.mma(desc=desc)
        inner.commit()
        operand.release()


@schedule
def second_schedule(inner, acc):
    with domain_loop(6):
        inner.wait()
        inner.read()
        acc.acquire()
        acc.accumulate()
        acc.commit()
        inner.release()


@schedule
def store_schedule(acc, out):
    with domain_loop(6):
        acc.wait()
        acc.read()
        acc.release()
        out.store()


def build():
    """The manager."""
    operand = Smem(
        name="operand",
        pipeline_config=PipelineConfig.create_async_umma_pipeline_cfg(2, group(128), group(1), None),
    )
    inner = Tmem(
        name="inner",
        columns=64,
        pipeline_config=PipelineConfig.create_umma_umma_pipeline_cfg(2, group(1), group(1), None),
    )
    acc, out = Tmem(name="acc", columns=64, pipeline_config=umma_async(2, 4)), Out(name="out")
    tmem = TmemAllocator()
    tmem.add_resource(inner)
    tmem.add_resource(acc)
    tmem.compute_layout()
    return managed(
        [
            role("write", 0, 4, [], [operand], write_schedule(operand)),
            role("first", 4, 1, [operand], [inner], first_schedule(operand, inner)),
            role("second", 5, 1, [inner], [acc], second_schedule(inner, acc)),
            role("store", 8, 4, [acc], [out], store_schedule(acc, out)),
        ],
        {inner: [operand], acc: [inner], out: [acc], operand: []},
        tmem_allocator=tmem,
    )


if __name__ == "__main__":
    build()
