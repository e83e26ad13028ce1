"""Schedules that no example has, to try the generator on: built with the authoring interface."""

from __future__ import annotations

from warpdraft.core import (
    AsyncGroup,
    GmemTensor,
    Kernel,
    MemoryResource,
    PipelineConfig,
    SmemAllocation,
    Task,
    TaskManager,
    WorkQueue,
    ceil_div,
    consumer_work,
    domain_loop,
    fence_proxy_async,
    producer_work,
    schedule,
    symbol,
    sync_warp,
    work_tile_loop,
)
from warpdraft.core.document import Document

TILE_K = 64
STORED = 64  # columns of C in one subtile
BYTES = 2

k_tiles = symbol("k_tiles", min=1)
tiles = symbol("tiles")


class Coordinates(MemoryResource):
    """Which tile of A, B and C is meant."""

    @consumer_work(body="sm90.tile_coords", returns=("coord_m", "coord_n", "coord_k"))
    def coords(self, stage_info): ...


def resources(m: int, n: int):
    """The classes of the two rings, the accumulator and C, for tiles of m x n."""

    class SmemAB(MemoryResource):
        """The ring of operands."""

        @producer_work(
            engine="tma",
            body="sm90.tma_load",
            tensor="a",
            part="a",
            tile=(m, TILE_K),
            coords=("coord_m", "coord_k"),
        )
        def load_a(self, stage_info, coord_m, coord_k): ...

        @producer_work(
            engine="tma",
            body="sm90.tma_load",
            tensor="b",
            part="b",
            tile=(n, TILE_K),
            coords=("coord_n", "coord_k"),
        )
        def load_b(self, stage_info, coord_n, coord_k): ...

        @consumer_work(view=True, returns="tiles")
        def tiles(self, stage_info): ...

    class Accumulator(MemoryResource):
        """The tile of C in registers."""

        @producer_work(
            engine="wgmma", body="sm90.wgmma", a="a", b="b", tile=(m, n, TILE_K), overwrite="first_iter"
        )
        def mma(self, stage_info, tiles): ...

        @consumer_work(body="sm90.read_fragment", returns="fragment")
        def read(self, stage_info, subtile): ...

    class SmemC(MemoryResource):
        """A second ring: subtiles of C on their way from the math task to the store task."""

        @producer_work(body="sm90.store_fragment", footprint="warp_slice")
        def store(self, stage_info, fragment): ...

        @consumer_work(view=True, returns="staged")
        def staged(self, stage_info): ...

    class GmemC(MemoryResource):
        """C in global memory."""

        @producer_work(
            engine="bulk_store",
            body="sm90.bulk_store",
            tensor="c",
            tile=(m, STORED),
            coords=("coord_m", "coord_n"),
        )
        def bulk_store(self, stage_info, staged, coord_m, coord_n, subtile): ...

    return SmemAB, Accumulator, SmemC, GmemC


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
def math(queue, smem_ab, acc, smem_c, mma_group, subtiles):
    with work_tile_loop(queue):
        with domain_loop(0, k_tiles):
            smem_ab.wait()
            acc.mma(tiles=smem_ab.tiles())
            mma_group.commit()
            mma_group.wait(0)
            smem_ab.release()
        for subtile in range(subtiles):
            fragment = acc.read(subtile=subtile)
            smem_c.acquire()
            smem_c.store(fragment=fragment)
            fence_proxy_async()
            sync_warp()
            smem_c.commit()
        queue.get_and_advance_work_tile()


@schedule
def store(coords, queue, smem_c, gmem_c, store_group, subtiles):
    with work_tile_loop(queue):
        coord_m, coord_n, _ = coords.coords()
        for subtile in range(subtiles):
            smem_c.wait()
            gmem_c.bulk_store(staged=smem_c.staged(), coord_m=coord_m, coord_n=coord_n, subtile=subtile)
            store_group.commit()
            store_group.wait_read(0)
            smem_c.release()
        queue.get_and_advance_work_tile()


def store_task(m: int = 128, n: int = 128, warps: int = 8, stages: int = 5) -> Document:
    """A GEMM whose results are stored by a task of its own: two rings, three tasks, any tile."""
    SmemAB, Accumulator, SmemC, GmemC = resources(m, n)
    M, N, K = symbol("M"), symbol("N"), symbol("K")
    all_tiles = ceil_div(M, m) * ceil_div(N, n)
    subtiles = n // STORED
    coords = Coordinates(name="coords")
    queue = WorkQueue(name="queue", tiles=tiles, band=8)
    smem_ab = SmemAB(
        name="smem_ab",
        pipeline_config=PipelineConfig(num_stages=stages),
        smem=[
            SmemAllocation("a", size_bytes=m * TILE_K * BYTES),
            SmemAllocation("b", size_bytes=n * TILE_K * BYTES),
        ],
    )
    acc = Accumulator(name="acc", space="rmem")
    smem_c = SmemC(
        name="smem_c",
        pipeline_config=PipelineConfig(num_stages=2),
        smem=[SmemAllocation("c", size_bytes=m * STORED * BYTES)],
    )
    gmem_c = GmemC(name="gmem_c")
    mma_group = AsyncGroup("wgmma", name="mma_group")
    store_group = AsyncGroup("bulk_store", name="store_group")
    manager = TaskManager(
        tasks=[
            Task(
                name="load",
                src_resources=[coords, queue],
                dst_resources=[smem_ab],
                warp_idx=0,
                num_warps=1,
                num_registers=40,
                schedule=load(coords, queue, smem_ab),
            ),
            Task(
                name="store",
                src_resources=[coords, queue, smem_c],
                dst_resources=[gmem_c],
                warp_idx=1,
                num_warps=1,
                num_registers=40,
                schedule=store(coords, queue, smem_c, gmem_c, store_group, subtiles),
            ),
            Task(
                name="math",
                src_resources=[queue, smem_ab, acc],
                dst_resources=[acc, smem_c],
                warp_idx=4,
                num_warps=warps,
                num_registers=232,
                schedule=math(queue, smem_ab, acc, smem_c, mma_group, subtiles),
            ),
        ],
        resource_dependency_graph={
            smem_ab: [coords, queue],
            acc: [smem_ab],
            smem_c: [acc, queue],
            gmem_c: [smem_c, coords, queue],
        },
        kernel=Kernel(
            "gemm",
            tensors=[
                GmemTensor("a", (M, K), "dtype", order=(0, 1)),
                GmemTensor("b", (N, K), "dtype", order=(0, 1)),
                GmemTensor("c", (M, N), "dtype", order=(0, 1), role="out"),
            ],
            parameters={"dtype": "fp16", "tile": (m, n, TILE_K)},
            symbols={"k_tiles": ceil_div(K, TILE_K), "tiles": ceil_div(all_tiles, symbol("grid"))},
            grid=all_tiles,
            reference="gemm",
            sizes={"M": 4096, "N": 4096, "K": 4096},
            small_sizes={"M": 256, "N": 256, "K": 320},
        ),
        name="store_task",
    )
    return manager.document
