"""Stock work bodies that Blackwell brought."""

from ..body import Body
from .store_fragment import StoreFragment
from .tcgen05_mma import Tcgen05Mma
from .tmem_load import TmemLoad

BODIES: dict[str, Body] = {body.name: body for body in (Tcgen05Mma(), TmemLoad(), StoreFragment())}
