"""C = A B^T for Hopper, one tile of C for each CTA, two CTAs on each multiprocessor.

A CTA that works on one tile must fill its ring before it multiplies and store its tile after. So two share a multiprocessor:
while one fills or stores, the other multiplies. Each has half of the shared memory and half of the registers, which makes
the tile 128 x 128, the ring three stages deep, and one warpgroup the one that multiplies.
"""

from warpdraft.assets.examples.persistent_gemm import SmemC, TileCoordinates, k_tiles
from warpdraft.core import (
    AsyncGroup,
    GmemTensor,
    Kernel,
    MemoryResource,
    NamedBarrier,
    PipelineConfig,
    PipelineType,
    SmemAllocation,
    Task,
    TaskManager,
    ceil_div,
    consumer_work,
    domain_loop,
    elect_warp,
    fence_proxy_async,
    producer_work,
    schedule,
    symbol,
)

TILE_M, TILE_N, TILE_K = 128, 128, 64
SUBTILES = 4  # the tile of C is stored in four subtiles of 128 x 32
STAGES = 3
BYTES = 2  # of an element


# -- what the tasks hand on ---------------------------------------------------------------------------------------------


class SmemAB(MemoryResource):
    """The ring: each stage holds one tile of A and one of B."""

    @producer_work(
        engine="tma",
        body="sm90.tma_load",
        tensor="a",
        part="a",
        tile=(128, 64),
        coords=("coord_m", "coord_k"),
    )
    def load_a(self, stage_info, coord_m, coord_k): ...

    @producer_work(
        engine="tma",
        body="sm90.tma_load",
        tensor="b",
        part="b",
        tile=(128, 64),
        coords=("coord_n", "coord_k"),
    )
    def load_b(self, stage_info, coord_n, coord_k): ...

    @consumer_work(view=True, returns="tiles")
    def tiles(self, stage_info): ...  # a view: the stage is read where the token is used


class Accumulator(MemoryResource):
    """The tile of C in registers: 128 of each thread."""

    @producer_work(
        engine="wgmma", body="sm90.wgmma", a="a", b="b", tile=(128, 128, 64), overwrite="first_iter"
    )
    def mma(self, stage_info, tiles): ...  # reads the stage until the group wait that covers it

    @consumer_work(body="sm90.read_fragment", returns="fragment")
    def read(self, stage_info, subtile): ...


class GmemC(MemoryResource):
    """C in global memory."""

    @producer_work(
        engine="bulk_store", body="sm90.bulk_store", tensor="c", tile=(128, 32), coords=("coord_m", "coord_n")
    )
    def bulk_store(self, stage_info, staged, coord_m, coord_n, subtile): ...


# -- what each task does ------------------------------------------------------------------------------------------------


@schedule
def load(coords, smem_ab):
    with domain_loop(0, k_tiles):
        coord_m, coord_n, coord_k = coords.coords()
        smem_ab.acquire()  # wait until the stage is empty; from here its barrier expects 32 KiB
        smem_ab.load_a(coord_m=coord_m, coord_k=coord_k)
        smem_ab.load_b(coord_n=coord_n, coord_k=coord_k)
        smem_ab.commit()


@schedule
def math(coords, smem_ab, acc, smem_c, gmem_c, mma_group, store_group, epilogue_barrier):
    with domain_loop(0, k_tiles) as k:
        smem_ab.wait()
        acc.mma(tiles=smem_ab.tiles())
        mma_group.commit()
        mma_group.wait(1)
        with k.every(1, start=1):
            smem_ab.release()  # the stage of the step before
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
    with elect_warp(0):
        store_group.wait_read(0)


# -- the kernel ---------------------------------------------------------------------------------------------------------


def kernel():
    """What is computed, and for which sizes it is run by default."""
    M, N, K = symbol("M"), symbol("N"), symbol("K")
    return Kernel(
        "gemm",
        tensors=[
            GmemTensor("a", (M, K), "dtype", order=(0, 1)),
            GmemTensor("b", (N, K), "dtype", order=(0, 1)),
            GmemTensor("c", (M, N), "dtype", order=(0, 1), role="out"),
        ],
        parameters={"dtype": "fp16", "tile": (TILE_M, TILE_N, TILE_K)},
        symbols={"k_tiles": ceil_div(K, TILE_K)},
        grid=ceil_div(M, TILE_M) * ceil_div(N, TILE_N),
        reference="gemm",
        sizes={"M": 4096, "N": 4096, "K": 4096},
        small_sizes={"M": 256, "N": 256, "K": 320},
    )


def ring():
    """The ring of A and B tiles."""
    return SmemAB(
        name="smem_ab",
        pipeline_config=PipelineConfig(
            num_stages=STAGES,
            pipeline_type=PipelineType.TmaAsync,
            advance_on_wait=True,  # wait and release have cursors of their own: release lags one step behind
        ),
        smem=[  # of one stage; wgmma's 128-byte swizzle repeats every 1024 bytes
            SmemAllocation("a", size_bytes=TILE_M * TILE_K * BYTES, alignment=1024),
            SmemAllocation("b", size_bytes=TILE_N * TILE_K * BYTES, alignment=1024),
        ],
    )


def build():
    """The schedule."""
    coords = TileCoordinates(name="coords")
    smem_ab = ring()
    acc = Accumulator(name="acc", space="rmem")
    subtile = SmemAllocation("c", size_bytes=TILE_M * TILE_N // SUBTILES * BYTES, alignment=1024)
    smem_c = SmemC(name="smem_c", smem=[subtile], stages=2)
    gmem_c = GmemC(name="gmem_c")
    mma_group = AsyncGroup("wgmma")
    store_group = AsyncGroup("bulk_store")
    epilogue_barrier = NamedBarrier(1, 128)  # the four math warps; barrier 0 is the whole CTA's

    load_task = Task(
        name="load",
        src_resources=[coords],
        dst_resources=[smem_ab],
        warp_idx=0,
        num_warps=1,
        num_registers=24,
        schedule=load(coords, smem_ab),
    )
    math_task = Task(
        name="math",
        src_resources=[coords, smem_ab, acc, smem_c],
        dst_resources=[acc, smem_c, gmem_c],
        warp_idx=4,
        num_warps=4,
        num_registers=232,
        schedule=math(coords, smem_ab, acc, smem_c, gmem_c, mma_group, store_group, epilogue_barrier),
    )
    return TaskManager(
        tasks=[load_task, math_task],
        resource_dependency_graph={
            smem_ab: [coords],
            acc: [smem_ab],
            smem_c: [acc],
            gmem_c: [smem_c, coords],
        },
        kernel=kernel(),
        name="gemm",
        ctas_per_sm=2,
    )


if __name__ == "__main__":
    build().print_and_verify()
