"""What the tasks of a Blackwell GEMM hand on: resources with stock bodies, cut to a tile."""

from warpdraft.assets.examples.persistent_gemm import SmemC
from warpdraft.core import (
    GmemTensor,
    MemoryResource,
    SmemAllocation,
    Storage,
    consumer_work,
    producer_work,
)


def copied(tensor, tile, rows, **more):
    """A copy of a tile of ``tensor`` into the part of the same name; ``rows``: the coordinate that counts along its rows."""
    return producer_work(
        engine="tma",
        body="sm90.tma_load",
        tensor=tensor,
        part=tensor,
        tile=tile,
        coords=(rows, "coord_k"),
        **more,
    )


def product(tile, body="sm100.tcgen05_mma", **more):
    """MMAs of a stage, which they read until the commit behind them arrives; the first of a tile overwrites the last one."""
    return producer_work(engine="tcgen05", body=body, a="a", b="b", tile=tile, overwrite="first_iter", **more)


def drained(subtiles):
    """An accumulator, without its products: a lane for each row, a column for each column, loaded in ``subtiles`` parts."""

    class Drained(MemoryResource):
        """A tile of C in tensor memory."""

        @consumer_work(engine="tcgen05_ld", body="sm100.tmem_load", subtiles=subtiles, returns="fragment")
        def load(self, stage_info, subtile): ...  # in registers once the warp has waited for its loads

    return Drained


class Cleared(MemoryResource):
    """The columns of an accumulator, seen by who holds one that no MMA has written."""

    @producer_work(engine="tcgen05_st", body="sm100.tmem_store")
    def clear(self, stage_info): ...  # each warp its lanes, there once it has waited for its stores


def cleared(columns, stages=1, offset=0):
    """The same columns as the accumulator at ``offset``, whose pipeline says who may use them."""
    return Cleared(name="cleared", space="tmem", storage=Storage(columns, stages, offset=offset))


class SubtileC(SmemC):
    """Two subtiles of C on their way out."""

    @producer_work(body="sm100.store_fragment", footprint="warp_slice")
    def store(self, stage_info, fragment, subtile): ...


def staging(rows, columns, size=2):
    """Room for two subtiles of C, of elements of ``size`` bytes."""
    subtile = SmemAllocation("c", size_bytes=rows * columns * size, alignment=1024)
    return SubtileC(name="smem_c", smem=[subtile], stages=2)


def output(rows, columns):
    """C in global memory, stored in tiles of ``rows`` x ``columns``."""

    class GmemC(MemoryResource):
        """Rows and columns beyond its edges are not written."""

        @producer_work(
            engine="bulk_store",
            body="sm90.bulk_store",
            tensor="c",
            tile=(rows, columns),
            coords=("coord_m", "coord_n"),
        )
        def bulk_store(self, stage_info, staged, coord_m, coord_n, subtile): ...

    return GmemC(name="gmem_c")


def matrix(name, rows, columns, dtype="dtype", **more):
    """A tensor whose rows are contiguous."""
    return GmemTensor(name, (rows, columns), dtype, order=(0, 1), **more)
