"""A grid between two others: it waits for the one before, in a task or ahead of them all, and lets the next one start."""

import sys

from cutlass.experimental.task_scheduling import domain_loop, schedule
from cutlass.experimental.task_scheduling.resources import PdlLaunchBarrier, PdlWaitBarrier
from parts import Coords, Out, Smem, managed, role, tma_async


@schedule
def load_schedule(before, source, tile):
    before.wait_griddep()
    with domain_loop(0, 4):
        coord = source.coords()
        tile.acquire()
        tile.load(coord=coord)
        tile.commit()


@schedule
def late_schedule(source, tile):
    with domain_loop(0, 4):
        coord = source.coords()
        tile.acquire()
        tile.load(coord=coord)
        tile.commit()


@schedule
def use_schedule(tile, out, after):
    with domain_loop(0, 4):
        tile.wait()
        tile.read()
        tile.release()
    out.store()
    after.launch_griddep()


def build(waits="task"):
    """The manager; ``waits``: who waits for the grid before."""
    before, after = PdlWaitBarrier(name="before"), PdlLaunchBarrier(name="after")
    source, out = Coords(name="source"), Out(name="out")
    tile = Smem(name="tile", pipeline_config=tma_async(2, 4))
    use = role("use", 4, 4, [tile], [out, after], use_schedule(tile, out, after))
    if waits != "task":
        load = role("load", 0, 1, [source], [tile], late_schedule(source, tile))
        ahead = waits == "ahead"
        return managed([load, use], {tile: [source], out: [tile], after: []}, assume_pdl_wait_completed=ahead)
    return managed(
        [
            role("load", 0, 1, [before, source], [tile], load_schedule(before, source, tile)),
            use,
        ],
        {tile: [source, before], out: [tile], after: []},
    )


if __name__ == "__main__":
    build(*sys.argv[1:])
