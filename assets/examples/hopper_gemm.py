"""C = A B^T for Hopper: a family of persistent, warp-specialised GEMMs, built by one function.

A warp copies tiles of A and B into a ring; warpgroups multiply them with wgmma and store C through shared memory. Either
all of them share a tile (cooperative), or two take turns, each with a tile, a ring and a load warp of its own: while one
multiplies, the other stores (ping-pong). CTAs of a cluster share operands: each copies a part of the shared tile to all.
"""

from dataclasses import dataclass

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

SHARED_MEMORY = 232_448  # bytes that a CTA may use on sm_90
RESERVED = 1024  # for mbarriers, up to the first multiple of what 128-byte swizzled tiles are aligned to
BYTES = 2  # of an element

k_tiles = symbol(
    "k_tiles", min=1
)  # without a k tile nothing would be waited for and nothing could be released
tiles = symbol("tiles")  # work tiles of a CTA


@dataclass(frozen=True)
class Plan:
    """What the family's members differ in. ``tile``: rows, columns and depth of what one accumulator holds."""

    tile: tuple[int, int, int] = (128, 256, 64)
    cluster: tuple[int, int] = (2, 1)  # CTAs along M, which share B, and along N, which share A
    ping_pong: bool = False
    band: int = 8  # cluster tiles along M that are worked on column by column
    subtile: int = 64  # columns of C that are stored at a time

    @property
    def warps(self) -> int:
        """Warps that share an accumulator: a warpgroup for each 64 rows, two at most."""
        return 4 if self.ping_pong or self.tile[0] == 64 else 8

    @property
    def subtiles(self) -> int:
        return self.tile[1] // self.subtile

    @property
    def parts(self) -> int:
        """Accumulators of a CTA: the work tile is as many tiles, one above the other."""
        return 2 if self.ping_pong else 1

    @property
    def stage_bytes(self) -> int:
        m, n, k = self.tile
        return (m + n) * k * BYTES

    @property
    def stages(self) -> int:
        """As many stages in each ring as shared memory has room for."""
        staging = 2 * self.parts * self.tile[0] * self.subtile * BYTES
        return (SHARED_MEMORY - RESERVED - staging) // self.stage_bytes // self.parts

    @property
    def registers(self) -> tuple[int, int]:
        """Of a thread that loads, and of one that multiplies."""
        return (40, 232) if self.warps * self.parts == 8 else (24, 240)


# -- what the tasks hand on ---------------------------------------------------------------------------------------------


def coordinates(plan: Plan, part: int):
    """Which tile of A, B and C is meant."""

    class TileCoordinates(MemoryResource):
        """It has no storage: coordinates are computed where they are used."""

        @consumer_work(
            body="sm90.tile_coords",
            returns=("coord_m", "coord_n", "coord_k"),
            parts=(plan.parts, 1),
            part=(part, 0),
        )
        def coords(self, stage_info): ...

    return TileCoordinates(name=f"coords{part}" if plan.parts > 1 else "coords")


def ring(plan: Plan, name: str):
    """The ring: each stage holds one tile of A and one of B."""
    m, n, k = plan.tile
    down, across = plan.cluster

    class SmemAB(MemoryResource):
        """Copied to all CTAs of the cluster that work on the same rows (A) or columns (B)."""

        @producer_work(
            engine="tma",
            body="sm90.tma_load",
            tensor="a",
            part="a",
            tile=(m, k),
            coords=("coord_m", "coord_k"),
            multicast="m" if across > 1 else None,
        )
        def load_a(self, stage_info, coord_m, coord_k): ...

        @producer_work(
            engine="tma",
            body="sm90.tma_load",
            tensor="b",
            part="b",
            tile=(n, k),
            coords=("coord_n", "coord_k"),
            multicast="n" if down > 1 else None,
        )
        def load_b(self, stage_info, coord_n, coord_k): ...

        @consumer_work(view=True, returns="tiles")
        def tiles(self, stage_info): ...  # a view: the stage is read where the token is used

    return SmemAB(
        name=name,
        pipeline_config=PipelineConfig(
            num_stages=plan.stages,
            pipeline_type=PipelineType.TmaAsync,
            advance_on_wait=True,  # wait and release have cursors of their own: release lags one step behind
            cta_layout_vmnk=(1, down, across, 1) if down * across > 1 else None,
            mcast_mode_mn=(int(across > 1), int(down > 1)),
        ),
        smem=[  # of one stage; wgmma's 128-byte swizzle repeats every 1024 bytes
            SmemAllocation("a", size_bytes=m * k * BYTES, alignment=1024),
            SmemAllocation("b", size_bytes=n * k * BYTES, alignment=1024),
        ],
    )


def accumulator(plan: Plan, name: str):
    """The tile of C in registers, spread over the warps."""

    class Accumulator(MemoryResource):
        """Filled by wgmma, which reads a stage until the group wait that covers it."""

        @producer_work(
            engine="wgmma", body="sm90.wgmma", a="a", b="b", tile=plan.tile, overwrite="first_iter"
        )
        def mma(self, stage_info, tiles): ...

        @consumer_work(body="sm90.read_fragment", returns="fragment")
        def read(self, stage_info, subtile): ...

    return Accumulator(name=name, space="rmem")


def staging(plan: Plan, name: str):
    """Room for two subtiles of C."""

    class SmemC(MemoryResource):
        """Each warp stores its own rows."""

        @producer_work(body="sm90.store_fragment", footprint="warp_slice")
        def store(self, stage_info, fragment, subtile): ...

        @consumer_work(view=True, returns="staged")
        def staged(self, stage_info): ...

    size = plan.tile[0] * plan.subtile * BYTES
    return SmemC(name=name, smem=[SmemAllocation("c", size_bytes=size, alignment=1024)], stages=2)


def output(plan: Plan):
    """C in global memory."""

    class GmemC(MemoryResource):
        """Rows and columns beyond its edges are not written."""

        @producer_work(
            engine="bulk_store",
            body="sm90.bulk_store",
            tensor="c",
            tile=(plan.tile[0], plan.subtile),
            coords=("coord_m", "coord_n"),
        )
        def bulk_store(self, stage_info, staged, coord_m, coord_n, subtile): ...

    return GmemC(name="gmem_c")


class Turn(MemoryResource):
    """Whose turn it is to multiply; there is nothing to hold."""


# -- what each task does ------------------------------------------------------------------------------------------------


@schedule
def load(queue, coords, smem_ab):
    with work_tile_loop(queue):
        with domain_loop(0, k_tiles):
            coord_m, coord_n, coord_k = coords.coords()
            smem_ab.acquire()
            smem_ab.load_a(coord_m=coord_m, coord_k=coord_k)
            smem_ab.load_b(coord_n=coord_n, coord_k=coord_k)
            smem_ab.commit()
        queue.get_and_advance_work_tile()


@schedule
def math(queue, coords, smem_ab, acc, smem_c, gmem_c, mma_group, store_group, barrier, turn, subtiles):
    with work_tile_loop(queue):
        turn.take()
        with domain_loop(0, k_tiles) as k:
            smem_ab.wait()
            acc.mma(tiles=smem_ab.tiles())
            mma_group.commit()
            mma_group.wait(1)  # all but the newest group are done ...
            with k.every(1, start=1):
                smem_ab.release()  # ... so the previous stage may go back
        turn.give()  # the tensor cores are kept busy by the other from here on
        mma_group.wait(0)
        smem_ab.release()

        coord_m, coord_n, _ = coords.coords()
        for subtile in range(subtiles):  # plain Python: unrolled at capture
            fragment = acc.read(subtile=subtile)
            smem_c.store(fragment=fragment, subtile=subtile, stage=subtile % 2)
            fence_proxy_async()  # by every writer, before the barrier
            barrier.sync()
            with elect_warp(0):
                staged = smem_c.staged(stage=subtile % 2)
                gmem_c.bulk_store(staged=staged, coord_m=coord_m, coord_n=coord_n, subtile=subtile)
                store_group.commit()
                last_of_odd = (
                    subtile == subtiles - 1 and subtiles % 2
                )  # the next tile begins with the same stage
                store_group.wait_read(0 if last_of_odd else 1)  # the stage that comes next has been read ...
            barrier.sync()  # ... and now everybody knows
        queue.get_and_advance_work_tile()
    with elect_warp(0):
        store_group.wait_read(0)  # shared memory must outlive the last copies out of it


# -- the kernel -----------------------------------------------------------------------------------------------------------


def kernel(plan: Plan):
    """What is computed, and for which sizes it is run by default."""
    M, N, K = symbol("M"), symbol("N"), symbol("K")
    (m, n, k), (down, across) = plan.tile, plan.cluster
    m *= plan.parts
    ctas = ceil_div(M, m * down) * ceil_div(N, n * across) * (down * across)  # of whole clusters
    return Kernel(
        "gemm",
        tensors=[
            GmemTensor("a", (M, K), "dtype", order=(0, 1)),
            GmemTensor("b", (N, K), "dtype", order=(0, 1)),
            GmemTensor("c", (M, N), "dtype", order=(0, 1), role="out"),
        ],
        parameters={"dtype": "fp16", "tile": (m, n, k)},
        symbols={"k_tiles": ceil_div(K, k), "tiles": ceil_div(ctas, symbol("grid"))},
        grid=ctas,
        reference="gemm",
        sizes={"M": 4096, "N": 4096, "K": 4096},
        small_sizes={"M": 2 * m, "N": 2 * n, "K": 5 * k},
    )


class Alone:
    """A task that multiplies whenever it can."""

    def take(self): ...
    def give(self): ...


@dataclass(frozen=True)
class Turns:
    """A task that multiplies when it has the ``turn``, which two hand to and fro; ``first``: it fills it, the other empties
    it."""

    turn: Turn
    first: bool

    def take(self):
        """Wait for the turn."""
        self.turn.acquire() if self.first else self.turn.wait()

    def give(self):
        """Hand it on."""
        self.turn.commit() if self.first else self.turn.release()


def gemm(plan: Plan, name: str):
    """The schedule of ``plan``."""
    queue = WorkQueue(name="queue", tiles=tiles, band=plan.band)
    numbers = [str(i) if plan.ping_pong else "" for i in range(plan.parts)]
    places = [coordinates(plan, i) for i in range(plan.parts)]
    rings = [ring(plan, f"smem_ab{i}") for i in numbers]
    config = PipelineConfig(
        num_stages=1,
        pipeline_type=PipelineType.AsyncAsync,
        producer_signaling_threads=Signal.WARP,
        consumer_signaling_threads=Signal.WARP,
    )
    turn = Turn(name="turn", pipeline_config=config) if plan.ping_pong else None
    gmem_c = output(plan)
    few, many = plan.registers
    tasks, graph = [], {}
    for i, (number, coords, smem_ab) in enumerate(zip(numbers, places, rings, strict=True)):
        tasks.append(
            Task(
                name=f"load{number}",
                src_resources=[coords, queue],
                dst_resources=[smem_ab],
                warp_idx=i,
                num_warps=1,
                num_registers=few,
                schedule=load(queue, coords, smem_ab),
            )
        )
    for i, (number, coords, smem_ab) in enumerate(zip(numbers, places, rings, strict=True)):
        acc, smem_c = accumulator(plan, f"acc{number}"), staging(plan, f"smem_c{number}")
        groups = AsyncGroup("wgmma", f"mma_group{number}"), AsyncGroup("bulk_store", f"store_group{number}")
        barrier = NamedBarrier(1 + i, 32 * plan.warps, f"epilogue{number}")  # barrier 0 is the whole CTA's
        made = acc, smem_c, gmem_c, *groups, barrier
        turns = [turn] if turn else []
        tasks.append(
            Task(
                name=f"math{number}",
                src_resources=[coords, queue, smem_ab, acc, smem_c, *turns[: bool(i)]],
                dst_resources=[acc, smem_c, gmem_c, *turns[bool(i) :]],
                warp_idx=4 + plan.warps * i,
                num_warps=plan.warps,
                num_registers=many,
                schedule=math(
                    queue, coords, smem_ab, *made, Turns(turn, i == 0) if turn else Alone(), plan.subtiles
                ),
            )
        )
        graph |= {smem_ab: [coords, queue], acc: [smem_ab], smem_c: [acc]}
        graph[gmem_c] = [*graph.get(gmem_c, [queue]), smem_c, coords]
    if turn:
        graph[turn] = [queue]
    return TaskManager(
        tasks=tasks,
        resource_dependency_graph=graph,  # downstream: [upstream, ...]
        cluster=(*plan.cluster, 1),
        kernel=kernel(plan),
        name=name,
    )


def build():
    """Cooperative: eight warps share a tile, two CTAs share B."""
    return gemm(Plan(), "hopper_gemm")


if __name__ == "__main__":
    build().print_and_verify()
