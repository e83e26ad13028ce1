"""What the tasks of a Hopper GEMM hand on: resources with stock bodies, cut to a plan."""

from warpdraft.assets.examples.hopper.plan import BYTES, Plan
from warpdraft.core import (
    MemoryResource,
    PipelineConfig,
    PipelineType,
    Signal,
    SmemAllocation,
    consumer_work,
    producer_work,
)


def coordinates(plan: Plan, part: int):
    """Which tile of A, B and C is meant."""

    class TileCoordinates(MemoryResource):
        """It has no storage: coordinates are computed where they are used."""

        @consumer_work(
            body="sm90.tile_coords",
            returns=("coord_m", "coord_n", "coord_k", *plan.batch),
            parts=(plan.parts, 1),
            part=(part, 0),
            splits=plan.splits,
        )
        def coords(self, stage_info): ...

    return TileCoordinates(name=f"coords{part}" if plan.parts > 1 else "coords")


def ring(plan: Plan, name: str):
    """The ring: each stage holds one tile of B, and one of A for each accumulator that reads it."""
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
            coords=(*plan.batch, "coord_m", "coord_k"),
            multicast="m" if across > 1 else None,
        )
        def load_a(self, stage_info, coord_m, coord_k, coord_l=None): ...

        if plan.apart:

            @producer_work(
                engine="tma",
                body="sm90.tma_load",
                tensor="a",
                part="a1",
                tile=(m, k),
                coords=(*plan.batch, "coord_m", "coord_k"),
                multicast="m" if across > 1 else None,
            )
            def load_a1(self, stage_info, coord_m, coord_k, coord_l=None): ...

        @producer_work(
            engine="tma",
            body="sm90.tma_load",
            tensor="b",
            part="b",
            tile=(n, k),
            coords=(*plan.batch, "coord_n", "coord_k"),
            multicast="n" if down > 1 else None,
        )
        def load_b(self, stage_info, coord_n, coord_k, coord_l=None): ...

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
            *(SmemAllocation(a, size_bytes=m * k * BYTES[plan.dtype], alignment=1024) for a in plan.a),
            SmemAllocation("b", size_bytes=n * k * BYTES[plan.dtype], alignment=1024),
        ],
    )


def accumulator(plan: Plan, name: str, a: str):
    """The tile of C in registers, spread over the warps; ``a``: the part of a stage that is its A."""

    again = {"period": plan.promote} if plan.promote else {}

    class Accumulator(MemoryResource):
        """Filled by wgmma, which reads a stage until the group wait that covers it."""

        @producer_work(
            engine="wgmma", body="sm90.wgmma", a=a, b="b", tile=plan.tile, overwrite="first_iter", **again
        )
        def mma(self, stage_info, tiles): ...

        if plan.promote:

            @consumer_work(body="sm90.read_fragment", returns="partial", subtiles=1)
            def whole(self, stage_info): ...

        else:

            @consumer_work(body="sm90.read_fragment", returns="fragment")
            def read(self, stage_info, subtile): ...

    return Accumulator(name=name, space="rmem")


def total(name: str):
    """The tile of C that sums over some k tiles are added up to."""

    class Total(MemoryResource):
        """In fp32: of operands of 8 bits, wgmma keeps fewer bits of a sum."""

        @producer_work(body="sm90.zero_fragment")
        def clear(self, stage_info): ...

        @producer_work(body="sm90.add_fragment")
        def add(self, stage_info, fragment): ...

        @consumer_work(body="sm90.read_fragment", returns="fragment")
        def read(self, stage_info, subtile): ...

    return Total(name=name, space="rmem")


def staging(plan: Plan, name: str):
    """Room for two subtiles of C."""

    class SmemC(MemoryResource):
        """Each warp stores its own rows."""

        @producer_work(body="sm90.store_fragment", footprint="warp_slice")
        def store(self, stage_info, fragment, subtile): ...

        @consumer_work(view=True, returns="staged")
        def staged(self, stage_info): ...

    allocation = SmemAllocation("c", size_bytes=plan.subtile_bytes, alignment=1024)
    return SmemC(name=name, smem=[allocation], stages=2)


def output(plan: Plan):
    """C in global memory."""

    class GmemC(MemoryResource):
        """Rows and columns beyond its edges are not written."""

        @producer_work(
            engine="bulk_store",
            body="sm90.bulk_store",
            tensor="c",
            tile=(plan.tile[0], plan.subtile),
            coords=(*plan.batch, "coord_m", "coord_n"),
            reduce="add" if plan.splits > 1 else "",
        )
        def bulk_store(self, stage_info, staged, subtile, coord_m, coord_n, coord_l=None): ...

    return GmemC(name="gmem_c")


def bias(plan: Plan):
    """A row vector in global memory."""

    class Bias(MemoryResource):
        """Each thread reads the values of its own columns."""

        @consumer_work(body="sm90.add_row", tensor="bias", returns="fragment")
        def add(self, stage_info, fragment, coord_n): ...

    return Bias(name="bias", space="gmem")


def activation(plan: Plan):
    """A function that is applied to every value."""

    class Activation(MemoryResource):
        """It has no storage: values stay in registers."""

        @consumer_work(body="sm90.activate", function=plan.activation, returns="fragment")
        def apply(self, stage_info, fragment): ...

    return Activation(name="activation")


def residual(plan: Plan, name: str):
    """A second ring: subtiles of the matrix that is added."""

    class SmemR(MemoryResource):
        """Each warp reads its own rows."""

        @producer_work(
            engine="tma",
            body="sm90.tma_load",
            tensor="residual",
            tile=(plan.tile[0], plan.subtile),
            coords=(*plan.batch, "coord_m", "coord_n"),
        )
        def load(self, stage_info, subtile, coord_m, coord_n, coord_l=None): ...

        @consumer_work(body="sm90.add_tile", returns="fragment", footprint="warp_slice")
        def add(self, stage_info, fragment): ...

    config = PipelineConfig(num_stages=2, pipeline_type=PipelineType.TmaAsync)
    allocation = SmemAllocation("r", size_bytes=plan.subtile_bytes, alignment=1024)
    return SmemR(name=name, pipeline_config=config, smem=[allocation])


class Turn(MemoryResource):
    """Whose turn it is to multiply; there is nothing to hold."""


def turn():
    """Handed to and fro like a tile: a pipeline of one stage without bytes."""
    config = PipelineConfig(
        num_stages=1,
        pipeline_type=PipelineType.AsyncAsync,
        producer_signaling_threads=Signal.WARP,
        consumer_signaling_threads=Signal.WARP,
    )
    return Turn(name="turn", pipeline_config=config)
