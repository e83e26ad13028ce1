"""The source of a work's own body, as a document keeps it: the constants that it uses, then the method."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

CONSTANTS = (bool, int, float, str, type(None))


def embedded(function: Callable[..., Any] | None) -> str:
    """The text of ``function`` behind lines that give its names from outside their values, where those are constants; ""
    where its source cannot be read. Nothing is run."""
    if function is None:
        return ""
    inner = inspect.unwrap(function)
    try:
        source = textwrap.dedent(inspect.getsource(inner))
    except (OSError, TypeError):
        return ""
    outside = inspect.getclosurevars(inner)
    known = {**outside.globals, **outside.nonlocals}
    lines = [f"{name} = {value!r}" for name, value in sorted(known.items()) if _is_constant(value)]
    return "\n".join([*lines, source.rstrip()])


def _is_constant(value: Any) -> bool:
    return type(value) in CONSTANTS or (type(value) is tuple and all(map(_is_constant, value)))
