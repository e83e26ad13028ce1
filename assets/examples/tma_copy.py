"""A copy of global memory, by bulk copies alone: the least that uses a ring.

One warp copies 64 x 128 chunks into a ring of eight stages, another copies them out of the same stages. No thread
touches the data. A CTA works on one band of 64 rows after another; the chunks of a band are its steps.
"""

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
    producer_work,
    schedule,
    symbol,
    work_tile_loop,
)

ROWS, COLUMNS = 64, 512  # of a band; the tensors are as wide as a band
CHUNK = 128
STAGES = (
    8  # enough bytes in flight to keep the memory busy: 4 stages of 64 columns reach 0.82 of a device copy
)
BYTES = 2  # of an element

chunks = symbol("chunks", min=1)
tiles = symbol("tiles")


class TileCoordinates(MemoryResource):
    """Says which band and chunk is meant."""

    @consumer_work(body="sm90.tile_coords", returns=("coord_m", "coord_n", "coord_k"))
    def coords(self, stage_info): ...


class Ring(MemoryResource):
    """Chunks on their way from A to C."""

    @producer_work(
        engine="tma", body="sm90.tma_load", tensor="a", tile=(ROWS, CHUNK), coords=("coord_m", "coord_k")
    )
    def load(self, stage_info, coord_m, coord_k): ...

    @consumer_work(view=True, returns="staged")
    def staged(self, stage_info): ...


class GmemC(MemoryResource):
    """C in global memory."""

    @producer_work(
        engine="bulk_store",
        body="sm90.bulk_store",
        tensor="c",
        tile=(ROWS, CHUNK),
        coords=("coord_m", "coord_k"),
    )
    def bulk_store(self, stage_info, staged, coord_m, coord_k): ...


@schedule
def load(coords, queue, ring):
    with work_tile_loop(queue):
        with domain_loop(0, chunks):
            coord_m, _, coord_k = coords.coords()
            ring.acquire()
            ring.load(coord_m=coord_m, coord_k=coord_k)
            ring.commit()
        queue.get_and_advance_work_tile()


@schedule
def store(coords, queue, ring, gmem_c, store_group):
    with work_tile_loop(queue):
        with domain_loop(0, chunks) as chunk:
            coord_m, _, coord_k = coords.coords()
            ring.wait()
            gmem_c.bulk_store(staged=ring.staged(), coord_m=coord_m, coord_k=coord_k)
            store_group.commit()
            store_group.wait_read(1)  # the chunk before this one has been read ...
            with chunk.every(1, start=1):
                ring.release()  # ... so its stage may be filled again
        store_group.wait_read(0)
        ring.release()
        queue.get_and_advance_work_tile()


def kernel():
    """What is computed, and for which sizes it is run by default."""
    M = symbol("M")
    bands = ceil_div(M, ROWS)
    return Kernel(
        "copy",
        tensors=[
            GmemTensor("a", (M, COLUMNS), "dtype", order=(0, 1)),
            GmemTensor("c", (M, COLUMNS), "dtype", order=(0, 1), role="out"),
        ],
        parameters={"dtype": "fp16", "tile": (ROWS, COLUMNS, CHUNK)},
        symbols={"chunks": COLUMNS // CHUNK, "tiles": ceil_div(bands, symbol("grid"))},
        grid=bands,
        reference="copy",
        sizes={"M": 1 << 20},  # 1 GiB
        small_sizes={"M": 512},
    )


def build():
    """The schedule."""
    coords = TileCoordinates(name="coords")
    queue = WorkQueue(name="queue", tiles=tiles)
    ring = Ring(
        name="ring",
        pipeline_config=PipelineConfig(num_stages=STAGES, advance_on_wait=True),
        smem=[SmemAllocation("chunk", size_bytes=ROWS * CHUNK * BYTES, alignment=1024)],
    )
    gmem_c = GmemC(name="gmem_c")
    store_group = AsyncGroup("bulk_store")

    load_task = Task(
        name="load",
        src_resources=[coords, queue],
        dst_resources=[ring],
        warp_idx=0,
        num_warps=1,
        schedule=load(coords, queue, ring),
    )
    store_task = Task(
        name="store",
        src_resources=[coords, queue, ring],
        dst_resources=[gmem_c],
        warp_idx=1,
        num_warps=1,
        schedule=store(coords, queue, ring, gmem_c, store_group),
    )
    return TaskManager(
        tasks=[load_task, store_task],
        resource_dependency_graph={ring: [coords, queue], gmem_c: [ring, coords, queue]},
        kernel=kernel(),
        name="tma_copy",
    )


if __name__ == "__main__":
    build().print_and_verify()
