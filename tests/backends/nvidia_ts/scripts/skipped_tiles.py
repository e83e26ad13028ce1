"""Tiles that are skipped: one predicate in both roles, a static queue, work before and behind the loop."""

from dataclasses import dataclass

import cutlass
from cutlass.experimental.task_scheduling import domain_loop, schedule, work_tile_loop
from cutlass.experimental.task_scheduling.resources import WorkQueue
from parts import Coords, Out, Smem, State, managed, next_tile, role, static_queue, tma_async


@dataclass(kw_only=True, init=False)
class Sparse(WorkQueue):
    """Leaves empty tiles out."""

    def skip_work_tile_if(self, work_tile):
        return cutlass.Boolean(False)


@schedule
def load_schedule(queue, state, source, tile):
    state.decide()
    queue.init_work_tile()
    with work_tile_loop(queue, skip_if=Sparse.skip_work_tile_if) as tiles:
        with tiles.skippable():
            with domain_loop(0, 4):
                coord = source.coords()
                tile.acquire()
                tile.load(coord=coord)
                tile.commit()
        next_tile(queue)


@schedule
def use_schedule(queue, tile, out):
    queue.init_work_tile()
    with work_tile_loop(queue, skip_if=Sparse.skip_work_tile_if) as tiles:
        with tiles.skippable():
            out.store()
            with domain_loop(0, 4):
                tile.wait()
                tile.read()
                tile.release()
            out.store()
        next_tile(queue)


def build():
    """The manager."""
    queue, state = static_queue(cls=Sparse), State(name="state")
    source, out = Coords(name="source"), Out(name="out")
    tile = Smem(name="tile", pipeline_config=tma_async(2, 4))
    return managed(
        [
            role("load", 0, 1, [queue, state, source], [tile], load_schedule(queue, state, source, tile)),
            role("use", 4, 4, [queue, tile], [out], use_schedule(queue, tile, out)),
        ],
        {tile: [source, state, queue], out: [tile]},
    )


if __name__ == "__main__":
    build()
