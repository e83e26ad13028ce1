"""Stock work bodies by name, in one folder for each architecture that brought their instructions."""

from .body import Body
from .sm90 import BODIES as HOPPER
from .sm100 import BODIES as BLACKWELL

BODIES: dict[str, Body] = {**HOPPER, **BLACKWELL}
