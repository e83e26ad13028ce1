"""C = (scaled A) (scaled B)^T for Blackwell: fp8 operands whose blocks of 32 along K share a scale factor (MX formats).

A persistent GEMM with two accumulators, as in `blackwell_pair_gemm` but of single CTAs with a static queue. The factors of a
stage come with it into shared memory, and the MMA warp copies them on into tensor memory, each time over the last ones: the
tensor core does copies and products of one thread in their order. `build(3, 1, columns=256)` has tiles twice as wide, with
one accumulator. Nothing has run this on a Blackwell GPU yet: it is proved, emulated and compiled.
"""

from itertools import accumulate

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
from warpdraft.assets.examples.persistent_gemm import TileCoordinates, tiles
from warpdraft.core import (
    AsyncGroup,
    Kernel,
    MemoryResource,
    NamedBarrier,
    Part,
    PipelineConfig,
    PipelineType,
    Signal,
    Storage,
    Task,
    TaskManager,
    TmemAllocation,
    WorkQueue,
    ceil_div,
    consumer_work,
    domain_loop,
    elect_warp,
    producer_work,
    schedule,
    symbol,
    tcgen05_fence_after,
    tmem_alloc,
    tmem_dealloc,
    tmem_relinquish,
    work_tile_loop,
)

TILE_M, TILE_K = 128, 128
BLOCKS = TILE_K // 32  # of a row in a tile, each with a factor
WIDE = 64  # the tile of C is stored in subtiles of 128 x 64
STAGES, ACCUMULATORS = 4, 2
COLUMNS = 512  # all of tensor memory: a power of two


def factors_of(rows):
    """The shape of the factors of so many rows of a tile, as they lie: for each 128, 32 rows of 16 bytes."""
    return rows // 4, 4 * BLOCKS


# -- what the tasks hand on ---------------------------------------------------------------------------------------------


def ring(stages, columns):
    """The ring: each stage holds a tile of A, one of B with ``columns`` rows, and their factors."""
    sizes = {
        "a": TILE_M * TILE_K,
        "b": columns * TILE_K,
        "sfb": columns * BLOCKS,
        "sfa": TILE_M * BLOCKS,
    }  # bytes
    places = dict(zip(sizes, accumulate((0, *sizes.values())), strict=False))
    used = sum(sizes.values())

    class SmemAB(MemoryResource):
        """Tiles are swizzled, so that a stage is a multiple of 1024 bytes: its last ones may be of no use."""

        @copied("a", (TILE_M, TILE_K), "coord_m")
        def load_a(self, stage_info, coord_m, coord_k): ...

        @copied("b", (columns, TILE_K), "coord_n")
        def load_b(self, stage_info, coord_n, coord_k): ...

        @copied("sfa", factors_of(TILE_M), "coord_m")
        def load_sfa(self, stage_info, coord_m, coord_k): ...

        @copied("sfb", factors_of(columns), "coord_n")
        def load_sfb(self, stage_info, coord_n, coord_k): ...

        @consumer_work(view=True, returns="tiles", footprint=(0, used))
        def tiles(self, stage_info): ...

    parts = tuple(Part(name, places[name], size) for name, size in sizes.items())
    return SmemAB(
        name="smem_ab",
        pipeline_config=PipelineConfig(stages, pipeline_type=PipelineType.TmaUmma),
        space="smem",
        storage=Storage(-(-used // 1024) * 1024, stages, alignment=1024, parts=parts),
    )


def factors(name, rows, offset):
    """The factors of an operand's tile in tensor memory: 4 columns for each 128 rows, from column ``offset`` on."""

    class Factors(MemoryResource):
        """Every copy takes the place of the last one."""

        @producer_work(engine="tcgen05_cp", body="sm100.tcgen05_cp", source=name, rows=rows)
        def copy(self, stage_info, tiles): ...

        @consumer_work(view=True, returns="factors")
        def factors(self, stage_info): ...

    return Factors(name=name, space="tmem", storage=Storage(rows // 32, offset=offset))


def accumulator(stages, columns):
    """The tile of C in tensor memory, in each of the stages."""

    class Accumulator(drained(columns // WIDE)):
        """A lane for each row."""

        @product((TILE_M, columns, TILE_K), "sm100.tcgen05_mma_scaled", sfa="sfa", sfb="sfb")
        def mma(self, stage_info, tiles, sfa, sfb): ...

    config = PipelineConfig(
        stages, pipeline_type=PipelineType.UmmaAsync, consumer_signaling_threads=Signal.WARP
    )
    return Accumulator(name="acc", pipeline_config=config, tmem=[TmemAllocation("acc", columns)])


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
    def products(tiles):
        sfa.copy(tiles=tiles)
        sfb.copy(tiles=tiles)
        acc.mma(tiles=tiles, sfa=sfa.factors(), sfb=sfb.factors())

    allocated.sync()
    tcgen05_fence_after()
    with work_tile_loop(queue):
        multiply(smem_ab, acc, products)
        queue.get_and_advance_work_tile()


@schedule
def epilogue(
    coords, queue, acc, cleared, smem_c, gmem_c, allocated, stores, together, accumulators, subtiles
):
    with elect_warp(0):
        tmem_alloc(columns=COLUMNS)
        tmem_relinquish()
    allocated.sync()
    with work_tile_loop(queue) as tile:
        stage = tile % accumulators
        drain(coords, acc, cleared, smem_c, gmem_c, stores, together, subtiles, stage)
        queue.get_and_advance_work_tile()
    with elect_warp(0):
        stores.wait_read(0)
        tmem_dealloc(columns=COLUMNS)  # every MMA is done: its accumulator has been loaded


# -- the kernel ---------------------------------------------------------------------------------------------------------


def kernel(columns):
    """What is computed, and for which sizes it is run by default. Row 32 t + r of the factors is for rows 128 t + r, ...
    + 96 of the operand: see `backends.cutedsl.references`."""
    M, N, K = symbol("M"), symbol("N"), symbol("K")
    down, across, deep = ceil_div(M, TILE_M), ceil_div(N, columns), ceil_div(K, TILE_K)
    (high, wide), (high_b, _) = factors_of(TILE_M), factors_of(columns)
    return Kernel(
        "scaled_gemm",
        tensors=[
            matrix("a", M, K, "ab"),
            matrix("b", N, K, "ab"),
            matrix("sfa", down * high, deep * wide, "factors"),
            matrix("sfb", across * high_b, deep * wide, "factors"),
            matrix("c", M, N, role="out"),
        ],
        parameters={"dtype": "fp16", "ab": "e4m3", "factors": "ue8m0", "tile": (TILE_M, columns, TILE_K)},
        symbols={"k_tiles": deep, "tiles": ceil_div(down * across, symbol("grid"))},
        grid=down * across,
        reference="scaled_gemm",
        sizes={"M": 4096, "N": 4096, "K": 4096},
        small_sizes={"M": 256, "N": 3 * columns, "K": 640},
    )


def build(stages=STAGES, accumulators=ACCUMULATORS, columns=128):
    """The schedule, of tiles with so many ``columns``: 128, or 256 and then with one accumulator."""
    coords = TileCoordinates(name="coords")
    queue = WorkQueue(name="queue", tiles=tiles, band=8)
    smem_ab, acc = ring(stages, columns), accumulator(accumulators, columns)
    behind = accumulators * columns
    sfa = factors("sfa", TILE_M, behind)
    sfb = factors("sfb", columns, behind + TILE_M // 32)
    empty = cleared(columns, accumulators)
    smem_c, gmem_c = staging(TILE_M, WIDE), output(TILE_M, WIDE)
    stores = AsyncGroup("bulk_store")
    allocated = NamedBarrier(1, 160)  # the MMA warp and the epilogue's four
    together = NamedBarrier(2, 128)  # the epilogue's
    subtiles = columns // WIDE
    drains = epilogue(
        coords, queue, acc, empty, smem_c, gmem_c, allocated, stores, together, accumulators, subtiles
    )

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
            dst_resources=[empty, smem_c, gmem_c],
            warp_idx=4,
            num_warps=4,
            schedule=drains,
        ),
    ]
    return TaskManager(
        tasks=tasks,
        resource_dependency_graph={
            smem_ab: [coords, queue],
            sfa: [smem_ab],
            sfb: [smem_ab],
            acc: [smem_ab, sfa, sfb, queue],
            empty: [acc],
            smem_c: [acc],
            gmem_c: [smem_c, coords, queue],
        },
        kernel=kernel(columns),
        name="blackwell_scaled_gemm" if columns == 128 else "blackwell_wide_scaled_gemm",
        target="sm_100a",
    )


if __name__ == "__main__":
    build().print_and_verify()
