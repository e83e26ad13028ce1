"""What a value must be before an edit puts it into a document."""

from __future__ import annotations

from typing import Any

from ..document import Document, Footprint
from .base import EditError

MODES = ("own", "peer", "all", "m", "n")  # as `core.authoring.ctas` takes them


def whole(value: Any, least: int = 0) -> bool:
    """Whether ``value`` is an integer of at least ``least``."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def text(value: Any) -> bool:
    """Whether ``value`` is a string."""
    return isinstance(value, str)


def texts(value: Any) -> bool:
    """Whether ``value`` is a tuple of strings."""
    return isinstance(value, tuple) and all(isinstance(item, str) for item in value)


def wholes(value: Any, length: int, least: int = 1) -> bool:
    """Whether ``value`` is a tuple of ``length`` integers of at least ``least``."""
    return isinstance(value, tuple) and len(value) == length and all(whole(item, least) for item in value)


def pairs(value: Any) -> bool:
    """Whether ``value`` is a tuple of (name, value) pairs, each name once."""
    good = isinstance(value, tuple) and all(
        isinstance(item, tuple) and len(item) == 2 and text(item[0]) for item in value
    )
    return good and len({name for name, _ in value}) == len(value)


def ctas(value: Any) -> bool:
    """Whether ``value`` names CTAs of a cluster: "", a word, or ranks."""
    if isinstance(value, str):
        return value in ("", *MODES)
    return isinstance(value, tuple) and bool(value) and all(whole(rank) for rank in value)


def footprint(value: Any) -> bool:
    """Whether ``value`` is a footprint whose numbers can be bytes of something."""
    if not isinstance(value, Footprint) or value.kind not in ("whole", "warp_slice", "range", "ranges"):
        return False
    spans = all(wholes(span, 2, 0) for span in value.ranges)
    return (
        whole(value.offset)
        and whole(value.bytes)
        and spans
        and (value.kind != "ranges" or bool(value.ranges))
    )


def need(good: bool, what: str, must: str, value: Any) -> None:
    """Raises EditError unless ``good``: "``what`` must be ``must``, not ``value``"."""
    if not good:
        raise EditError(f"{what} must be {must}, not {value!r}")


def need_resources(document: Document, names: tuple[str, ...]) -> None:
    """Raises EditError where ``document`` has no resource of one of these names."""
    known = {resource.name for resource in document.resources}
    for name in names:
        if name not in known:
            raise EditError(f"there is no resource called {name}")
