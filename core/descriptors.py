"""Values that stand for a stage: what a consumer work returns where the pipeline is read by an engine, not by threads.

Task Scheduling's consumer works of a pipeline to the tensor core return descriptors of the stage. A work of such an engine
that is given one reads the stage then, as it would through a view. So does one that is given what a consumer work of shared
memory has returned that names no engine: wgmma takes a descriptor as well as a fragment, and which of them it is nobody
has said. What threads have read (``engine="warp"``) is a value in registers.
"""

from __future__ import annotations

from .document import Engine, Resource, Space, Work
from .footprints import engine_of

READERS = (Engine.WGMMA, Engine.TCGEN05, Engine.BULK_STORE)  # engines that read shared or tensor memory


def describes(resource: Resource, work: Work) -> bool:
    """Whether what ``work`` returns is, or may be, a descriptor of the stage of ``resource``."""
    if work.role != "consumer" or work.view or work.auxiliary:
        return False
    if work.engine is None and resource.space is Space.SMEM:
        return True
    return resource.pipeline is not None and engine_of(resource, work) in READERS


def described(token: str) -> str:
    """Under which name the stage of a descriptor is kept."""
    return f"{token} of a stage"  # no token can be called so
