"""One task waits for two rings and says so by a third; another waits for that one and releases all (case P12)."""

from cutlass.experimental.task_scheduling import domain_loop, schedule
from parts import Coords, Out, Smem, async_async, managed, role, tma_async

COUNT, STAGES = 8, 3


@schedule
def load_schedule(source, a, b):
    with domain_loop(0, COUNT):
        coord = source.coords()
        for ring in (a, b):
            ring.acquire()
            ring.load(coord=coord)
            ring.commit()


@schedule
def look_schedule(a, b, proxy):
    with domain_loop(0, COUNT):
        a.wait()
        b.wait()
        proxy.acquire()
        proxy.fill()
        proxy.commit()


@schedule
def use_schedule(proxy, a, b, out):
    with domain_loop(0, COUNT):
        proxy.wait()
        proxy.read()
        a.read()
        b.read()
        out.store()
        a.release()
        b.release()
        proxy.release()


def build():
    """The manager."""
    source, out = Coords(name="source"), Out(name="out")
    a, b = (Smem(name=name, pipeline_config=tma_async(STAGES, 4)) for name in "ab")
    proxy = Smem(name="proxy", size=0, is_barrier=True, pipeline_config=async_async(STAGES, 1, 4))
    return managed(
        [
            role("load", 0, 1, [source], [a, b], load_schedule(source, a, b)),
            role("look", 1, 1, [a, b], [proxy], look_schedule(a, b, proxy)),
            role("use", 4, 4, [proxy, a, b], [out], use_schedule(proxy, a, b, out)),
        ],
        {a: [source], b: [source], proxy: [a, b], out: [proxy, a, b]},
    )


if __name__ == "__main__":
    build()
