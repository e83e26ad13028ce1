"""Buffers that share bytes: the epilogue's lies over the ring, which is no longer used then; tensor memory beside it."""

from cutlass.experimental.task_scheduling import domain_loop, schedule
from cutlass.experimental.task_scheduling.memory import SmemAllocation, SmemAllocator
from parts import Coords, Out, Smem, async_async, managed, role, tma_async


@schedule
def load_schedule(source, tile):
    with domain_loop(0, 4):
        coord = source.coords()
        tile.acquire()
        tile.load(coord=coord)
        tile.commit()


@schedule
def use_schedule(tile, staging):
    with domain_loop(0, 4):
        tile.wait()
        tile.read()
        tile.release()
    staging.acquire()
    staging.fill()
    staging.commit()


@schedule
def store_schedule(staging, out):
    with domain_loop(0, 0):
        pass
    staging.wait()
    staging.read()
    staging.release()
    out.store()


def build():
    """The manager."""
    source, out = Coords(name="source"), Out(name="out")
    tile = Smem(name="tile", pipeline_config=tma_async(4, 1))
    staging = Smem(name="staging", size=2048, pipeline_config=async_async(1, 1, 1))
    smem = SmemAllocator()
    smem.add_alias_group([tile.get_smem_requirements(), staging.get_smem_requirements()])
    smem.add(SmemAllocation("scratch", 512, alignment=16))
    smem.compute_layout()
    return managed(
        [
            role("load", 0, 1, [source], [tile], load_schedule(source, tile)),
            role("use", 4, 1, [tile], [staging], use_schedule(tile, staging)),
            role("store", 8, 1, [staging], [out], store_schedule(staging, out)),
        ],
        {tile: [source], staging: [tile], out: [staging]},
        smem_allocator=smem,
    )


if __name__ == "__main__":
    build()
