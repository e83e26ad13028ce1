"""C = (scaled A) (scaled B)^T for Blackwell: fp8 operands whose blocks of 32 along K share a scale factor (MX formats).

A persistent GEMM with two accumulators, as in `blackwell_pair_gemm` but of single CTAs with a static queue. The factors of a
stage come with it into shared memory, and the MMA warp copies them on into tensor memory, each time over the last ones: the
tensor core does copies and products of one thread in their order. Nothing has run this on a Blackwell GPU yet: it is proved,
emulated and compiled.
"""

from warpdraft.assets.examples.blackwell_gemm import SubtileC
from warpdraft.assets.examples.persistent_gemm import TileCoordinates, k_tiles, tiles
from warpdraft.core import (
    AsyncGroup,
    GmemTensor,
    Kernel,
    MemoryResource,
    NamedBarrier,
    PipelineConfig,
    PipelineType,
    Signal,
    SmemAllocation,
    Storage,
    Task,
    TaskManager,
    TmemAllocation,
    WorkQueue,
    ceil_div,
    consumer_work,
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

TILE_M, TILE_N, TILE_K = 128, 128, 128
BLOCKS = TILE_K // 32  # of a row in a tile, each with a factor
SUBTILES = 2  # the tile of C is stored in two subtiles of 128 x 64
STAGES, ACCUMULATORS = 4, 2
FACTORS = (TILE_M // 4, 4 * BLOCKS)  # of a tile, as they lie: 32 rows of 16 bytes
COLUMNS = 512  # all of tensor memory: a power of two


# -- what the tasks hand on ---------------------------------------------------------------------------------------------


def copied(tensor, tile, rows):
    """A copy of a tile of ``tensor`` into the part of the same name."""
    return producer_work(
        engine="tma", body="sm90.tma_load", tensor=tensor, part=tensor, tile=tile, coords=(rows, "coord_k")
    )


class SmemAB(MemoryResource):
    """The ring: each stage holds a tile of A, one of B, and their factors."""

    @copied("a", (TILE_M, TILE_K), "coord_m")
    def load_a(self, stage_info, coord_m, coord_k): ...

    @copied("b", (TILE_N, TILE_K), "coord_n")
    def load_b(self, stage_info, coord_n, coord_k): ...

    @copied("sfa", FACTORS, "coord_m")
    def load_sfa(self, stage_info, coord_m, coord_k): ...

    @copied("sfb", FACTORS, "coord_n")
    def load_sfb(self, stage_info, coord_n, coord_k): ...

    @consumer_work(view=True, returns="tiles")
    def tiles(self, stage_info): ...


class FactorsA(MemoryResource):
    """The factors of A's tile in tensor memory."""

    @producer_work(engine="tcgen05_cp", body="sm100.tcgen05_cp", source="sfa")
    def copy(self, stage_info, tiles): ...

    @consumer_work(view=True, returns="factors")
    def factors(self, stage_info): ...


class FactorsB(MemoryResource):
    """The factors of B's tile in tensor memory."""

    @producer_work(engine="tcgen05_cp", body="sm100.tcgen05_cp", source="sfb")
    def copy(self, stage_info, tiles): ...

    @consumer_work(view=True, returns="factors")
    def factors(self, stage_info): ...


class Accumulator(MemoryResource):
    """The tile of C in tensor memory, twice."""

    @producer_work(
        engine="tcgen05",
        body="sm100.tcgen05_mma_scaled",
        a="a",
        b="b",
        sfa="sfa",
        sfb="sfb",
        tile=(TILE_M, TILE_N, TILE_K),
        overwrite="first_iter",
    )
    def mma(self, stage_info, tiles, sfa, sfb): ...

    @consumer_work(engine="tcgen05_ld", body="sm100.tmem_load", subtiles=SUBTILES, returns="fragment")
    def load(self, stage_info, subtile): ...


class GmemC(MemoryResource):
    """C in global memory."""

    @producer_work(
        engine="bulk_store",
        body="sm90.bulk_store",
        tensor="c",
        tile=(TILE_M, TILE_N // SUBTILES),
        coords=("coord_m", "coord_n"),
    )
    def bulk_store(self, stage_info, staged, coord_m, coord_n, subtile): ...


# -- what each task does ------------------------------------------------------------------------------------------------


@schedule
def load(coords, queue, smem_ab):
    with work_tile_loop(queue):
        with domain_loop(0, k_tiles):
            coord_m, coord_n, coord_k = coords.coords()
            smem_ab.acquire()
            smem_ab.load_a(coord_m=coord_m, coord_k=coord_k)
            smem_ab.load_b(coord_n=coord_n, coord_k=coord_k)
            smem_ab.load_sfa(coord_m=coord_m, coord_k=coord_k)
            smem_ab.load_sfb(coord_n=coord_n, coord_k=coord_k)
            smem_ab.commit()
        queue.get_and_advance_work_tile()


@schedule
def mma(queue, smem_ab, sfa, sfb, acc, allocated):
    allocated.sync()
    tcgen05_fence_after()
    with work_tile_loop(queue):
        acc.acquire()
        tcgen05_fence_after()
        with domain_loop(0, k_tiles):
            smem_ab.wait()
            tiles = smem_ab.tiles()
            sfa.copy(tiles=tiles)
            sfb.copy(tiles=tiles)
            acc.mma(tiles=tiles, sfa=sfa.factors(), sfb=sfb.factors())
            smem_ab.release()  # a commit, of the copies and the products so far
        acc.commit()
        queue.get_and_advance_work_tile()


@schedule
def epilogue(coords, queue, acc, smem_c, gmem_c, allocated, stores, together):
    with elect_warp(0):
        tmem_alloc(columns=COLUMNS)
        tmem_relinquish()
    allocated.sync()
    with work_tile_loop(queue):
        acc.wait()
        tcgen05_fence_after()
        coord_m, coord_n, _ = coords.coords()
        for subtile in range(SUBTILES):
            fragment = acc.load(subtile=subtile)
            tcgen05_wait_ld()
            if subtile == SUBTILES - 1:
                tcgen05_fence_before()
                acc.release()
            smem_c.store(fragment=fragment, subtile=subtile, stage=subtile % 2)
            fence_proxy_async()
            together.sync()
            with elect_warp(0):
                staged = smem_c.staged(stage=subtile % 2)
                gmem_c.bulk_store(staged=staged, coord_m=coord_m, coord_n=coord_n, subtile=subtile)
                stores.commit()
                stores.wait_read(1)
            together.sync()
        queue.get_and_advance_work_tile()
    with elect_warp(0):
        stores.wait_read(0)
        tmem_dealloc(columns=COLUMNS)  # every MMA is done: its accumulator has been loaded


# -- the kernel ---------------------------------------------------------------------------------------------------------


def kernel():
    """What is computed, and for which sizes it is run by default. Row 32 t + r of the factors is for rows 128 t + r, ...
    + 96 of the operand: see `backends.cutedsl.references`."""
    M, N, K = symbol("M"), symbol("N"), symbol("K")
    down, across, deep = ceil_div(M, TILE_M), ceil_div(N, TILE_N), ceil_div(K, TILE_K)
    return Kernel(
        "scaled_gemm",
        tensors=[
            GmemTensor("a", (M, K), "ab", order=(0, 1)),
            GmemTensor("b", (N, K), "ab", order=(0, 1)),
            GmemTensor("sfa", (down * FACTORS[0], deep * FACTORS[1]), "factors", order=(0, 1)),
            GmemTensor("sfb", (across * FACTORS[0], deep * FACTORS[1]), "factors", order=(0, 1)),
            GmemTensor("c", (M, N), "dtype", order=(0, 1), role="out"),
        ],
        parameters={"dtype": "fp16", "ab": "e4m3", "factors": "ue8m0", "tile": (TILE_M, TILE_N, TILE_K)},
        symbols={"k_tiles": deep, "tiles": ceil_div(down * across, symbol("grid"))},
        grid=down * across,
        reference="scaled_gemm",
        sizes={"M": 4096, "N": 4096, "K": 4096},
        small_sizes={"M": 256, "N": 384, "K": 640},
    )


def build(stages=STAGES, accumulators=ACCUMULATORS):
    """The schedule."""
    coords = TileCoordinates(name="coords")
    queue = WorkQueue(name="queue", tiles=tiles, band=8)
    factors = FACTORS[0] * FACTORS[1]
    smem_ab = SmemAB(
        name="smem_ab",
        pipeline_config=PipelineConfig(stages, pipeline_type=PipelineType.TmaUmma),
        smem=[
            SmemAllocation("a", size_bytes=TILE_M * TILE_K, alignment=1024),
            SmemAllocation("b", size_bytes=TILE_N * TILE_K, alignment=1024),
            SmemAllocation("sfa", size_bytes=factors, alignment=128),
            SmemAllocation("sfb", size_bytes=factors, alignment=128),
        ],
    )
    acc = Accumulator(
        name="acc",
        pipeline_config=PipelineConfig(
            accumulators, pipeline_type=PipelineType.UmmaAsync, consumer_signaling_threads=Signal.WARP
        ),
        tmem=[TmemAllocation("acc", TILE_N)],
    )
    behind = accumulators * TILE_N  # columns
    sfa = FactorsA(name="sfa", space="tmem", storage=Storage(BLOCKS, offset=behind))
    sfb = FactorsB(name="sfb", space="tmem", storage=Storage(BLOCKS, offset=behind + BLOCKS))
    subtile = SmemAllocation("c", size_bytes=TILE_M * TILE_N // SUBTILES * 2, alignment=1024)
    smem_c = SubtileC(name="smem_c", smem=[subtile], stages=2)
    gmem_c = GmemC(name="gmem_c")
    stores = AsyncGroup("bulk_store")
    allocated = NamedBarrier(1, 160)  # the MMA warp and the epilogue's four
    together = NamedBarrier(2, 128)  # the epilogue's

    tasks = [
        Task(
            name="load",
            src_resources=[coords, queue],
            dst_resources=[smem_ab],
            warp_idx=0,
            num_warps=1,
            schedule=load(coords, queue, smem_ab),
        ),
        Task(
            name="mma",
            src_resources=[queue, smem_ab, sfa, sfb],
            dst_resources=[acc, sfa, sfb],
            warp_idx=1,
            num_warps=1,
            schedule=mma(queue, smem_ab, sfa, sfb, acc, allocated),
        ),
        Task(
            name="epilogue",
            src_resources=[coords, queue, acc, smem_c],
            dst_resources=[smem_c, gmem_c],
            warp_idx=4,
            num_warps=4,
            schedule=epilogue(coords, queue, acc, smem_c, gmem_c, allocated, stores, together),
        ),
    ]
    return TaskManager(
        tasks=tasks,
        resource_dependency_graph={
            smem_ab: [coords, queue],
            sfa: [smem_ab],
            sfb: [smem_ab],
            acc: [smem_ab, sfa, sfb, queue],
            smem_c: [acc],
            gmem_c: [smem_c, coords, queue],
        },
        kernel=kernel(),
        name="blackwell_scaled_gemm",
        target="sm_100a",
    )


if __name__ == "__main__":
    build().print_and_verify()
