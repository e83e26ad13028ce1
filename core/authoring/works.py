"""Decorators that make a method of a resource a work of its schedule."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from math import isfinite
from typing import Any

from ..document import Ctas, Engine, Parameters, Value
from ..expressions import Expression
from .ctas import ctas
from .enums import WorkAttr
from .errors import refuse
from .integers import index_of

SPEC = "__warpdraft_work__"
UNSAID: Any = object()  # no footprint was given: that of the stock body's ``part``, else the default rule
NOTHING_DONE = {"RESUME", "NOP", "CACHE", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}


@dataclass(frozen=True)
class WorkSpec:
    """What the decorator was told; `lowering.work_record` turns it into a `document.Work`."""

    name: str
    role: str
    function: Callable[..., Any] | None
    engine: Engine | None = None
    view: bool = False
    returns: tuple[Any, ...] = ()
    auxiliary: bool = False
    footprint: Any = UNSAID
    tx: int | None = None
    body: str | None = None
    code: str = ""
    params: Parameters = ()
    ctas: Ctas = ""
    assumed: bool = False

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters that a schedule fills in: all but the resource and the stage info."""
        if self.function is None:
            return {}
        found = list(inspect.signature(inspect.unwrap(self.function)).parameters.values())[1:]
        return {
            p.name: p
            for p in found
            if p.name != "stage_info" and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        }

    @property
    def is_stub(self) -> bool:
        """Whether the method's own body does nothing."""
        import dis

        if self.function is None:
            return True
        code = inspect.unwrap(self.function).__code__
        return {i.opname for i in dis.get_instructions(code)} <= NOTHING_DONE


def producer_work(method: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Register a method that writes the resource. Usable bare or with options.

    ``engine``: "warp", "tma", "wgmma", "tcgen05", "cp_async", "bulk_store". ``footprint``: see `footprints.footprint`.
    ``tx``: bytes that a TMA copy delivers, and ``multicast``: to which CTAs of the cluster ("m", "n": those of its M or N;
    "all", "own", ranks). ``assumed``: what it touches is a hypothesis, which verdicts name.
    ``body``: a stock body; any further keyword is the stock body's own parameter. ``work_attrs``, ``returns``,
    ``view``: as for `consumer_work`. Raises ScheduleError for options that mean nothing.
    """
    return _decorate("producer", method, options)


def consumer_work(method: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Register a method that reads the resource; options as for `producer_work`.

    ``returns``: names or `TaskLocalVariable` fields of the values that it makes. ``view=True``: the value stands for the
    stage itself, read where the token is used. ``work_attrs=WorkAttr.AUXILIARY``: touches no bytes.
    """
    return _decorate("consumer", method, options)


def _decorate(role: str, method: Callable[..., Any] | None, options: dict[str, Any]) -> Any:
    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            setattr(function, SPEC, work_spec(role, function, **options))
        except ValueError as error:
            raise refuse(f"@{role}_work on {function.__name__}: {error}") from None
        return function

    return mark if method is None else mark(method)


def work_spec(
    role: str,
    function: Callable[..., Any],
    /,
    *,
    engine: Engine | str | None = None,
    view: bool = False,
    returns: Any = (),
    work_attrs: WorkAttr = WorkAttr.NONE,
    footprint: Any = UNSAID,
    tx: int | None = None,
    body: str | None = None,
    code: str = "",
    multicast: Any = None,
    assumed: bool = False,
    params: dict[str, Any] | None = None,
    **stock: Any,
) -> WorkSpec:
    """The spec of ``function``. Raises ValueError for an unknown engine or a parameter that cannot be stored."""
    if not isinstance(work_attrs, int):
        raise ValueError(f"work_attrs is a WorkAttr, not {work_attrs!r:.60}")
    if params is not None and not isinstance(params, dict):
        raise ValueError(f"params is a dict of the stock body's parameters, not {params!r:.60}")
    stock |= params or {}
    if tx is not None and (index_of(tx) is None or tx < 0):
        raise ValueError(f"tx is the bytes that a copy delivers, 0 or more, not {tx!r:.60}")
    several = returns if isinstance(returns, tuple | list) else (returns,)
    return WorkSpec(
        name=function.__name__,
        role=role,
        function=function,
        engine=None if engine is None else Engine(engine),
        view=view,
        returns=tuple(r for r in several if r is not None),
        auxiliary=bool(work_attrs & WorkAttr.AUXILIARY),
        footprint=footprint,
        tx=tx,
        body=body,
        code=code,
        ctas=ctas("multicast=", multicast),
        assumed=bool(assumed),
        params=tuple((key, plain(value)) for key, value in stock.items()),
    )


def plain(value: Any) -> Value:
    """``value`` as a document holds it. Raises ValueError for what cannot be stored."""
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{value} cannot be stored; use finite numbers")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return tuple(plain(v) for v in value)
    if (number := index_of(value)) is not None:  # NumPy's integers
        return number
    if isinstance(value, Expression):
        raise ValueError(
            f"{value} is known only at run time and cannot be an argument; symbols stand in loop bounds: pass the loop's "
            "variable or a token, or a number known at capture"
        )
    if isinstance(value, type):
        return value.__name__
    raise ValueError(f"{value!r} cannot be stored; use numbers, strings, booleans, None and tuples of them")


def works_of(cls: type) -> dict[str, WorkSpec]:
    """The works of a resource class, base classes first, in the order of their definition."""
    found: dict[str, WorkSpec] = {}
    for base in reversed(cls.__mro__):
        for name, value in vars(base).items():
            spec = getattr(value, SPEC, None)
            if isinstance(spec, WorkSpec):
                found[name] = spec
            elif name in found:
                del found[name]  # overridden by something that is no work
    return found


def return_names(spec: WorkSpec, cls: type) -> tuple[str, ...]:
    """The declared names, with fields looked up on the class that owns them."""
    return tuple(_return_name(value, cls) for value in spec.returns)


def _return_name(value: Any, cls: type) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dataclasses.Field) and value.name:
        return value.name
    for name, own in _members(cls):
        if own is value:
            return name
    raise refuse(f"returns={value!r} is neither a name nor a field of {cls.__name__}")


def _members(cls: type) -> Iterable[tuple[str, Any]]:
    for base in cls.__mro__:
        yield from vars(base).items()
