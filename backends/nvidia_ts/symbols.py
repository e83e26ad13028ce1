"""Run-time bounds as symbols: one value or one getter with its fields is one symbol, everything else is independent."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import index
from typing import Any

from warpdraft.core.expressions import Integer, Symbol

from .getters import identity_of, least, name_of
from .trace import Trace


class Symbols:
    """The symbols, predicates and conditions of one manager, each named once."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._named: dict[str, dict[Hashable, str]] = {}
        self._symbols: dict[str, Symbol] = {}
        self._kept: list[Any] = []

    def bound(self, value: Any, task: str, what: str) -> Integer:
        """A loop bound: an integer as it is, a run-time value as a symbol. A step is at least 1."""
        known = integer_of(value)
        if known is not None:
            return known
        self._kept.append(value)
        key = value_key(value)
        name = self.trace.values.get(id(value)) or f"{task}_{what}"
        return self._symbol(self.name("symbol", name, key), int(what == "step"), False)

    def getter(self, function: Callable[..., Any], task: Any, per_tile: bool) -> Integer:
        """What a ``get_domain`` gives: a symbol of its own in each work tile."""
        name = name_of(function, "stop").replace(".", "_")
        key = identity_of(function, task)
        return self._symbol(self.name("symbol", name, key), least(function, task), per_tile)

    def predicate(self, function: Callable[..., Any] | None, queue: Any) -> str:
        """The name of a ``skip_if``: one name where it is one predicate."""
        if function is None:
            return ""
        owner = queue if getattr(function, "__self__", None) is None else None
        return self.name("predicate", name_of(function, "predicate"), identity_of(function, owner))

    def condition(self, key: Hashable, wanted: str) -> str:
        """The name of a run-time condition."""
        return self.name("condition", wanted, key)

    def name(self, kind: str, wanted: str, key: Hashable) -> str:
        """``wanted``, or ``wanted_2``, ... where another of the kind is called so."""
        taken = self._named.setdefault(kind, {})
        if key not in taken:
            name, count = wanted, 1
            while name in taken.values():
                count += 1
                name = f"{wanted}_{count}"
            taken[key] = name
        return taken[key]

    def _symbol(self, name: str, min: int, per_tile: bool) -> Symbol:
        found = self._symbols.setdefault(name, Symbol(name, min, per_tile=per_tile))
        if per_tile != found.per_tile:  # of a task with tiles and of one without: not one value
            return self._symbol(f"{name}_once", min, per_tile)
        return found


def integer_of(value: Any) -> int | None:
    """The integer that ``value`` is when the schedule is built; None for what is known only at run time."""
    for known in (value, getattr(value, "value", None)):
        if isinstance(known, bool):
            return int(known)
        if isinstance(known, int):
            return known
    if type(value).__module__.split(".")[0] == "numpy":
        return index(value)
    return None


def value_key(value: Any) -> Hashable:
    """Equal for what is one value: a DSL integer is known by the value that it wraps."""
    inner = getattr(value, "value", value)
    owner, number = getattr(inner, "owner", None), getattr(inner, "result_number", None)
    if number is None:
        owner, number = owner, getattr(inner, "arg_number", None)
    if owner is not None and number is not None:
        return "ssa", hash(owner), number
    return id(inner)
