"""C = A B^T for Blackwell, one tile of C for each CTA: the tensor core's own memory holds the accumulator.

One warp copies tiles of A and B into a ring. One warp issues tcgen05 MMAs, which read the ring and accumulate in tensor
memory; a commit hands a stage back when they have read it. Four warps then load the accumulator, each its own 32 lanes, and
store it through shared memory; a sum without terms they clear first. Nothing has run this on a Blackwell GPU yet: it is
proved, emulated and compiled.
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
    PipelineConfig,
    PipelineType,
    SmemAllocation,
    Task,
    TaskManager,
    TmemAllocation,
    ceil_div,
    consumer_work,
    domain_loop,
    elect_warp,
    schedule,
    symbol,
    tmem_alloc,
    tmem_dealloc,
    tmem_relinquish,
)

TILE_M, TILE_N, TILE_K = 128, 256, 64
SUBTILES = 4  # the tile of C is stored in four subtiles of 128 x 64
STAGES = 4
BYTES = 2  # of an element


# -- what the tasks hand on ---------------------------------------------------------------------------------------------


class SmemAB(MemoryResource):
    """The ring: each stage holds one tile of A and one of B."""

    @copied("a", (TILE_M, TILE_K), "coord_m")
    def load_a(self, stage_info, coord_m, coord_k): ...

    @copied("b", (TILE_N, TILE_K), "coord_n")
    def load_b(self, stage_info, coord_n, coord_k): ...

    @consumer_work(view=True, returns="tiles")
    def tiles(self, stage_info): ...  # a view: the stage is read where the token is used


class Accumulator(drained(SUBTILES)):
    """The tile of C in tensor memory."""

    @product((TILE_M, TILE_N, TILE_K))
    def mma(self, stage_info, tiles): ...


# -- what each task does ------------------------------------------------------------------------------------------------


@schedule
def load(coords, smem_ab):
    with domain_loop(0, k_tiles):
        coord_m, coord_n, coord_k = coords.coords()
        smem_ab.acquire()  # wait until the stage is empty; from here its barrier expects 48 KiB
        smem_ab.load_a(coord_m=coord_m, coord_k=coord_k)
        smem_ab.load_b(coord_n=coord_n, coord_k=coord_k)
        smem_ab.commit()


@schedule
def mma(smem_ab, acc, allocated):
    allocated.sync()  # the address of tensor memory is there
    multiply(smem_ab, acc, acc.mma)


@schedule
def epilogue(coords, acc, cleared, smem_c, gmem_c, allocated, stores, together):
    with elect_warp(0):
        tmem_alloc(acc)
        tmem_relinquish()
    allocated.sync()
    drain(coords, acc, cleared, smem_c, gmem_c, stores, together, SUBTILES)
    with elect_warp(0):
        stores.wait_read(0)  # shared memory must outlive the last copies out of it
        tmem_dealloc(acc)  # nobody loads any more: all have met


# -- the kernel ---------------------------------------------------------------------------------------------------------


def kernel():
    """What is computed, and for which sizes it is run by default."""
    M, N, K = symbol("M"), symbol("N"), symbol("K")
    return Kernel(
        "gemm",
        tensors=[matrix("a", M, K), matrix("b", N, K), matrix("c", M, N, role="out")],
        parameters={"dtype": "fp16", "tile": (TILE_M, TILE_N, TILE_K)},
        symbols={"k_tiles": ceil_div(K, TILE_K)},
        grid=ceil_div(M, TILE_M) * ceil_div(N, TILE_N),
        reference="gemm",
        sizes={"M": 4096, "N": 4096, "K": 4096},
        small_sizes={"M": 256, "N": 512, "K": 320},
    )


def ring(stages=STAGES):
    """The ring of A and B tiles."""
    return SmemAB(
        name="smem_ab",
        pipeline_config=PipelineConfig(num_stages=stages, pipeline_type=PipelineType.TmaUmma),
        smem=[  # of one stage; the 128-byte swizzle repeats every 1024 bytes
            SmemAllocation("a", size_bytes=TILE_M * TILE_K * BYTES, alignment=1024),
            SmemAllocation("b", size_bytes=TILE_N * TILE_K * BYTES, alignment=1024),
        ],
    )


def build(stages=STAGES):
    """The schedule."""
    coords = TileCoordinates(name="coords")
    smem_ab = ring(stages)
    acc = Accumulator(
        name="acc",
        pipeline_config=PipelineConfig(num_stages=1, pipeline_type=PipelineType.UmmaAsync),
        tmem=[TmemAllocation("acc", TILE_N)],
    )
    empty = cleared(TILE_N)
    smem_c, gmem_c = staging(TILE_M, TILE_N // SUBTILES), output(TILE_M, TILE_N // SUBTILES)
    stores = AsyncGroup("bulk_store")
    allocated = NamedBarrier(1, 160)  # the MMA warp and the epilogue's four
    together = NamedBarrier(2, 128)  # the epilogue's; barrier 0 is the whole CTA's

    load_task = Task(
        name="load",
        src_resources=[coords],
        dst_resources=[smem_ab],
        warp_idx=0,
        num_warps=1,
        schedule=load(coords, smem_ab),
    )
    mma_task = Task(
        name="mma",
        src_resources=[smem_ab],
        dst_resources=[acc],
        warp_idx=1,
        num_warps=1,
        schedule=mma(smem_ab, acc, allocated),
    )
    epilogue_task = Task(
        name="epilogue",
        src_resources=[coords, acc, smem_c],
        dst_resources=[empty, smem_c, gmem_c],
        warp_idx=4,
        num_warps=4,
        schedule=epilogue(coords, acc, empty, smem_c, gmem_c, allocated, stores, together),
    )
    return TaskManager(
        tasks=[load_task, mma_task, epilogue_task],
        resource_dependency_graph={
            smem_ab: [coords],
            acc: [smem_ab],
            empty: [acc],
            smem_c: [acc],
            gmem_c: [smem_c, coords],
        },
        kernel=kernel(),
        name="blackwell_gemm",
        target="sm_100a",
    )


if __name__ == "__main__":
    build().print_and_verify()
