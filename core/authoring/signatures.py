"""What functions of a script ask for."""

from __future__ import annotations

import inspect
from typing import Any


def needed(function: Any) -> str:
    """The parameters, "(size)", without which ``function`` cannot be called; "" where there are none."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return "(...)"
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    names = [p.name for p in parameters if p.default is inspect.Parameter.empty and p.kind not in free]
    return f"({', '.join(names)})" if names else ""
