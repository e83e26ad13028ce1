"""The persistent GEMM with its release one line too early.

A stage goes back to the copies while the tensor cores may still read it: a race that right results on a test run do not
exclude. The verifier reports WD403.
"""

from warpdraft.assets.examples import persistent_gemm
from warpdraft.assets.examples.persistent_gemm import SUBTILES, k_tiles
from warpdraft.core import domain_loop, elect_warp, fence_proxy_async, schedule, work_tile_loop


@schedule
def math(coords, queue, smem_ab, acc, smem_c, gmem_c, mma_group, store_group, epilogue_barrier):
    with work_tile_loop(queue):
        with domain_loop(0, k_tiles) as k:
            smem_ab.wait()
            acc.mma(tiles=smem_ab.tiles())
            mma_group.commit()
            with k.every(1, start=1):
                smem_ab.release()  # wrong: the multiplication of the step before may still be reading this stage ...
            mma_group.wait(1)  # ... only from here it is known to be done
        mma_group.wait(0)
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
    return persistent_gemm.build(math=math, name="broken_early_release")


if __name__ == "__main__":
    build().print_and_verify()
