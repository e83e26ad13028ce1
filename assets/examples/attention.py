"""The schedule of a FlashAttention-style forward kernel for Hopper.

One warp loads Q once for each tile of rows, and blocks of K and V into two rings. Two warpgroups, each with half of the
rows, compute S = Q K^T, its softmax, and O += P V; they take turns at the tensor cores, so that one's softmax hides behind
the other's multiplications. O leaves through shared memory. A schedule only: it says nothing of tensors, so it is checked,
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

ROWS, BLOCK, DIM = 128, 128, 128  # rows of Q in a tile, of K and V in a block; length of a head
BYTES = 2  # of an element

blocks = symbol("blocks", min=1)  # of K and V that a tile looks at
tiles = symbol("tiles")


class SmemQ(MemoryResource):
    """The rows of one warpgroup."""

    @producer_work(engine="tma")
    def load(self, stage_info): ...

    @consumer_work(view=True, returns="q")
    def rows(self, stage_info): ...


class SmemK(MemoryResource):
    """Blocks of K."""

    @producer_work(engine="tma")
    def load(self, stage_info): ...

    @consumer_work(view=True, returns="k")
    def block(self, stage_info): ...


class SmemV(MemoryResource):
    """Blocks of V."""

    @producer_work(engine="tma")
    def load(self, stage_info): ...

    @consumer_work(view=True, returns="v")
    def block(self, stage_info): ...


class Turn(MemoryResource):
    """Whose turn it is at the tensor cores; there is nothing to hold."""


class Scores(MemoryResource):
    """S and then P, in registers."""

    @producer_work(engine="wgmma")
    def multiply(self, stage_info, q, k): ...

    @consumer_work(returns="p")
    def softmax(self, stage_info): ...


class Output(MemoryResource):
    """O in registers."""

    @producer_work(engine="wgmma")
    def multiply(self, stage_info, p, v): ...

    @consumer_work(returns="o")
    def normalised(self, stage_info): ...


class SmemO(MemoryResource):
    """O on its way out."""

    @producer_work(footprint="warp_slice")
    def store(self, stage_info, o): ...

    @consumer_work(view=True, returns="staged")
    def staged(self, stage_info): ...


class GmemO(MemoryResource):
    """O in global memory."""

    @producer_work(engine="bulk_store")
    def bulk_store(self, stage_info, staged): ...


@schedule
def load(queue, q0, q1, ring_k, ring_v):
    with work_tile_loop(queue):
        for q in (q0, q1):
            q.acquire()
            q.load()
            q.commit()
        with domain_loop(0, blocks):
            ring_k.acquire()
            ring_k.load()
            ring_k.commit()
            ring_v.acquire()
            ring_v.load()
            ring_v.commit()
        queue.get_and_advance_work_tile()


def step(q, ring_k, ring_v, scores, output, mma_group, take, give):
    """One block of K and V."""
    ring_k.wait()
    take()  # the tensor cores
    scores.multiply(q=q, k=ring_k.block())
    mma_group.commit()
    give()
    mma_group.wait(0)
    ring_k.release()
    p = scores.softmax()
    ring_v.wait()
    output.multiply(p=p, v=ring_v.block())
    mma_group.commit()
    mma_group.wait(0)
    ring_v.release()


def finish(output, smem_o, gmem_o, store_group, barrier):
    """O goes out; the buffer is free again when the copy has read it."""
    smem_o.store(o=output.normalised())
    fence_proxy_async()
    barrier.sync()
    with elect_warp(0):
        gmem_o.bulk_store(staged=smem_o.staged())
        store_group.commit()
        store_group.wait_read(0)
    barrier.sync()


def rows_of(
    queue, take, give, q, ring_k, ring_v, scores, output, smem_o, gmem_o, mma_group, store_group, barrier
):
    """Half of the rows of each tile: ``take`` waits for the turn at the tensor cores, ``give`` hands it on."""
    with work_tile_loop(queue):
        q.wait()
        rows = q.rows()
        with domain_loop(0, blocks):
            step(rows, ring_k, ring_v, scores, output, mma_group, take, give)
        q.release()
        finish(output, smem_o, gmem_o, store_group, barrier)
        queue.get_and_advance_work_tile()


@schedule
def upper(queue, turn, q, ring_k, ring_v, scores, output, smem_o, gmem_o, mma_group, store_group, barrier):
    rows_of(
        queue,
        turn.acquire,
        turn.commit,
        q,
        ring_k,
        ring_v,
        scores,
        output,
        smem_o,
        gmem_o,
        mma_group,
        store_group,
        barrier,
    )


@schedule
def lower(queue, turn, q, ring_k, ring_v, scores, output, smem_o, gmem_o, mma_group, store_group, barrier):
    rows_of(
        queue,
        turn.wait,
        turn.release,
        q,
        ring_k,
        ring_v,
        scores,
        output,
        smem_o,
        gmem_o,
        mma_group,
        store_group,
        barrier,
    )


def filled_by_tma(cls, name, stages, rows):
    """A ring of blocks of ``rows`` rows."""
    return cls(
        name=name,
        pipeline_config=PipelineConfig(num_stages=stages, pipeline_type=PipelineType.TmaAsync),
        smem=[SmemAllocation(name, size_bytes=rows * DIM * BYTES, alignment=1024)],
    )


def build():
    """The schedule."""
    queue = WorkQueue(name="queue", tiles=tiles)
    halves = [filled_by_tma(SmemQ, f"smem_q{i}", 1, ROWS // 2) for i in range(2)]
    ring_k, ring_v = filled_by_tma(SmemK, "smem_k", 2, BLOCK), filled_by_tma(SmemV, "smem_v", 2, BLOCK)
    turn = Turn(
        name="turn", pipeline_config=PipelineConfig(num_stages=1, pipeline_type=PipelineType.AsyncAsync)
    )
    gmem_o = GmemO(name="gmem_o")
    loaded = [*halves, ring_k, ring_v]
    graph = {made: [queue] for made in (*loaded, turn, gmem_o)}
    tasks = [
        Task(
            name="load",
            src_resources=[queue],
            dst_resources=loaded,
            warp_idx=0,
            num_warps=1,
            num_registers=24,
            schedule=load(queue, *loaded),
        )
    ]
    for i, (name, body) in enumerate((("upper", upper), ("lower", lower))):
        scores, output = Scores(name=f"scores{i}", space="rmem"), Output(name=f"output{i}", space="rmem")
        smem_o = SmemO(
            name=f"smem_o{i}", smem=[SmemAllocation("o", size_bytes=ROWS // 2 * DIM * BYTES, alignment=1024)]
        )
        groups = AsyncGroup("wgmma", f"mma_group{i}"), AsyncGroup("bulk_store", f"store_group{i}")
        barrier = NamedBarrier(1 + i, 128, f"epilogue{i}")
        used = (halves[i], ring_k, ring_v, scores, output, smem_o)
        tasks.append(
            Task(
                name=name,
                src_resources=[queue, *used] + ([turn] if i else []),
                dst_resources=[scores, output, smem_o, gmem_o] + ([] if i else [turn]),
                warp_idx=4 + 4 * i,
                num_warps=4,
                num_registers=240,
                schedule=body(queue, turn, *used, gmem_o, *groups, barrier),
            )
        )
        graph |= {scores: [halves[i], ring_k], output: [scores, ring_v], smem_o: [output]}
        graph[gmem_o] = [*graph[gmem_o], smem_o]
    return TaskManager(tasks=tasks, resource_dependency_graph=graph, name="attention")
