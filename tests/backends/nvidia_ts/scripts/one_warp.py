"""Two tasks on one warp: it does the first, to its end, then the second."""

from cutlass.experimental.task_scheduling import domain_loop, schedule
from parts import Coords, Out, Smem, managed, role, tma_async


@schedule
def load_schedule(source, tile):
    with domain_loop(0, 4):
        coord = source.coords()
        tile.acquire()
        tile.load(coord=coord)
        tile.commit()


@schedule
def use_schedule(tile, out):
    with domain_loop(0, 4):
        tile.wait()
        tile.read()
        tile.release()
        out.store()


def build():
    """The manager."""
    source, out, other = Coords(name="source"), Out(name="out"), Out(name="other")
    a, b = (Smem(name=name, pipeline_config=tma_async(2, 4)) for name in "ab")
    return managed(
        [
            role("load_a", 0, 1, [source], [a], load_schedule(source, a)),
            role("load_b", 0, 1, [source], [b], load_schedule(source, b)),
            role("use_a", 4, 4, [a], [out], use_schedule(a, out)),
            role("use_b", 8, 4, [b], [other], use_schedule(b, other)),
        ],
        {a: [source], b: [source], out: [a], other: [b]},
    )


if __name__ == "__main__":
    build()
