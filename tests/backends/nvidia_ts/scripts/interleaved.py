"""Lanes that share the stages of one pipeline: two warps of the producer, or two loops that start one apart."""

import sys

from cutlass.experimental.task_scheduling import domain_loop, schedule
from parts import Coords, Out, Smem, async_async, managed, role, tma_async


@schedule
def load_schedule(source, ring):
    with domain_loop(0, 8, 1):
        coord = source.coords()
        ring.acquire()
        ring.load(coord=coord)
        ring.commit()


@schedule
def even_schedule(ring, out):
    with domain_loop(0, 8, 2):
        ring.wait()
        ring.read()
        ring.release()
        out.store()


@schedule
def odd_schedule(ring, out):
    with domain_loop(1, 8, 2):
        ring.wait()
        ring.read()
        ring.release()
        out.store()


@schedule
def fill_schedule(ring):
    with domain_loop(0, 6):
        ring.acquire()
        ring.fill()
        ring.commit()


@schedule
def use_schedule(ring, out):
    with domain_loop(0, 6):
        ring.wait()
        ring.read()
        ring.release()
        out.store()


def domains():
    """Two consumers take turns."""
    source, out, other = Coords(name="source"), Out(name="out"), Out(name="other")
    ring = Smem(
        name="ring", pipeline_config=tma_async(4, 1, interleave_stride=(1, 1, 2, 2), advance_on_wait=True)
    )
    return managed(
        [
            role("load", 0, 1, [source], [ring], load_schedule(source, ring)),
            role("even", 4, 1, [ring], [out], even_schedule(ring, out)),
            role("odd", 5, 1, [ring], [other], odd_schedule(ring, other)),
        ],
        {ring: [source], out: [ring], other: [ring]},
    )


def warps():
    """Each warp of a task has stages of its own."""
    out = Out(name="out")
    ring = Smem(name="ring", pipeline_config=async_async(4, 1, 1, interleave_stride=2))
    return managed(
        [
            role("fill", 0, 2, [], [ring], fill_schedule(ring)),
            role("use", 4, 2, [ring], [out], use_schedule(ring, out)),
        ],
        {out: [ring], ring: []},
    )


if __name__ == "__main__":
    for chosen in sys.argv[1:] or ["domains", "warps"]:
        {"domains": domains, "warps": warps}[chosen]()
