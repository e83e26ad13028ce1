"""A ring of bulk copies: peeks, guards of iterations, a compile-time argument."""

from dataclasses import dataclass

import cutlass
from cutlass.experimental.task_scheduling import domain_loop, producer_work, schedule
from parts import Coords, Out, Smem, managed, role, tma_async


@dataclass(kw_only=True)
class Scaled(Out):
    """Stores with a factor that is known when the kernel is compiled."""

    @producer_work
    def scaled(self, stage_info, *, factor: cutlass.Constexpr, last: cutlass.Constexpr = False): ...


@schedule
def load_schedule(source, tile):
    with domain_loop(0, 8, 1):
        coord = source.coords()
        tile.try_acquire()
        tile.acquire()
        tile.load(coord=coord)
        tile.commit()


@schedule
def use_schedule(tile, out):
    with domain_loop(0, 8, 1) as k:
        with k.first_iter():
            out.scaled(factor=1)
        tile.try_wait()
        tile.wait()
        tile.read()
        tile.release()
        with k.every(2, start=1):
            out.scaled(factor=2)
        with k.last_iter():
            out.scaled(factor=3, last=True)


def build():
    """The manager."""
    source, out = Coords(name="source"), Scaled(name="out")
    tile = Smem(name="tile", pipeline_config=tma_async(3, 4))
    return managed(
        [
            role("load", 0, 1, [source], [tile], load_schedule(source, tile)),
            role("use", 4, 4, [tile], [out], use_schedule(tile, out), num_registers=232),
        ],
        {tile: [source], out: [tile]},
    )


if __name__ == "__main__":
    build()
