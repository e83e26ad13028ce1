"""C = A B^T for Blackwell: a persistent GEMM of CTA pairs, whose tiles the hardware hands out as it goes.

Two CTAs of a cluster make one 256 x 256 tile: each brings half of A's rows and half of B's, the leader issues MMAs that read
the shared memory of both, and each accumulates its 128 rows in its own tensor memory. Two accumulators let the epilogue of a
tile run while the next one is multiplied. A scheduler warp asks cluster launch control for the next tile: it takes over a
cluster that has not been launched yet, until none is left. Nothing has run this on a Blackwell GPU yet: it is proved,
emulated and compiled.
"""

from warpdraft.assets.examples.blackwell_gemm import SubtileC
from warpdraft.assets.examples.persistent_gemm import TileCoordinates, k_tiles
from warpdraft.core import (
    AsyncGroup,
    GmemTensor,
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
    fence_proxy_async,
    producer_work,
    schedule,
    symbol,
    tcgen05_fence_after,
    tcgen05_fence_before,
    tcgen05_wait_ld,
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
PAIR = (2, 1, 1, 1)  # the cluster along V, M, N, K
LEADER = SignalingThreads.CtaLeader

tiles = symbol("tiles", min=1)  # a cluster that is launched has one


# -- what the tasks hand on ---------------------------------------------------------------------------------------------


class SmemAB(MemoryResource):
    """The ring: each stage holds this CTA's half of a tile of A and of a tile of B."""

    @producer_work(
        engine="tma",
        body="sm90.tma_load",
        tensor="a",
        part="a",
        tile=(ROWS, TILE_K),
        coords=("coord_m", "coord_k"),
    )
    def load_a(self, stage_info, coord_m, coord_k): ...

    @producer_work(
        engine="tma",
        body="sm90.tma_load",
        tensor="b",
        part="b",
        tile=(ROWS, TILE_K),
        coords=("coord_n", "coord_k"),
        split="pair",
    )
    def load_b(self, stage_info, coord_n, coord_k): ...

    @consumer_work(view=True, returns="tiles")
    def tiles(self, stage_info): ...


class Accumulator(MemoryResource):
    """This CTA's rows of the tile of C, twice."""

    @producer_work(
        engine="tcgen05",
        body="sm100.tcgen05_mma",
        a="a",
        b="b",
        tile=(ROWS, TILE_N, TILE_K),
        overwrite="first_iter",
        cta_group=2,
    )
    def mma(self, stage_info, tiles): ...

    @consumer_work(engine="tcgen05_ld", body="sm100.tmem_load", subtiles=SUBTILES, returns="fragment")
    def load(self, stage_info, subtile): ...


class GmemC(MemoryResource):
    """C in global memory."""

    @producer_work(
        engine="bulk_store",
        body="sm90.bulk_store",
        tensor="c",
        tile=(ROWS, TILE_N // SUBTILES),
        coords=("coord_m", "coord_n"),
    )
    def bulk_store(self, stage_info, staged, coord_m, coord_n, subtile): ...


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
        acc.acquire()
        tcgen05_fence_after()
        with domain_loop(0, k_tiles):
            smem_ab.wait()
            acc.mma(tiles=smem_ab.tiles())
            smem_ab.release()
        acc.commit()
        advance(queue)
    cluster_sync()


@schedule
def epilogue(coords, queue, acc, smem_c, gmem_c, after, stores, together):
    with elect_warp(0):
        tmem_alloc(acc, cta_group=2)
        tmem_relinquish(cta_group=2)
    cluster_sync()
    with work_tile_loop(queue):
        acc.wait()
        tcgen05_fence_after()
        coord_m, coord_n, _ = coords.coords()
        for subtile in range(SUBTILES):
            fragment = acc.load(subtile=subtile)
            tcgen05_wait_ld()
            if subtile == SUBTILES - 1:
                tcgen05_fence_before()
                acc.release()  # all of it is in registers: the next tile but one may be multiplied
            smem_c.store(fragment=fragment, subtile=subtile, stage=subtile % 2)
            fence_proxy_async()
            together.sync()
            with elect_warp(0):
                staged = smem_c.staged(stage=subtile % 2)
                gmem_c.bulk_store(staged=staged, coord_m=coord_m, coord_n=coord_n, subtile=subtile)
                stores.commit()
                stores.wait_read(1)
            together.sync()
        advance(queue)
    after.launch_griddep()  # the next grid may be launched: what it needs of this one it waits for
    with elect_warp(0):
        stores.wait_read(0)
    cluster_sync()
    with elect_warp(0):
        tmem_dealloc(acc, cta_group=2)


# -- the kernel ---------------------------------------------------------------------------------------------------------


def kernel():
    """What is computed, and for which sizes it is run by default."""
    M, N, K = symbol("M"), symbol("N"), symbol("K")
    all_tiles = ceil_div(M, TILE_M) * ceil_div(N, TILE_N)  # of pairs
    return Kernel(
        "gemm",
        tensors=[
            GmemTensor("a", (M, K), "dtype", order=(0, 1)),
            GmemTensor("b", (N, K), "dtype", order=(0, 1)),
            GmemTensor("c", (M, N), "dtype", order=(0, 1), role="out"),
        ],
        parameters={"dtype": "fp16", "tile": (ROWS, TILE_N, TILE_K)},  # of a CTA
        symbols={"k_tiles": ceil_div(K, TILE_K), "tiles": all_tiles},
        grid=all_tiles * 2,
        reference="gemm",
        sizes={"M": 8192, "N": 8192, "K": 8192},
        small_sizes={"M": 512, "N": 768, "K": 320},
    )


def work_queue(readers):
    """The queue of tiles: one request in flight, whose answer every reading warp gives back."""
    scheduler = TileSchedulerConfig.create_clc_dynamic_persistent_tile_scheduler_params()
    config = create_clc_fetch_async_pipeline_cfg(
        num_stages=1, producer_group=1, consumer_group=readers, cta_layout_vmnk=PAIR, num_bytes=16
    )
    return WorkQueue(scheduler, name="queue", pipeline_config=config, tiles=tiles, band=8)


def build(stages=STAGES, accumulators=ACCUMULATORS):
    """The schedule."""
    coords = TileCoordinates(name="coords")
    queue = work_queue(2 * 32 * 7)  # the threads of both CTAs that read a response
    smem_ab = SmemAB(
        name="smem_ab",
        pipeline_config=create_tma_umma_pipeline_cfg(
            stages, cta_layout_vmnk=PAIR, consumer_signaling_threads=LEADER
        ),
        smem=[
            SmemAllocation("a", size_bytes=ROWS * TILE_K * BYTES, alignment=1024),
            SmemAllocation("b", size_bytes=ROWS * TILE_K * BYTES, alignment=1024),
        ],
    )
    acc = Accumulator(
        name="acc",
        pipeline_config=create_umma_async_pipeline_cfg(
            accumulators,
            cta_layout_vmnk=PAIR,
            producer_signaling_threads=LEADER,
            consumer_signaling_threads=Signal.WARP,
        ),
        tmem=[TmemAllocation("acc", TILE_N)],
    )
    subtile = SmemAllocation("c", size_bytes=ROWS * TILE_N // SUBTILES * BYTES, alignment=1024)
    smem_c = SubtileC(name="smem_c", smem=[subtile], stages=2)
    gmem_c = GmemC(name="gmem_c")
    before, after = PdlWaitBarrier(name="before"), PdlLaunchBarrier(name="after")
    stores = AsyncGroup("bulk_store")
    together = NamedBarrier(1, 128)  # the epilogue's

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
            src_resources=[coords, queue, acc, smem_c],
            dst_resources=[smem_c, gmem_c, after],
            warp_idx=4,
            num_warps=4,
            schedule=epilogue(coords, queue, acc, smem_c, gmem_c, after, stores, together),
        ),
    ]
    return TaskManager(
        tasks=tasks,
        resource_dependency_graph={
            smem_ab: [coords, queue, before],
            acc: [smem_ab, queue],
            smem_c: [acc],
            gmem_c: [smem_c, coords, queue],
            after: [smem_c],
        },
        kernel=kernel(),
        name="blackwell_pair_gemm",
        target="sm_100a",
        cluster=(2, 1, 1),
    )


if __name__ == "__main__":
    build().print_and_verify()
