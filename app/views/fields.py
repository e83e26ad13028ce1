"""A form's fields: plain data that the page draws; it sends back a field's key with the text that was typed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Form = dict[str, Any]


def field(
    key: str, label: str, value: Any, kind: str = "text", options: Iterable[str] = (), hint: str = ""
) -> dict:
    """One field. ``kind``: "text", "int", "bool", "choice" (one of ``options``), "combo" (text, ``options`` offered)."""
    text = value if isinstance(value, bool) else "" if value is None else str(value)
    return {"key": key, "label": label, "kind": kind, "value": text, "options": list(options), "hint": hint}
