"""C = A B^T for Hopper: a persistent, warp-specialised GEMM.

One warp copies tiles of A and B into a ring of four stages. Eight warps, as two warpgroups, multiply them with wgmma and
store the result through shared memory. Each CTA works on one 128 x 256 tile of C after another.
"""

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
    WorkQueue,
    ceil_div,
    consumer_work,
    domain_loop,
    elect_warp,
    fence_proxy_async,
    producer_work,
    schedule,
    symbol,
    work_tile_loop,
)

TILE_M, TILE_N, TILE_K = 128, 256, 64
SUBTILES = 4  # the tile of C is stored in four subtiles of 128 x 64
STAGES = 4
BYTES = 2  # of an element

k_tiles = symbol(
    "k_tiles", min=1
)  # with no k tile at all, nothing would be waited for and nothing could be released
tiles = symbol("tiles")


# -- what the tasks hand on ---------------------------------------------------------------------------------------------


class TileCoordinates(MemoryResource):
    """Says which tile of A, B and C is meant. It has no storage: coordinates are computed where they are used."""

    @consumer_work(body="sm90.tile_coords", returns=("coord_m", "coord_n", "coord_k"))
    def coords(self, stage_info): ...


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
        tile=(256, 64),
        coords=("coord_n", "coord_k"),
    )
    def load_b(self, stage_info, coord_n, coord_k): ...

    @consumer_work(view=True, returns="tiles")
    def tiles(self, stage_info): ...  # a view: the stage is read where the token is used


class Accumulator(MemoryResource):
    """The tile of C in registers, spread over the warps."""

    @producer_work(
        engine="wgmma", body="sm90.wgmma", a="a", b="b", tile=(128, 256, 64), overwrite="first_iter"
    )
    def mma(self, stage_info, tiles): ...  # reads the stage until the group wait that covers it

    @consumer_work(body="sm90.read_fragment", returns="fragment")
    def read(self, stage_info, subtile): ...


class SmemC(MemoryResource):
    """Two subtiles of C on their way out."""

    @producer_work(body="sm90.store_fragment", footprint="warp_slice")
    def store(self, stage_info, fragment, subtile): ...

    @consumer_work(view=True, returns="staged")
    def staged(self, stage_info): ...


class GmemC(MemoryResource):
    """C in global memory."""

    @producer_work(
        engine="bulk_store", body="sm90.bulk_store", tensor="c", tile=(128, 64), coords=("coord_m", "coord_n")
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
            smem_ab.commit()
        queue.get_and_advance_work_tile()


@schedule
def math(coords, queue, smem_ab, acc, smem_c, gmem_c, mma_group, store_group, epilogue_barrier):
    with work_tile_loop(queue):
        with domain_loop(0, k_tiles) as k:
            smem_ab.wait()
            acc.mma(tiles=smem_ab.tiles())
            mma_group.commit()
            mma_group.wait(1)  # all but the newest group are done ...
            with k.every(1, start=1):
                smem_ab.release()  # ... so the previous stage may go back
        mma_group.wait(0)
        smem_ab.release()

        coord_m, coord_n, _ = coords.coords()
        for subtile in range(SUBTILES):  # plain Python: unrolled at capture
            fragment = acc.read(subtile=subtile)
            smem_c.store(fragment=fragment, subtile=subtile, stage=subtile % 2)
            fence_proxy_async()  # by every writer, before the barrier
            epilogue_barrier.sync()
            with elect_warp(0):
                staged = smem_c.staged(stage=subtile % 2)
                gmem_c.bulk_store(staged=staged, coord_m=coord_m, coord_n=coord_n, subtile=subtile)
                store_group.commit()
                store_group.wait_read(1)  # the other stage has been read ...
            epilogue_barrier.sync()  # ... and now everybody knows
        queue.get_and_advance_work_tile()
    with elect_warp(0):
        store_group.wait_read(0)  # shared memory must outlive the last copies out of it


# -- the kernel -----------------------------------------------------------------------------------------------------------


def kernel():
    """What is computed, and for which sizes it is run by default."""
    M, N, K = symbol("M"), symbol("N"), symbol("K")
    all_tiles = ceil_div(M, TILE_M) * ceil_div(N, TILE_N)
    return Kernel(
        "gemm",
        tensors=[
            GmemTensor("a", (M, K), "dtype", order=(0, 1)),
            GmemTensor("b", (N, K), "dtype", order=(0, 1)),
            GmemTensor("c", (M, N), "dtype", order=(0, 1), role="out"),
        ],
        parameters={"dtype": "fp16", "tile": (TILE_M, TILE_N, TILE_K)},
        symbols={"k_tiles": ceil_div(K, TILE_K), "tiles": ceil_div(all_tiles, symbol("grid"))},
        grid=all_tiles,
        reference="gemm",
        sizes={"M": 4096, "N": 4096, "K": 4096},
        small_sizes={"M": 256, "N": 512, "K": 320},
    )


def ring(consumer_group=None):
    """The ring of A and B tiles. Its arrival counts are derived, unless the releases that empty a stage are counted here."""
    return SmemAB(
        name="smem_ab",
        pipeline_config=PipelineConfig(
            num_stages=STAGES,
            pipeline_type=PipelineType.TmaAsync,
            consumer_group=consumer_group,
            advance_on_wait=True,  # wait and release have cursors of their own: release lags one step behind
        ),
        smem=[  # of one stage; wgmma's 128-byte swizzle repeats every 1024 bytes
            SmemAllocation("a", size_bytes=TILE_M * TILE_K * BYTES, alignment=1024),
            SmemAllocation("b", size_bytes=TILE_N * TILE_K * BYTES, alignment=1024),
        ],
    )


def staging():
    """Room for two subtiles of C."""
    allocation = SmemAllocation("c", size_bytes=TILE_M * TILE_N // SUBTILES * BYTES, alignment=1024)
    return SmemC(name="smem_c", smem=[allocation], stages=2)


def build(load=load, math=math, smem_ab=None, name="persistent_gemm"):
    """The schedule. The broken examples put one wrong piece into it."""
    coords = TileCoordinates(name="coords")
    queue = WorkQueue(name="queue", tiles=tiles, band=8)
    smem_ab = smem_ab or ring()
    acc = Accumulator(name="acc", space="rmem")
    smem_c = staging()
    gmem_c = GmemC(name="gmem_c")
    mma_group = AsyncGroup("wgmma")
    store_group = AsyncGroup("bulk_store")
    epilogue_barrier = NamedBarrier(1, 256)  # the eight math warps; barrier 0 is the whole CTA's

    load_task = Task(
        name="load",
        src_resources=[coords, queue],
        dst_resources=[smem_ab],
        warp_idx=0,
        num_warps=1,
        num_registers=40,
        schedule=load(coords, queue, smem_ab),
    )
    math_task = Task(
        name="math",
        src_resources=[coords, queue, smem_ab, acc, smem_c],
        dst_resources=[acc, smem_c, gmem_c],
        warp_idx=4,
        num_warps=8,
        num_registers=232,
        schedule=math(coords, queue, smem_ab, acc, smem_c, gmem_c, mma_group, store_group, epilogue_barrier),
    )
    return TaskManager(
        tasks=[load_task, math_task],
        resource_dependency_graph={  # downstream: [upstream, ...]
            smem_ab: [coords, queue],
            acc: [smem_ab],
            smem_c: [acc],
            gmem_c: [smem_c, coords, queue],
        },
        kernel=kernel(),
        name=name,
    )


if __name__ == "__main__":
    build().print_and_verify()
