"""Between the document's records and plain JSON values, driven by the fields and types of the dataclasses.

Defaults are left out. A record in a place where several kinds may stand says which it is with the key "is". A source line
is "file:line". A tuple of (name, value) pairs with distinct names is an object.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any, NamedTuple, Union

from . import document
from .document import Source

TAG = "is"
SCALARS = (bool, int, float, str)


class Misfit(ValueError):
    """A value that does not fit its place; ``path`` leads from the root to it."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path

    def inside(self, step: str) -> Misfit:
        """The same, seen from one level further out."""
        separator = "" if self.path.startswith(("[", ".")) or not self.path else "."
        return Misfit(str(self), f"{step}{separator}{self.path}")


class AnyValue:
    """Stands for `document.Value`, which refers to itself."""


# Types that refer to themselves by name cannot be evaluated by `typing`: they are looked up here first.
LOCAL = {"Value": AnyValue, "Parameters": tuple[tuple[str, AnyValue], ...]}


class Shape(NamedTuple):
    """A field of a record: its name, its type, its default (MISSING: required)."""

    name: str
    hint: Any
    default: Any


@functools.cache
def shapes(cls: type) -> dict[str, Shape]:
    """The fields of record ``cls`` by name."""
    hints = typing.get_type_hints(cls, vars(document) | LOCAL, LOCAL)
    return {f.name: Shape(f.name, hints[f.name], f.default) for f in fields(cls)}


def encode(value: Any, hint: Any) -> Any:
    """``value`` of type ``hint`` as a JSON value."""
    if isinstance(value, Source):
        return str(value)
    if is_dataclass(value):
        tag = {TAG: type(value).__name__.lower()} if len(_records(hint)) > 1 else {}
        kept = {
            name: encode(getattr(value, name), shape.hint)
            for name, shape in shapes(type(value)).items()
            if not _same(getattr(value, name), shape.default)
        }
        return tag | kept
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        hint = _tuple_among(hint)
        items = _item_hints(hint, len(value))
        if _is_mapping(hint) and len(dict(value)) == len(value):
            pair = typing.get_args(items[0])[1] if items else None
            return {key: encode(item, pair) for key, item in value}
        return [encode(item, h) for item, h in zip(value, items, strict=True)]
    return value


def decode(value: Any, hint: Any) -> Any:
    """The inverse of `encode`. Raises Misfit."""
    if hint is AnyValue:
        return _decode_any(value)
    if hint is Source:
        return _decode_source(value)
    if is_dataclass(hint):
        return _decode_record(value, hint)
    origin = typing.get_origin(hint)
    if origin in (Union, types.UnionType):
        return _decode_union(value, hint)
    if origin is tuple:
        return _decode_tuple(value, hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _decode_enum(value, hint)
    if hint is type(None):
        return _expect(value, value is None, "null")
    return _expect(value, type(value) is hint, NAMES[hint])


NAMES = {int: "an integer", str: "a string", bool: "true or false", float: "a number"}


def _decode_record(value: Any, cls: type, tagged: bool = False) -> Any:
    _expect(value, isinstance(value, dict), f"an object ({cls.__name__})")
    known = shapes(cls)
    found = {}
    for key, item in value.items():
        if key == TAG and tagged:
            continue
        if key not in known:
            raise Misfit(f"{cls.__name__} has no field {key!r}; fields: {', '.join(known)}").inside(key)
        found[key] = _at(key, decode, item, known[key].hint)
    missing = [name for name, shape in known.items() if shape.default is MISSING and name not in found]
    if missing:
        raise Misfit(f"{cls.__name__} needs the field {missing[0]!r}")
    return cls(**found)


def _decode_union(value: Any, hint: Any) -> Any:
    members, records = typing.get_args(hint), _records(hint)
    if value is None and type(None) in members:
        return None
    if isinstance(value, dict) and records:
        if len(records) == 1:
            return _decode_record(value, records[0])
        kinds = {cls.__name__.lower(): cls for cls in records}
        kind = value.get(TAG)
        if not isinstance(kind, str) or kind not in kinds:
            raise Misfit(f"unknown kind {_show(kind)}; kinds: {', '.join(kinds)}").inside(TAG)
        return _decode_record(value, kinds[kind], tagged=True)
    if AnyValue in members:
        return _decode_any(value)
    if Source in members:
        return _decode_source(value)
    plain = [m for m in members if m is not type(None) and m not in records]
    if not plain:
        raise Misfit(f"expected an object, found {_show(value)}")
    listed = [m for m in plain if typing.get_origin(m) is tuple]
    return decode(value, listed[0] if listed and isinstance(value, list) else plain[0])


def _decode_tuple(value: Any, hint: Any) -> Any:
    if isinstance(value, dict) and _is_mapping(hint):
        item = typing.get_args(typing.get_args(hint)[0])[1]
        return tuple((key, _at(key, decode, inner, item)) for key, inner in value.items())
    _expect(value, isinstance(value, list), "an object or a list" if _is_mapping(hint) else "a list")
    hints = _item_hints(hint, len(value))
    if len(hints) != len(value):
        raise Misfit(f"expected {len(hints)} values, found {len(value)}")
    return tuple(_at(f"[{i}]", decode, v, h) for i, (v, h) in enumerate(zip(value, hints, strict=True)))


def _decode_any(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_at(f"[{i}]", _decode_any, item) for i, item in enumerate(value))
    return _expect(
        value, value is None or isinstance(value, SCALARS), "a number, a string, true, false, null or a list"
    )


def _decode_enum(value: Any, cls: type[Enum]) -> Enum:
    known = [member.value for member in cls]
    if value not in known:
        raise Misfit(f"{_show(value)} is no {cls.__name__}; use one of {', '.join(map(str, known))}")
    return cls(value)


def _decode_source(value: Any) -> Source:
    file, colon, line = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not colon or not line.lstrip("-").isdecimal():
        raise Misfit(f'expected a source line like "gemm.py:12", found {_show(value)}')
    return Source(file, int(line))


def _at(step: str, decoder: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return decoder(*arguments)
    except Misfit as misfit:
        raise misfit.inside(step) from None


def _expect(value: Any, fits: bool, wanted: str) -> Any:
    if not fits:
        raise Misfit(f"expected {wanted}, found {_show(value)}")
    return value


def _show(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return "null" if value is None else repr(value)[:60]


def _records(hint: Any) -> tuple[type, ...]:
    """The record types among the members of a union (Source is text)."""
    members = typing.get_args(hint) if typing.get_origin(hint) in (Union, types.UnionType) else (hint,)
    return tuple(m for m in members if is_dataclass(m) and m is not Source)


def _tuple_among(hint: Any) -> Any:
    """The member of a union that a tuple is meant by."""
    if typing.get_origin(hint) not in (Union, types.UnionType):
        return hint
    return next(m for m in typing.get_args(hint) if m is AnyValue or typing.get_origin(m) is tuple)


def _item_hints(hint: Any, count: int) -> list[Any]:
    arguments = typing.get_args(hint)
    if not arguments:
        return [AnyValue] * count
    return [arguments[0]] * count if arguments[-1] is Ellipsis else list(arguments)


@functools.cache
def _is_mapping(hint: Any) -> bool:
    """Whether ``hint`` is tuple[tuple[str, X], ...]."""
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is not tuple or len(arguments) != 2 or arguments[-1] is not Ellipsis:
        return False
    pair = typing.get_args(arguments[0])
    return typing.get_origin(arguments[0]) is tuple and len(pair) == 2 and pair[0] is str


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and value == default
