"""What an author gives that is no integer: names, yes or no, lists, mappings.

Each check raises ScheduleError at the author's line, and calls the value ``what``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import refuse


def shown(value: Any) -> str:
    """``value`` in a message, cut short."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def text(what: str, value: Any) -> str:
    """``value``, if it is text."""
    if not isinstance(value, str):
        raise refuse(f"{what} must be a string, not {shown(value)}")
    return str(value)


def name(what: str, value: Any) -> str:
    """``value``, if it is text that can be shown in one line; "" is none."""
    if text(what, value) and not value.isprintable():
        raise refuse(f"{what} must be printable, without line breaks and control characters, not {shown(value)}")
    return str(value)


def optional_text(what: str, value: Any) -> str | None:
    """As `text`; None stays None."""
    return None if value is None else text(what, value)


def flag(what: str, value: Any) -> bool:
    """``value``, if it is True or False (NumPy's too)."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
        raise refuse(f"{what} must be True or False, not {shown(value)}")
    return bool(value)


def listed(what: str, value: Any, kinds: type | tuple[type, ...], words: str) -> list[Any]:
    """``value`` as a list, if it is a list or tuple of ``kinds``, called ``words``."""
    if not isinstance(value, list | tuple):
        raise refuse(f"{what} must be a list of {words}, not {shown(value)}")
    for item in value:
        if not isinstance(item, kinds):
            raise refuse(f"{what} must hold {words}, not {shown(item)}")
    return list(value)


def mapping(what: str, value: Any) -> dict[str, Any]:
    """``value`` as a dict, if it maps names; None maps none."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise refuse(f"{what} must be a mapping of names, not {shown(value)}")
    return {text(f"a name in {what}", key): item for key, item in value.items()}
