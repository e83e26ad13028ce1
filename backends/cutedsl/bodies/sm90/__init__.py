"""Stock work bodies for Hopper."""

from ..body import Body
from .activate import Activate
from .add_row import AddRow
from .add_tile import AddTile
from .bulk_store import BulkStore
from .read_fragment import ReadFragment
from .store_fragment import StoreFragment
from .sums import AddFragment, ZeroFragment
from .tile_coords import TileCoords
from .tma_load import TmaLoad
from .wgmma import Wgmma

BODIES: dict[str, Body] = {
    body.name: body
    for body in (
        TileCoords(),
        TmaLoad(),
        Wgmma(),
        ReadFragment(),
        ZeroFragment(),
        AddFragment(),
        Activate(),
        AddRow(),
        AddTile(),
        StoreFragment(),
        BulkStore(),
    )
}
