"""Values that stand for a stage: what a consumer work returns where the pipeline is read by an engine, not by threads.

Task Scheduling's consumer works of a pipeline to the tensor core return descriptors of the stage. A work of such an engine
that is given one reads the stage then, as it would through a view. What threads have read is a value in registers.
"""

from __future__ import annotations

from .document import Engine, Resource, Work
from .footprints import engine_of

READERS = (Engine.WGMMA, Engine.TCGEN05, Engine.BULK_STORE)  # engines that read shared or tensor memory


def describes(resource: Resource, work: Work) -> bool:
    """Whether what ``work`` returns is a descriptor of the stage of ``resource``."""
    if resource.pipeline is None or work.role != "consumer" or work.view or work.auxiliary:
        return False
    return engine_of(resource, work) in READERS


def described(token: str) -> str:
    """Under which name the stage of a descriptor is kept."""
    return f"{token} of a stage"  # no token can be called so
