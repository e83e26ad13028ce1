"""The NumPy twins of the stock work bodies, by name."""

from ..call import Body
from . import bulk_store, read_fragment, store_fragment, tile_coords, tma_load, wgmma

BODIES: dict[str, Body] = {
    module.BODY.name: module.BODY
    for module in (tile_coords, tma_load, wgmma, read_fragment, store_fragment, bulk_store)
}
