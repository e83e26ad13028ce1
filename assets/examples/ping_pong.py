"""A GEMM's schedule for Hopper in which two warpgroups take turns: one multiplies while the other stores its tile.

Both work on tiles of 128 x 128, each with a ring of its own that one load warp fills for both. The turn is handed to and
fro like a tile: it is a pipeline of one stage without bytes. A schedule only: it says nothing of tensors, so it is checked,
drawn and edited, and not exported.
"""

from warpdraft.core import (
    AsyncGroup,
    MemoryResource,
    NamedBarrier,
    PipelineConfig,
    PipelineType,
    SmemAllocation,
    Task,
    TaskManager,
    WorkQueue,
    consumer_work,
    domain_loop,
    elect_warp,
    fence_proxy_async,
    producer_work,
    schedule,
    symbol,
    work_tile_loop,
)

TILE_M, TILE_N, TILE_K = 128, 128, 64
STAGES = 3  # of each ring
SUBTILES = 4  # the tile of C is stored in four subtiles of 128 x 32
BYTES = 2  # of an element

k_tiles = symbol("k_tiles", min=1)
pairs = symbol("pairs")  # pairs of tiles of a CTA


class SmemAB(MemoryResource):
    """A ring: each stage holds one tile of A and one of B."""

    @producer_work(engine="tma", part="a")
    def load_a(self, stage_info): ...

    @producer_work(engine="tma", part="b")
    def load_b(self, stage_info): ...

    @consumer_work(view=True, returns="tiles")
    def tiles(self, stage_info): ...


class Turn(MemoryResource):
    """Whose turn it is to multiply; there is nothing to hold."""


class Accumulator(MemoryResource):
    """The tile of C in registers."""

    @producer_work(engine="wgmma")
    def mma(self, stage_info, tiles): ...

    @consumer_work(returns="fragment")
    def read(self, stage_info, subtile): ...


class SmemC(MemoryResource):
    """Two subtiles of C on their way out."""

    @producer_work(footprint="warp_slice")
    def store(self, stage_info, fragment, subtile): ...

    @consumer_work(view=True, returns="staged")
    def staged(self, stage_info): ...


class GmemC(MemoryResource):
    """C in global memory."""

    @producer_work(engine="bulk_store")
    def bulk_store(self, stage_info, staged, subtile): ...


@schedule
def load(queue, ring0, ring1):
    with work_tile_loop(queue):
        for ring in (ring0, ring1):  # the tiles of a pair, in the order in which they are multiplied
            with domain_loop(0, k_tiles):
                ring.acquire()
                ring.load_a()
                ring.load_b()
                ring.commit()
        queue.get_and_advance_work_tile()


def multiply(ring, acc, mma_group):
    """One tile: a stage goes back when the next one's multiplication has been started."""
    with domain_loop(0, k_tiles) as k:
        ring.wait()
        acc.mma(tiles=ring.tiles())
        mma_group.commit()
        mma_group.wait(1)
        with k.every(1, start=1):
            ring.release()


def store(acc, smem_c, gmem_c, store_group, barrier):
    """The epilogue: through shared memory, subtile by subtile, in two buffers."""
    for subtile in range(SUBTILES):
        smem_c.store(fragment=acc.read(subtile=subtile), subtile=subtile, stage=subtile % 2)
        fence_proxy_async()  # by every writer, before the barrier
        barrier.sync()
        with elect_warp(0):
            gmem_c.bulk_store(staged=smem_c.staged(stage=subtile % 2), subtile=subtile)
            store_group.commit()
            store_group.wait_read(1)
        barrier.sync()


def tiles_of(queue, take, give, ring, acc, smem_c, gmem_c, mma_group, store_group, barrier):
    """One tile of each pair: ``take`` waits for the turn, ``give`` hands it on."""
    with work_tile_loop(queue):
        take()  # the other's multiplications have been started
        multiply(ring, acc, mma_group)
        give()  # the tensor cores are kept busy by the other from here on
        mma_group.wait(0)
        ring.release()
        store(acc, smem_c, gmem_c, store_group, barrier)
        queue.get_and_advance_work_tile()
    with elect_warp(0):
        store_group.wait_read(0)


@schedule
def first(queue, turn, ring, acc, smem_c, gmem_c, mma_group, store_group, barrier):
    tiles_of(queue, turn.acquire, turn.commit, ring, acc, smem_c, gmem_c, mma_group, store_group, barrier)


@schedule
def second(queue, turn, ring, acc, smem_c, gmem_c, mma_group, store_group, barrier):
    tiles_of(queue, turn.wait, turn.release, ring, acc, smem_c, gmem_c, mma_group, store_group, barrier)


def ring_of(name):
    """A ring of A and B tiles; release lags one step behind wait."""
    config = PipelineConfig(num_stages=STAGES, pipeline_type=PipelineType.TmaAsync, advance_on_wait=True)
    allocations = [
        SmemAllocation("a", size_bytes=TILE_M * TILE_K * BYTES, alignment=1024),
        SmemAllocation("b", size_bytes=TILE_N * TILE_K * BYTES, alignment=1024),
    ]
    return SmemAB(name=name, pipeline_config=config, smem=allocations)


def build():
    """The schedule."""
    queue = WorkQueue(name="queue", tiles=pairs)
    rings = [ring_of("ring0"), ring_of("ring1")]
    turn = Turn(
        name="turn", pipeline_config=PipelineConfig(num_stages=1, pipeline_type=PipelineType.AsyncAsync)
    )
    gmem_c = GmemC(name="gmem_c")
    tasks = [
        Task(
            name="load",
            src_resources=[queue],
            dst_resources=rings,
            warp_idx=0,
            num_warps=1,
            num_registers=40,
            schedule=load(queue, *rings),
        )
    ]
    graph = {made: [queue] for made in (*rings, turn, gmem_c)}
    for number, (name, body) in enumerate((("first", first), ("second", second))):
        acc = Accumulator(name=f"acc{number}", space="rmem")
        allocation = SmemAllocation("c", size_bytes=TILE_M * TILE_N // SUBTILES * BYTES, alignment=1024)
        smem_c = SmemC(name=f"smem_c{number}", smem=[allocation], stages=2)
        groups = AsyncGroup("wgmma", f"mma_group{number}"), AsyncGroup("bulk_store", f"store_group{number}")
        barrier = NamedBarrier(1 + number, 128, f"epilogue{number}")
        ring = rings[number]
        tasks.append(
            Task(
                name=name,
                src_resources=[queue, ring, acc, smem_c] + ([turn] if number else []),
                dst_resources=[acc, smem_c, gmem_c] + ([] if number else [turn]),
                warp_idx=4 + 4 * number,
                num_warps=4,
                num_registers=232,
                schedule=body(queue, turn, ring, acc, smem_c, gmem_c, *groups, barrier),
            )
        )
        graph |= {acc: [ring], smem_c: [acc]}
        graph[gmem_c] = [*graph[gmem_c], smem_c]
    return TaskManager(tasks=tasks, resource_dependency_graph=graph, name="ping_pong")
