"""Features that other scripts have alone, together: a group whose consumers take turns, tiles skipped by a task that waits
for another, and shared memory that the members of a group leave to what comes after them."""

from dataclasses import dataclass

import cutlass
from cutlass.experimental.task_scheduling import domain_loop, schedule, work_tile_loop
from cutlass.experimental.task_scheduling.enums import PipelineGroupMode
from cutlass.experimental.task_scheduling.memory import SmemAllocator
from cutlass.experimental.task_scheduling.pipeline_group import PipelineGroup
from cutlass.experimental.task_scheduling.resources import WorkQueue
from parts import Coords, Out, Smem, async_async, managed, next_tile, role, static_queue, tma_async


@dataclass(kw_only=True, init=False)
class Sparse(WorkQueue):
    """Leaves empty tiles out."""

    def skip_work_tile_if(self, work_tile):
        return cutlass.Boolean(False)


@schedule
def load_schedule(source, ring):
    with domain_loop(0, 8):
        coord = source.coords()
        ring.acquire()
        ring.load(coord=coord)
        ring.commit()


def take_both(a, b, both, out, first):
    with domain_loop(first, 8, 2):
        a.wait()
        b.wait()
        a.read()
        b.read()
        both.release()
        out.store()


@schedule
def even_schedule(a, b, both, out):
    take_both(a, b, both, out, 0)


@schedule
def odd_schedule(a, b, both, out):
    take_both(a, b, both, out, 1)


def lanes():
    """Two consumers take turns at both members of a group."""
    config = tma_async(4, 1, interleave_stride=(1, 1, 2, 2), advance_on_wait=True)
    a, b = (Smem(name=name, pipeline_config=config) for name in "ab")
    both = PipelineGroup(name="both", members=[a, b], mode=PipelineGroupMode.Merge)
    source, even, odd = Coords(name="source"), Out(name="even_out"), Out(name="odd_out")
    return managed(
        [
            role("load_a", 0, 1, [source], [a], load_schedule(source, both.a)),
            role("load_b", 1, 1, [source], [b], load_schedule(source, both.b)),
            role("even", 4, 1, [a, b], [even], even_schedule(both.a, both.b, both, even)),
            role("odd", 5, 1, [a, b], [odd], odd_schedule(both.a, both.b, both, odd)),
        ],
        {a: [source], b: [source], even: [a, b], odd: [a, b]},
    )


def per_tile(queue, body):
    queue.init_work_tile()
    with work_tile_loop(queue, skip_if=Sparse.skip_work_tile_if) as tiles:
        with tiles.skippable(), domain_loop(0, 5):
            body()
        next_tile(queue)


@schedule
def fetch_schedule(queue, source, a, b):
    def body():
        coord = source.coords()
        for ring in (a, b):
            ring.acquire()
            ring.load(coord=coord)
            ring.commit()

    per_tile(queue, body)


@schedule
def look_schedule(queue, a, b, proxy):
    def body():
        a.wait()
        b.wait()
        proxy.acquire()
        proxy.fill()
        proxy.commit()

    per_tile(queue, body)


@schedule
def use_schedule(queue, proxy, a, b, out):
    def body():
        proxy.wait()
        proxy.read()
        a.read()
        b.read()
        out.store()
        a.release()
        b.release()
        proxy.release()

    per_tile(queue, body)


def skipped():
    """One task waits and another releases, in tiles of which some are skipped."""
    queue, source, out = static_queue(cls=Sparse), Coords(name="source"), Out(name="out")
    a, b = (Smem(name=name, pipeline_config=tma_async(3, 4)) for name in "ab")
    proxy = Smem(name="proxy", size=0, is_barrier=True, pipeline_config=async_async(3, 1, 4))
    return managed(
        [
            role("load", 0, 1, [queue, source], [a, b], fetch_schedule(queue, source, a, b)),
            role("look", 1, 1, [queue, a, b], [proxy], look_schedule(queue, a, b, proxy)),
            role("use", 4, 4, [queue, proxy, a, b], [out], use_schedule(queue, proxy, a, b, out)),
        ],
        {a: [source, queue], b: [source, queue], proxy: [a, b], out: [proxy, a, b]},
    )


@schedule
def sum_schedule(a, b, both, staging):
    with domain_loop(0, 8):
        both.wait()
        a.read()
        b.read()
        both.release()
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


def aliases():
    """What is staged in the end lies where the members of a group were."""
    source, out = Coords(name="source"), Out(name="out")
    a, b = (Smem(name=name, pipeline_config=tma_async(2, 1)) for name in "ab")
    both = PipelineGroup(name="both", members=[a, b], mode=PipelineGroupMode.FusedMerge)
    staging = Smem(name="staging", size=2048, pipeline_config=async_async(1, 1, 1))
    smem = SmemAllocator()
    members = [*a.get_smem_requirements(), *b.get_smem_requirements()]
    smem.add_alias_group([members, staging.get_smem_requirements()])
    smem.compute_layout()
    return managed(
        [
            role("load_a", 0, 1, [source], [a], load_schedule(source, both.a)),
            role("load_b", 1, 1, [source], [b], load_schedule(source, both.b)),
            role("sum", 4, 1, [a, b], [staging], sum_schedule(both.a, both.b, both, staging)),
            role("store", 8, 1, [staging], [out], store_schedule(staging, out)),
        ],
        {a: [source], b: [source], staging: [a, b], out: [staging]},
        smem_allocator=smem,
    )


if __name__ == "__main__":
    lanes()
    skipped()
    aliases()
