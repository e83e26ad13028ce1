"""Attention with 7 tasks, 14 resources and 16 warps over a dynamic queue: the size that kernels in production have. As many
key tiles as the argument says, by default 3."""

import sys

from cutlass.experimental.task_scheduling import domain_loop, schedule, work_tile_loop
from cutlass.experimental.task_scheduling.memory import TmemAllocator
from cutlass.experimental.task_scheduling.resources import PipelineConfig, TileSchedulerConfig, WorkQueue
from parts import Coords, Out, Smem, Tmem, async_async, group, managed, next_tile, role, tma_umma, umma_async

TILES = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 3
WARPS = 16


def per_tile(queue, body, head=None, tail=None):
    queue.init_work_tile()
    with work_tile_loop(queue):
        if head:
            head()
        with domain_loop(0, TILES):
            body()
        if tail:
            tail()
        next_tile(queue)


def take(ring, *works):
    ring.wait()
    for work in works:
        work()
    ring.release()


def give(ring, work):
    ring.acquire()
    work()
    ring.commit()


@schedule
def fetch(queue):
    def tail():
        queue.try_acquire()
        queue.acquire()
        queue.fetch_work_tile()
        queue.commit()

    per_tile(queue, lambda: None, tail=tail)


@schedule
def load(queue, source, q, k, v):
    def body():
        coord = source.coords()
        give(k, lambda: k.load(coord=coord))
        give(v, lambda: v.load(coord=coord))

    def head():
        coord = source.coords()
        give(q, lambda: q.load(coord=coord))

    per_tile(queue, body, head)


@schedule
def mma(queue, q, k, v, p0, p1, s0, s1, o):
    def body():
        k.wait()
        desc = k.describe()
        give(s0, lambda: s0.mma(desc=desc))
        give(s1, lambda: s1.mma(desc=desc))
        k.release()
        v.wait()
        second = v.describe()
        for p in (p0, p1):
            p.wait()
            p.read()
            give(o, lambda: o.mma(desc=second))
            p.release()
        v.release()

    def head():
        q.wait()
        q.read()

    per_tile(queue, body, head, q.release)


def softmax(queue, s, p, row):
    def body():
        s.wait()
        s.read()
        give(p, p.fill)
        s.release()
        give(row, row.fill)

    per_tile(queue, body)


@schedule
def softmax_0(queue, s, p, row):
    softmax(queue, s, p, row)


@schedule
def softmax_1(queue, s, p, row):
    softmax(queue, s, p, row)


@schedule
def correct(queue, row0, row1, o, staging):
    def body():
        for row in (row0, row1):
            take(row, row.read)
            take(o, o.read)

    per_tile(queue, body, tail=lambda: give(staging, staging.fill))


@schedule
def store(queue, staging, out):
    per_tile(queue, lambda: None, tail=lambda: take(staging, staging.read, out.store))


def build():
    """The manager."""
    config = PipelineConfig.create_clc_fetch_async_pipeline_cfg(
        2, 16, group(1), group(32 * WARPS), (1, 1, 1, 1)
    )
    scheduler = TileSchedulerConfig.create_clc_dynamic_persistent_tile_scheduler_params(None, None)
    queue = WorkQueue(scheduler, name="queue", pipeline_config=config)
    source, out = Coords(name="source"), Out(name="out")
    q = Smem(name="q", size=32768, pipeline_config=tma_umma(1, nbytes=32768))
    k, v = (Smem(name=n, size=16384, pipeline_config=tma_umma(2)) for n in "kv")
    s0, s1 = (Tmem(name=f"s{i}", columns=64, pipeline_config=umma_async(1, 4)) for i in (0, 1))
    o = Tmem(name="o", columns=64, pipeline_config=umma_async(2, 4))
    to_mma = PipelineConfig.create_async_umma_pipeline_cfg(1, group(128), group(1), None)
    p0, p1 = (Smem(name=f"p{i}", size=4096, pipeline_config=to_mma) for i in (0, 1))
    row0, row1 = (Smem(name=f"row{i}", size=512, pipeline_config=async_async(1, 4, 4)) for i in (0, 1))
    staging = Smem(name="staging", size=8192, pipeline_config=async_async(2, 4, 1))
    tmem = TmemAllocator()
    for accumulator in (s0, s1, o):
        tmem.add_resource(accumulator)
    tmem.compute_layout()
    return managed(
        [
            role("softmax_0", 0, 4, [queue, s0], [p0, row0], softmax_0(queue, s0, p0, row0)),
            role("softmax_1", 4, 4, [queue, s1], [p1, row1], softmax_1(queue, s1, p1, row1)),
            role("correct", 8, 4, [queue, row0, row1, o], [staging], correct(queue, row0, row1, o, staging)),
            role("load", 12, 1, [queue, source], [q, k, v], load(queue, source, q, k, v)),
            role("mma", 13, 1, [queue, q, k, v, p0, p1], [s0, s1, o], mma(queue, q, k, v, p0, p1, s0, s1, o)),
            role("store", 14, 1, [queue, staging], [out], store(queue, staging, out)),
            role("fetch", 15, 1, [queue], [queue], fetch(queue)),
        ],
        {
            q: [source, queue],
            k: [source],
            v: [source],
            s0: [k, q],
            s1: [k],
            p0: [s0],
            p1: [s1],
            row0: [s0],
            row1: [s1],
            o: [v, p0, p1],
            staging: [o, row0, row1],
            out: [staging],
            queue: [queue],
        },
        tmem_allocator=tmem,
    )


if __name__ == "__main__":
    build()
