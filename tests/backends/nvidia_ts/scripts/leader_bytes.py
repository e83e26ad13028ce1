"""A cluster of two CTAs: copies of both complete on the leader's barrier, which one warp of the loading task arms for all
their bytes."""

from cutlass.experimental.task_scheduling import domain_loop, schedule
from cutlass.experimental.task_scheduling.memory import TmemAllocator
from parts import BYTES, CTA, WARP, Coords, Out, Smem, Tmem, managed, role, tma_umma, umma_async

PAIR = (2, 1, 1, 1)


@schedule
def load_schedule(source, ab):
    with domain_loop(0, 5):
        coord = source.coords()
        ab.acquire()
        ab.load(coord=coord)
        ab.commit()


@schedule
def mma_schedule(ab, acc):
    acc.acquire()
    with domain_loop(0, 5):
        ab.wait()
        desc = ab.describe()
        acc.mma(desc=desc)
        ab.release()
    acc.commit()


@schedule
def store_schedule(acc, out):
    with domain_loop(0, 0):
        pass
    acc.wait()
    acc.read()
    acc.release()
    out.store()


def build():
    """The manager."""
    source, out = Coords(name="source"), Out(name="out")
    loads = tma_umma(
        3,
        nbytes=4 * BYTES,
        layout=PAIR,
        producer_signaling_threads=WARP,
        consumer_signaling_threads=CTA,
        num_bytes_per_warp_per_cta=BYTES,
    )
    ab = Smem(name="ab", size=2 * BYTES, pipeline_config=loads)
    acc = Tmem(name="acc", pipeline_config=umma_async(1, 8, layout=PAIR, producer_signaling_threads=CTA))
    tmem = TmemAllocator()
    tmem.add_resource(acc)
    tmem.compute_layout()
    return managed(
        [
            role("load", 4, 2, [source], [ab], load_schedule(source, ab)),
            role("mma", 6, 1, [ab], [acc], mma_schedule(ab, acc)),
            role("store", 0, 4, [acc], [out], store_schedule(acc, out)),
        ],
        {ab: [source], acc: [ab], out: [acc]},
        tmem_allocator=tmem,
    )


if __name__ == "__main__":
    build()
