"""The ways to say in a schedule which bytes of a stage a work touches."""

from __future__ import annotations

from collections.abc import Iterable

from ..document import WARP_SLICE, WHOLE, Footprint, Storage
from .errors import ScheduleError
from .works import UNSAID


def footprint(value: object, storage: Storage | None, whole: str, where: str) -> Footprint | None:
    """The footprint that ``value`` means on a resource with ``storage``.

    ``value``: None (default rule), a Footprint, "whole", "warp_slice", a part's name, (offset, bytes), or a list with one
    (offset, bytes) for each warp. ``whole`` is the name of a resource's only allocation. Raises ScheduleError.
    """
    if value is None or value is UNSAID:
        return None
    if isinstance(value, Footprint):
        return value
    if isinstance(value, str):
        for part in storage.parts if storage else ():
            if part.name == value:
                return Footprint("range", part.offset, part.bytes)
        if value in ("whole", whole):
            return WHOLE
        if value == "warp_slice":
            return WARP_SLICE
        names = [p.name for p in storage.parts] if storage else []
        raise ScheduleError(f"{where}: footprint {value!r} is no part of the stage; parts: {names or 'none'}")
    pairs = list(value) if isinstance(value, Iterable) else []
    if _pair(pairs):
        return Footprint("range", pairs[0], pairs[1])
    if pairs and all(_pair(p) for p in pairs):
        return Footprint("ranges", ranges=tuple((o, b) for o, b in pairs))
    raise ScheduleError(
        f"{where}: footprint {value!r} is not (offset, bytes) of 0 or more, a list of them, or a name"
    )


def _pair(value: object) -> bool:
    return (
        isinstance(value, tuple | list) and len(value) == 2 and all(type(v) is int and v >= 0 for v in value)
    )
