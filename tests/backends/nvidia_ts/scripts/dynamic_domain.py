"""Trip counts of each tile: two roles ask one getter, which reads one of their fields and is never below 1."""

import sys

import cutlass
from cutlass.experimental.task_scheduling import domain_loop, schedule, work_tile_loop
from cutlass.experimental.task_scheduling.task import Task
from parts import Coords, Out, Smem, managed, next_tile, static_queue, tma_async


class Sized(Task):
    """Its trip count depends on the tile."""

    length = 0

    def get_domain(self, tile_coord):
        return max(cutlass.Int32(self.length), 1)


def sized(length, *args, **more):
    task = Sized(*args, **more)
    task.length = length
    return task


@schedule
def load_schedule(queue, source, tile):
    with work_tile_loop(queue):
        with domain_loop(Sized.get_domain):
            coord = source.coords()
            tile.acquire()
            tile.load(coord=coord)
            tile.commit()
        next_tile(queue)


@schedule
def use_schedule(queue, tile, out):
    with work_tile_loop(queue):
        with domain_loop(Sized.get_domain):
            tile.wait()
            tile.read()
            tile.release()
        out.store()
        next_tile(queue)


def build(*lengths):
    """Both roles with the lengths given."""
    queue, source, out = static_queue(), Coords(name="source"), Out(name="out")
    tile = Smem(name="tile", pipeline_config=tma_async(2, 4))
    load, use = load_schedule(queue, source, tile), use_schedule(queue, tile, out)
    return managed(
        [
            sized(lengths[0], [queue, source], [tile], 0, 1, schedule=load, name="load"),
            sized(lengths[1], [queue, tile], [out], 4, 4, schedule=use, name="use"),
        ],
        {tile: [source, queue], out: [tile]},
    )


if __name__ == "__main__":
    build(*(int(n) for n in sys.argv[1:] or (7, 7)))
