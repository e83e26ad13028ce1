"""What the tasks of Blackwell's GEMMs have in common: how an accumulator is filled, and how it is drained."""

from warpdraft.core import (
    domain_loop,
    elect_warp,
    fence_proxy_async,
    symbol,
    tcgen05_fence_after,
    tcgen05_fence_before,
    tcgen05_wait_ld,
    tcgen05_wait_st,
)

k_tiles = symbol("k_tiles")  # of a tile's sum, which may have no term at all
NO_TERM = 1 // (k_tiles + 1)  # 1 where it has none, else 0


def multiply(smem_ab, acc, products):
    """One tile: MMAs of every stage, as ``products`` issues them for the tiles in it."""
    acc.acquire()
    tcgen05_fence_after()
    with domain_loop(0, k_tiles):
        smem_ab.wait()
        products(smem_ab.tiles())
        smem_ab.release()  # a tcgen05.commit: the stage is empty when all that was issued so far is done
    acc.commit()


def drain(coords, acc, cleared, smem_c, gmem_c, stores, together, subtiles, stage=0):
    """One tile: the accumulator to registers, to shared memory and out, subtile by subtile. ``stage``: the accumulator's."""
    acc.wait()
    tcgen05_fence_after()
    with domain_loop(0, NO_TERM):  # no MMA has written it
        cleared.clear(stage=stage)
        tcgen05_wait_st()
    coord_m, coord_n, _ = coords.coords()
    for subtile in range(subtiles):  # plain Python: unrolled at capture
        fragment = acc.load(subtile=subtile)
        tcgen05_wait_ld()
        if subtile == subtiles - 1:
            tcgen05_fence_before()
            acc.release()  # all of it is in registers
        smem_c.store(fragment=fragment, subtile=subtile, stage=subtile % 2)
        fence_proxy_async()  # by every writer, before the barrier
        together.sync()
        with elect_warp(0):
            staged = smem_c.staged(stage=subtile % 2)
            gmem_c.bulk_store(staged=staged, coord_m=coord_m, coord_n=coord_n, subtile=subtile)
            stores.commit()
            stores.wait_read(1)  # the other stage has been read ...
        together.sync()  # ... and now everybody knows
