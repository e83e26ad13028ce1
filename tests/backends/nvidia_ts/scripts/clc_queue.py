"""A dynamic scheduler: one warp fetches work tiles, two roles take them; a ring between them."""

from cutlass.experimental.task_scheduling import domain_loop, schedule, work_tile_loop
from cutlass.experimental.task_scheduling.resources import PipelineConfig, TileSchedulerConfig, WorkQueue
from parts import Coords, Out, Smem, group, managed, next_tile, role, tma_async


@schedule
def fetch_schedule(queue):
    queue.init_work_tile()
    with work_tile_loop(queue):
        with domain_loop(0, 0):
            pass
        queue.try_acquire()
        queue.acquire()
        queue.fetch_work_tile()
        queue.commit()
        next_tile(queue)


@schedule
def load_schedule(queue, source, tile):
    queue.init_work_tile()
    with work_tile_loop(queue):
        with domain_loop(0, 4):
            coord = source.coords()
            tile.acquire()
            tile.load(coord=coord)
            tile.commit()
        next_tile(queue)


@schedule
def use_schedule(queue, tile, out):
    queue.init_work_tile()
    with work_tile_loop(queue):
        with domain_loop(0, 4):
            tile.wait()
            tile.read()
            tile.release()
        out.store()
        next_tile(queue)


def build():
    """The manager."""
    config = PipelineConfig.create_clc_fetch_async_pipeline_cfg(2, 16, group(1), group(32 * 6), (1, 1, 1, 1))
    scheduler = TileSchedulerConfig.create_clc_dynamic_persistent_tile_scheduler_params(None, None)
    queue = WorkQueue(scheduler, name="queue", pipeline_config=config)
    source, out = Coords(name="source"), Out(name="out")
    tile = Smem(name="tile", pipeline_config=tma_async(2, 4))
    return managed(
        [
            role("fetch", 0, 1, [queue], [queue], fetch_schedule(queue)),
            role("load", 1, 1, [queue, source], [tile], load_schedule(queue, source, tile)),
            role("use", 4, 4, [queue, tile], [out], use_schedule(queue, tile, out)),
        ],
        {tile: [source, queue], out: [tile], queue: [queue]},
    )


if __name__ == "__main__":
    build()
