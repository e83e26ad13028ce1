"""Stock work bodies that Blackwell brought."""

from ..body import Body
from .store_fragment import StoreFragment
from .tcgen05_cp import Tcgen05Cp
from .tcgen05_mma import Tcgen05Mma
from .tcgen05_mma_scaled import Tcgen05MmaScaled
from .tmem_load import TmemLoad
from .tmem_store import TmemStore

ALL: tuple[Body, ...] = (
    Tcgen05Mma(),
    Tcgen05MmaScaled(),
    Tcgen05Cp(),
    TmemLoad(),
    TmemStore(),
    StoreFragment(),
)
BODIES: dict[str, Body] = {body.name: body for body in ALL}
