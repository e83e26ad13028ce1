"""C = A B^T for Blackwell: a persistent GEMM of CTA pairs, whose tiles the hardware hands out as it goes.

Two CTAs of a cluster make one 256 x 256 tile: each brings half of A's rows and half of B's, the leader issues MMAs that read
the shared memory of both, and each accumulates its 128 rows in its own tensor memory. Two accumulators let the epilogue of a
tile run while the next one is multiplied. A scheduler warp asks cluster launch control for the next tile: it takes over a
cluster that has not been launched yet, until none is left. `build(across=2)` has clusters of two pairs side by side, which
bring A's rows to each other. Nothing has run this on a Blackwell GPU yet: it is proved, emulated and compiled.
"""

from warpdraft.assets.examples.blackwell.resources import (
    cleared,
    copied,
    drained,
    matrix,
    output,
    product,
    staging,
)
from warpdraft.assets.examples.blackwell.schedules import drain, k_tiles, multiply
from warpdraft.assets.examples.persistent_gemm import TileCoordinates
from warpdraft.core import (
    AsyncGroup,
    Kernel,
    MemoryResource,
    NamedBarrier,
    PdlLaunchBarrier,
    PdlWaitBarrier,
    Signal,
    SignalingThreads,
    SmemAllocation,
    Task,
    TaskManager,
    TileSchedulerConfig,
    TmemAllocation,
    WorkQueue,
    ceil_div,
    cluster_sync,
    consumer_work,
    create_clc_fetch_async_pipeline_cfg,
    create_tma_umma_pipeline_cfg,
    create_umma_async_pipeline_cfg,
    domain_loop,
    elect_warp,
    schedule,
    symbol,
    tmem_alloc,
    tmem_dealloc,
    tmem_relinquish,
    work_tile_loop,
)

TILE_M, TILE_N, TILE_K = 256, 256, 64  # of the pair
ROWS = 128  # of A, of B and of C, for each CTA
SUBTILES = 2  # a CTA's rows of C are stored in two subtiles of 128 x 128
STAGES, ACCUMULATORS = 4, 2
BYTES = 2  # of an element
LEADER = SignalingThreads.CtaLeader

tiles = symbol("tiles", min=1)  # a cluster that is launched has one


# -- what the tasks hand on ---------------------------------------------------------------------------------------------


def ring(stages, layout):
    """The ring: each stage holds this CTA's half of a tile of A and of a tile of B."""
    across = layout[2]

    class SmemAB(MemoryResource):
        """Pairs that work on the same rows of A each bring a part of them to all."""

        @copied("a", (ROWS, TILE_K), "coord_m", multicast="m" if across > 1 else None)
        def load_a(self, stage_info, coord_m, coord_k): ...

        @copied("b", (ROWS, TILE_K), "coord_n", split="pair")
        def load_b(self, stage_info, coord_n, coord_k): ...

        @consumer_work(view=True, returns="tiles")
        def tiles(self, stage_info): ...

    config = create_tma_umma_pipeline_cfg(
        stages,
        cta_layout_vmnk=layout,
        mcast_mode_mn=(int(across > 1), 0),
        consumer_signaling_threads=LEADER,
    )
    parts = [SmemAllocation(name, size_bytes=ROWS * TILE_K * BYTES, alignment=1024) for name in "ab"]
    return SmemAB(name="smem_ab", pipeline_config=config, smem=parts)


class Accumulator(drained(SUBTILES)):
    """This CTA's rows of the tile of C, twice."""

    @product((ROWS, TILE_N, TILE_K), cta_group=2)
    def mma(self, stage_info, tiles): ...


# -- what each task does ------------------------------------------------------------------------------------------------


def advance(queue):
    """Read the response: the next tile, or that there is none."""
    queue.wait()
    queue.get_and_advance_work_tile()
    queue.release()


@schedule
def fetch(queue):
    cluster_sync()
    with work_tile_loop(queue):
        queue.acquire()
        queue.fetch_work_tile()  # the leader asks, both CTAs get the answer
        queue.commit()
        advance(queue)
    cluster_sync()  # no CTA leaves while the other may still reach into it


@schedule
def load(coords, queue, smem_ab, before):
    cluster_sync()
    before.wait_griddep()  # the grid before this one may still write A and B
    with work_tile_loop(queue):
        with domain_loop(0, k_tiles):
            coord_m, coord_n, coord_k = coords.coords()
            smem_ab.acquire()
            smem_ab.load_a(coord_m=coord_m, coord_k=coord_k)
            smem_ab.load_b(coord_n=coord_n, coord_k=coord_k)
            smem_ab.commit()
        advance(queue)
    cluster_sync()


@schedule
def mma(queue, smem_ab, acc):
    cluster_sync()  # both CTAs have allocated
    with work_tile_loop(queue):
        multiply(smem_ab, acc, acc.mma)
        advance(queue)
    cluster_sync()


@schedule
def epilogue(coords, queue, acc, cleared, smem_c, gmem_c, before, after, stores, together, accumulators):
    with elect_warp(0):
        tmem_alloc(acc, cta_group=2)
        tmem_relinquish(cta_group=2)
    cluster_sync()
    before.wait_griddep()  # it may still write C, and a sum without terms waits for no operand
    with work_tile_loop(queue) as tile:
        stage = tile % accumulators
        drain(coords, acc, cleared, smem_c, gmem_c, stores, together, SUBTILES, stage)
        advance(queue)
    after.launch_griddep()  # the next grid may be launched: what it needs of this one it waits for
    with elect_warp(0):
        stores.wait_read(0)
    cluster_sync()
    with elect_warp(0):
        tmem_dealloc(acc, cta_group=2)


# -- the kernel ---------------------------------------------------------------------------------------------------------


def kernel(across):
    """What is computed, and for which sizes it is run by default."""
    M, N, K = symbol("M"), symbol("N"), symbol("K")
    all_tiles = ceil_div(M, TILE_M) * ceil_div(N, TILE_N * across)  # of clusters
    return Kernel(
        "gemm",
        tensors=[matrix("a", M, K), matrix("b", N, K), matrix("c", M, N, role="out")],
        parameters={"dtype": "fp16", "tile": (ROWS, TILE_N, TILE_K)},  # of a CTA
        symbols={"k_tiles": ceil_div(K, TILE_K), "tiles": all_tiles},
        grid=all_tiles * (2 * across),
        reference="gemm",
        sizes={"M": 8192, "N": 8192, "K": 8192},
        small_sizes={"M": 512, "N": 768 * across, "K": 320},
    )


def work_queue(layout):
    """The queue of tiles: one request in flight, whose answer every thread that reads one gives back."""
    scheduler = TileSchedulerConfig.create_clc_dynamic_persistent_tile_scheduler_params()
    readers = 2 * layout[2] * 32 * 7  # of all CTAs
    config = create_clc_fetch_async_pipeline_cfg(
        num_stages=1, producer_group=1, consumer_group=readers, cta_layout_vmnk=layout, num_bytes=16
    )
    return WorkQueue(scheduler, name="queue", pipeline_config=config, tiles=tiles, band=8)


def build(stages=STAGES, accumulators=ACCUMULATORS, across=1):
    """The schedule, of clusters with ``across`` pairs side by side."""
    layout = (2, 1, across, 1)  # of the cluster along V, M, N, K
    coords, queue, smem_ab = TileCoordinates(name="coords"), work_queue(layout), ring(stages, layout)
    acc = Accumulator(
        name="acc",
        pipeline_config=create_umma_async_pipeline_cfg(
            accumulators,
            cta_layout_vmnk=layout,
            producer_signaling_threads=LEADER,
            consumer_signaling_threads=Signal.WARP,
        ),
        tmem=[TmemAllocation("acc", TILE_N)],
    )
    empty = cleared(TILE_N, accumulators)
    smem_c, gmem_c = staging(ROWS, TILE_N // SUBTILES), output(ROWS, TILE_N // SUBTILES)
    before, after = PdlWaitBarrier(name="before"), PdlLaunchBarrier(name="after")
    stores = AsyncGroup("bulk_store")
    together = NamedBarrier(1, 128)  # the epilogue's
    drains = epilogue(
        coords, queue, acc, empty, smem_c, gmem_c, before, after, stores, together, accumulators
    )

    tasks = [
        Task(
            name="load",
            src_resources=[coords, queue, before],
            dst_resources=[smem_ab],
            warp_idx=0,
            num_warps=1,
            schedule=load(coords, queue, smem_ab, before),
        ),
        Task(
            name="mma",
            src_resources=[queue, smem_ab],
            dst_resources=[acc],
            warp_idx=1,
            num_warps=1,
            schedule=mma(queue, smem_ab, acc),
        ),
        Task(
            name="fetch",
            src_resources=[queue],
            dst_resources=[queue],
            warp_idx=2,
            num_warps=1,
            schedule=fetch(queue),
        ),
        Task(
            name="epilogue",
            src_resources=[coords, queue, acc, smem_c, before],
            dst_resources=[empty, smem_c, gmem_c, after],
            warp_idx=4,
            num_warps=4,
            schedule=drains,
        ),
    ]
    return TaskManager(
        tasks=tasks,
        resource_dependency_graph={
            smem_ab: [coords, queue, before],
            acc: [smem_ab, queue],
            empty: [acc],
            smem_c: [acc],
            gmem_c: [smem_c, coords, queue, before],
            after: [smem_c],
        },
        kernel=kernel(across),
        name="blackwell_pair_gemm" if across == 1 else "blackwell_pairs_gemm",
        target="sm_100a",
        cluster=(2, across, 1),
    )


if __name__ == "__main__":
    build().print_and_verify()
