"""Conditions at run time: of a value that a work returns, and by a key that two roles share."""

from cutlass.experimental.task_scheduling import domain_loop, schedule, when_false, when_true
from parts import Coords, Out, Smem, State, managed, role, tma_async


@schedule
def load_schedule(source, tile):
    with domain_loop(0, 4):
        with when_true(None, key="masked"):
            coord = source.coords()
            tile.acquire()
            tile.load(coord=coord)
            tile.commit()


@schedule
def use_schedule(tile, state, out):
    with domain_loop(0, 4):
        flag = state.decide()
        with when_true(None, key="masked"):
            tile.wait()
            tile.read()
            tile.release()
        with when_true(flag):
            out.store()
        with when_false(flag):
            out.store()


def build():
    """The manager."""
    source, state, out = Coords(name="source"), State(name="state"), Out(name="out")
    tile = Smem(name="tile", pipeline_config=tma_async(2, 4))
    return managed(
        [
            role("load", 0, 1, [source], [tile], load_schedule(source, tile)),
            role("use", 4, 4, [tile, state], [out], use_schedule(tile, state, out)),
        ],
        {tile: [source], out: [tile, state]},
    )


if __name__ == "__main__":
    build()
