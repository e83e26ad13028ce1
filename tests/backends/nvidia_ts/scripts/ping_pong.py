"""Two warpgroups take turns: each hands the turn to the other by a resource that it produces and consumes."""

from cutlass.experimental.task_scheduling import domain_loop, schedule
from parts import Coords, Out, Smem, async_async, managed, role, tma_async


@schedule
def math_schedule(ring, mine, yours, out):
    with domain_loop(0, 4):
        ring.wait()
        ring.read()
        ring.release()
        mine.wait()
        out.store()
        mine.release()
        yours.acquire()
        yours.commit()


@schedule
def first_schedule(ring, mine, yours, out):
    with domain_loop(0, 4):
        ring.wait()
        ring.read()
        ring.release()
        yours.acquire()
        out.store()
        yours.commit()
        mine.wait()
        mine.release()


def build():
    """The manager."""
    source, first, second = Coords(name="source"), Out(name="out_a"), Out(name="out_b")
    a, b = (Smem(name=f"ring_{n}", pipeline_config=tma_async(2, 4)) for n in "ab")
    to_a, to_b = (
        Smem(name=f"turn_{n}", size=0, is_barrier=True, pipeline_config=async_async(1, 4, 4)) for n in "ab"
    )
    return managed(
        [
            role("load_a", 0, 1, [source], [a], load_half(source, a)),
            role("load_b", 1, 1, [source], [b], load_half(source, b)),
            role("math_a", 4, 4, [a, to_a], [to_b, first], first_schedule(a, to_a, to_b, first)),
            role("math_b", 8, 4, [b, to_b], [to_a, second], math_schedule(b, to_b, to_a, second)),
        ],
        {a: [source], b: [source], to_b: [a, to_a], to_a: [b, to_b], first: [a], second: [b]},
    )


@schedule
def load_half(source, ring):
    with domain_loop(0, 4):
        coord = source.coords()
        ring.acquire()
        ring.load(coord=coord)
        ring.commit()


if __name__ == "__main__":
    build()
