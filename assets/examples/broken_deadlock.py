"""The persistent GEMM with a lag as deep as its ring.

The math task keeps four multiplications in flight and so holds four stages before it gives the first one back. The ring
has four. With more than four k tiles, load waits for an empty stage and math for a full one, each for the other: WD301.
With four it works, which is how such a schedule passes its tests.
"""

from warpdraft.assets.examples import persistent_gemm
from warpdraft.assets.examples.persistent_gemm import SUBTILES
from warpdraft.core import domain_loop, elect_warp, fence_proxy_async, schedule, symbol, work_tile_loop

LAG = 4  # wrong: it must be less than the number of stages
k_tiles = symbol("k_tiles", min=LAG)


@schedule
def load(coords, queue, smem_ab):
    with work_tile_loop(queue):
        with domain_loop(0, k_tiles):
            coord_m, coord_n, coord_k = coords.coords()
            smem_ab.acquire()
            smem_ab.load_a(coord_m=coord_m, coord_k=coord_k)
            smem_ab.load_b(coord_n=coord_n, coord_k=coord_k)
            smem_ab.commit()
        queue.get_and_advance_work_tile()


@schedule
def math(coords, queue, smem_ab, acc, smem_c, gmem_c, mma_group, store_group, epilogue_barrier):
    with work_tile_loop(queue):
        with domain_loop(0, k_tiles) as k:
            smem_ab.wait()
            acc.mma(tiles=smem_ab.tiles())
            mma_group.commit()
            mma_group.wait(LAG)
            with k.every(1, start=LAG):
                smem_ab.release()
        mma_group.wait(0)
        for _ in range(LAG):
            smem_ab.release()

        coord_m, coord_n, _ = coords.coords()
        for subtile in range(SUBTILES):
            fragment = acc.read(subtile=subtile)
            smem_c.store(fragment=fragment, subtile=subtile, stage=subtile % 2)
            fence_proxy_async()
            epilogue_barrier.sync()
            with elect_warp(0):
                staged = smem_c.staged(stage=subtile % 2)
                gmem_c.bulk_store(staged=staged, coord_m=coord_m, coord_n=coord_n, subtile=subtile)
                store_group.commit()
                store_group.wait_read(1)
            epilogue_barrier.sync()
        queue.get_and_advance_work_tile()
    with elect_warp(0):
        store_group.wait_read(0)


def build():
    """The schedule."""
    return persistent_gemm.build(load=load, math=math, name="broken_deadlock")


if __name__ == "__main__":
    build().print_and_verify()
