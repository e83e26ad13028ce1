"""Allocations of one resource that lie apart: some share bytes with others, some follow what another resource has."""

from dataclasses import dataclass

from cutlass.experimental.task_scheduling import consumer_work, domain_loop, producer_work, schedule
from cutlass.experimental.task_scheduling.memory import (
    SmemAllocation,
    SmemAllocator,
    TmemAllocation,
    TmemAllocator,
)
from cutlass.experimental.task_scheduling.resources import MemoryResource
from parts import BYTES, Coords, managed, role, tma_umma, umma_async


@dataclass(kw_only=True)
class Pair(MemoryResource):
    """Two operands behind one pipeline."""

    def __post_init__(self):
        stages = self.pipeline_config.num_stages
        self.a, self.b = SmemAllocation("a", BYTES * stages), SmemAllocation("b", 2048 * stages)

    def get_smem_requirements(self):
        return [self.a, self.b]

    @producer_work
    def load(self, stage_info, *, coord): ...


@dataclass(kw_only=True)
class Halves(MemoryResource):
    """Two accumulators, each with its stages one behind the other."""

    def __post_init__(self):
        self.left, self.right = TmemAllocation("left", 128), TmemAllocation("right", 64)

    def get_tmem_requirements(self):
        return [self.left, self.right]

    @producer_work
    def mma(self, stage_info): ...

    @consumer_work
    def read(self, stage_info): ...


@dataclass(kw_only=True)
class Staging(MemoryResource):
    """What is stored: it is sent from the bytes of the operands, and received where nothing else is."""

    def __post_init__(self):
        self.sent, self.received = SmemAllocation("sent", 4096), SmemAllocation("received", 4096)

    def get_smem_requirements(self):
        return [self.sent, self.received]

    @producer_work
    def store(self, stage_info): ...


@schedule
def load_schedule(source, operands):
    with domain_loop(0, 8):
        coord = source.coords()
        operands.acquire()
        operands.load(coord=coord)
        operands.commit()


@schedule
def mma_schedule(operands, acc):
    with domain_loop(0, 8):
        operands.wait()
        acc.acquire()
        acc.mma()
        acc.commit()
        operands.release()


@schedule
def store_schedule(acc, staging):
    with domain_loop(0, 8):
        acc.wait()
        acc.read()
        acc.release()
    staging.store()


def build():
    """The manager."""
    source, staging = Coords(name="source"), Staging(name="staging")
    operands = Pair(name="operands", pipeline_config=tma_umma(4, nbytes=BYTES + 2048))
    acc = Halves(name="acc", pipeline_config=umma_async(2, 4))
    smem, tmem = SmemAllocator(), TmemAllocator()
    smem.add(SmemAllocation("pointer", 4, alignment=4))
    smem.add(SmemAllocation("counter", 8, alignment=8))
    smem.add_resource(operands)
    smem.add_resource(staging)
    smem.add_alias_group([[operands.a, operands.b], [staging.sent]])
    smem.compute_layout()
    statistics = TmemAllocation("statistics", 4)
    tmem.add_alias_group([[acc.left], [statistics]])
    tmem.add(acc.right)
    tmem.compute_layout()
    return managed(
        [
            role("load", 0, 1, [source], [operands], load_schedule(source, operands)),
            role("mma", 1, 1, [operands], [acc], mma_schedule(operands, acc)),
            role("store", 4, 4, [acc], [staging], store_schedule(acc, staging)),
        ],
        {operands: [source], acc: [operands], staging: [acc]},
        smem_allocator=smem,
        tmem_allocator=tmem,
    )


if __name__ == "__main__":
    build()
