"""The NumPy twins of the stock work bodies, by name."""

from ..call import Body
from . import (
    bulk_store,
    epilogue,
    read_fragment,
    store_fragment,
    store_lanes,
    sums,
    tcgen05_cp,
    tcgen05_mma,
    tcgen05_mma_scaled,
    tile_coords,
    tma_load,
    tmem_load,
    tmem_store,
    wgmma,
)

MODULES = (
    tile_coords,
    tma_load,
    wgmma,
    read_fragment,
    store_fragment,
    bulk_store,
    tcgen05_cp,
    tcgen05_mma,
    tcgen05_mma_scaled,
    tmem_load,
    tmem_store,
    store_lanes,
)
BODIES: dict[str, Body] = {
    body.name: body for body in (*(module.BODY for module in MODULES), *epilogue.BODIES, *sums.BODIES)
}
