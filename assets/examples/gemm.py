"""C = A B^T for Hopper, one tile of C for each CTA.

The resources are those of the persistent GEMM. Without a loop over tiles, the schedule is the shortest that keeps both the
copy engine and the tensor cores busy.
"""

from warpdraft.assets.examples.persistent_gemm import (
    SUBTILES,
    TILE_K,
    TILE_M,
    TILE_N,
    Accumulator,
    GmemC,
    TileCoordinates,
    k_tiles,
    ring,
    staging,
)
from warpdraft.core import (
    AsyncGroup,
    GmemTensor,
    Kernel,
    NamedBarrier,
    Task,
    TaskManager,
    ceil_div,
    domain_loop,
    elect_warp,
    fence_proxy_async,
    schedule,
    symbol,
)


@schedule
def load(coords, smem_ab):
    with domain_loop(0, k_tiles):
        coord_m, coord_n, coord_k = coords.coords()
        smem_ab.acquire()  # wait until the stage is empty; from here its barrier expects 48 KiB
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
        small_sizes={"M": 256, "N": 512, "K": 320},
    )


def build():
    """The schedule."""
    coords = TileCoordinates(name="coords")
    smem_ab = ring()
    acc = Accumulator(name="acc", space="rmem")
    smem_c = staging()
    gmem_c = GmemC(name="gmem_c")
    mma_group = AsyncGroup("wgmma")
    store_group = AsyncGroup("bulk_store")
    epilogue_barrier = NamedBarrier(1, 256)

    load_task = Task(
        name="load",
        src_resources=[coords],
        dst_resources=[smem_ab],
        warp_idx=0,
        num_warps=1,
        num_registers=40,
        schedule=load(coords, smem_ab),
    )
    math_task = Task(
        name="math",
        src_resources=[coords, smem_ab, acc, smem_c],
        dst_resources=[acc, smem_c, gmem_c],
        warp_idx=4,
        num_warps=8,
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
    )


if __name__ == "__main__":
    build().print_and_verify()
