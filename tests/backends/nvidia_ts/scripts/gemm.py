"""Bulk copies feed a tensor core, whose accumulators threads read: TmaUmma and UmmaAsync, tensor memory, registers."""

from cutlass.experimental.task_scheduling import domain_loop, schedule
from cutlass.experimental.task_scheduling.memory import SmemAllocation, SmemAllocator, TmemAllocator
from parts import Coords, Out, Smem, State, Tmem, managed, role, tma_umma, umma_async


@schedule
def load_schedule(source, ab):
    with domain_loop(0, 16, 1):
        coord = source.coords()
        ab.acquire()
        ab.load(coord=coord)
        ab.commit()


@schedule
def mma_schedule(ab, acc):
    acc.acquire()
    with domain_loop(0, 16, 1):
        ab.wait()
        desc = ab.describe()
        acc.mma(desc=desc)
        ab.release()
    acc.commit()


@schedule
def store_schedule(acc, out):
    with domain_loop(0, 0, 1):
        pass
    acc.wait()
    acc.read()
    acc.release()
    out.store()


@schedule
def idle_schedule(nothing):
    nothing.decide()
    with domain_loop(0, 0, 1):
        pass


def build():
    """The manager."""
    source, out, nothing = Coords(name="source"), Out(name="out"), State(name="nothing")
    ab = Smem(name="ab", pipeline_config=tma_umma(4))
    acc = Tmem(name="acc", pipeline_config=umma_async(2, 4))
    smem, tmem = SmemAllocator(), TmemAllocator()
    smem.add_resource(ab)
    smem.add_resource(acc)
    smem.add_tmem_ptr(SmemAllocation("tmem_ptr", 4, alignment=4))
    smem.compute_layout()
    tmem.add_resource(acc)
    tmem.compute_layout()
    return managed(
        [
            role("load", 4, 1, [source], [ab], load_schedule(source, ab), num_registers=64),
            role("mma", 5, 1, [ab], [acc], mma_schedule(ab, acc), num_registers=64),
            role("store", 0, 4, [acc], [out], store_schedule(acc, out), num_registers=160),
            role("idle", 6, 2, [nothing], [], idle_schedule(nothing), num_registers=64),
        ],
        {ab: [source], acc: [ab], out: [acc], nothing: []},
        smem_allocator=smem,
        tmem_allocator=tmem,
        smem_capacity_bytes=200_000,
    )


if __name__ == "__main__":
    build()
