"""Loops and guarded blocks of a schedule."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..document import GuardKind
from ..expressions import LoopVariable, Operation, Symbol, symbol
from .errors import refuse
from .frames import caller, stored_as
from .given import optional_text, text
from .integers import integer, optional_integer, size
from .queues import WorkQueue
from .recording import CapturedGuard, CapturedLoop, Recorder, recorder
from .resources import MemoryResource
from .runtime import RunTimeInteger
from .tokens import DataFlowToken


class LoopHandle(RunTimeInteger):
    """What ``with domain_loop(...) as k`` yields. It names the loop; as a work's argument it is the loop's value, and so it
    is in expressions (``stage=k % 3``)."""

    def __init__(self, recorder: Recorder, var: str) -> None:
        super().__init__(recorder, LoopVariable(var))
        self._var = var

    def __repr__(self) -> str:
        return f"<loop {self._var}>"

    def loop_variable(self, at: Recorder | None) -> str:
        """The loop's name in the schedule of ``at``; a loop of another schedule stays unresolved."""
        return self._var if at is self._recorder else f"{self._recorder.name}:{self._var}"

    def first_iter(self) -> Block:
        """A block that runs in the first iteration."""
        return self._guard(GuardKind.FIRST_ITER)

    def last_iter(self) -> Block:
        """A block that runs in the last iteration."""
        return self._guard(GuardKind.LAST_ITER)

    def every(self, period: int, start: int = 0) -> Block:
        """A block that runs in iterations ``start``, ``start + period``, ..."""
        return self._guard(
            GuardKind.EVERY,
            period=integer("the period of every()", period),
            start=integer("the start of every()", start),
        )

    def skippable(self) -> Block:
        """A block that is left out on tiles that the tile loop skips."""
        return self._guard(GuardKind.SKIPPABLE)

    def _guard(self, kind: GuardKind, **fields: Any) -> Block:
        at = recorder(f"{kind.value}()")
        return Block(at, CapturedGuard(0, kind, caller().source, loop=self.loop_variable(at), **fields))


class Block:
    """A guarded ``with`` block."""

    def __init__(self, recorder: Recorder, node: CapturedGuard) -> None:
        self._recorder = recorder
        self._node = node
        recorder.expect(node, f"{node.kind.value}()")

    def __enter__(self) -> None:
        self._recorder.open(self._node)

    def __exit__(self, *exception: object) -> None:
        self._recorder.close()


class LoopBlock:
    """A loop's ``with`` block; the loop is called as the schedule calls it: ``as k``."""

    def __init__(self, recorder: Recorder, node: CapturedLoop, name: str | None) -> None:
        self._recorder = recorder
        self._node = node
        self._name = name
        recorder.expect(node, "domain_loop()" if node.kind == "domain" else "work_tile_loop()")

    def __enter__(self) -> LoopHandle:
        wanted = stored_as(sys._getframe(1)) or self._node.var
        self._node.var = self._recorder.name_once(wanted) if self._name is None else self._name
        self._recorder.open(self._node)
        return LoopHandle(self._recorder, self._node.var)

    def __exit__(self, *exception: object) -> None:
        self._recorder.close()


def domain_loop(*bounds: Any, unroll: int | None = None, name: str | None = None) -> LoopBlock:
    """A run-time loop: ``domain_loop(stop)``, ``(start, stop)`` or ``(start, stop, step)``.

    Bounds are integers, symbols, expressions of them, or a function whose name then stands for a symbol. ``name``: the
    loop's, where it is not the variable after ``as``. Raises ScheduleError for anything else.
    """
    at = recorder("domain_loop()")
    if not 1 <= len(bounds) <= 3:
        raise refuse("domain_loop() takes (stop), (start, stop) or (start, stop, step)")
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    sizes = (_bound("start", start), _bound("stop", stop), _bound("step", step))
    unroll = optional_integer("unroll=", unroll, 0)
    node = CapturedLoop(0, "domain", "k", caller().source, sizes, unroll=unroll)
    return LoopBlock(at, node, optional_text("name of a loop", name))


def work_tile_loop(wq: Any, skip_if: Any = None, *, tiles: Any = None, name: str | None = None) -> LoopBlock:
    """The persistent loop over the tiles of work queue ``wq``.

    ``skip_if``: the predicate under which `skippable` blocks are left out, as a name or a function (its name counts: roles
    that share a pipeline must use the same). ``tiles``: number of tiles, where it is not the queue's own. ``name``: as for
    `domain_loop`.
    """
    at = recorder("work_tile_loop()")
    if not isinstance(wq, WorkQueue) and not (isinstance(wq, MemoryResource) and tiles is not None):
        raise refuse(f"work_tile_loop() needs a WorkQueue, not {type(wq).__name__}")
    stop = _bound("tiles", wq.tiles if tiles is None else tiles)
    node = CapturedLoop(0, "tile", "tile", caller().source, (0, stop, 1), wq, _predicate(skip_if))
    return LoopBlock(at, node, optional_text("name of a loop", name))


def when_true(cond: Any, key: Any = None) -> Block:
    """A block that runs where ``cond`` holds: a token of this task, an `Every`, or anything else at run time.

    Blocks with equal ``key`` run together, in all tasks; by default a token's key is its resource, work and name.
    """
    return _condition(GuardKind.WHEN_TRUE, cond, key)


def when_false(cond: Any, key: Any = None) -> Block:
    """A block that runs where ``cond`` does not hold; see `when_true`."""
    return _condition(GuardKind.WHEN_FALSE, cond, key)


def elect_warp(warp: int = 0) -> Block:
    """A block for warp ``warp`` of the task alone, counted from the task's first."""
    at = recorder("elect_warp()")
    return Block(
        at, CapturedGuard(0, GuardKind.ELECT_WARP, caller().source, warp=integer("elect_warp()", warp))
    )


def elect_lane() -> Block:
    """A block for one lane of each warp."""
    at = recorder("elect_lane()")
    return Block(at, CapturedGuard(0, GuardKind.ELECT_LANE, caller().source))


def cta_rank(rank: int) -> Block:
    """A block for CTA ``rank`` of the cluster alone."""
    at = recorder("cta_rank()")
    return Block(at, CapturedGuard(0, GuardKind.CTA_RANK, caller().source, cta=integer("cta_rank()", rank)))


def named_loop(name: str) -> LoopHandle:
    """The loop called ``name`` of this schedule, also where no such loop has been opened."""
    return LoopHandle(recorder("named_loop()"), text("name of a loop", name))


def named_token(name: str) -> DataFlowToken:
    """The value called ``name`` of this task, also where no op has returned it yet."""
    if not text("name of a value", name):
        raise refuse("named_token() needs the name of a value")
    return DataFlowToken(recorder("named_token()"), None, name, name)


class IterationPredicate:
    """Which iterations of the innermost domain loop a block runs in, for `when_true`: `FIRST_ITER`, `LAST_ITER`, `Every`."""


@dataclass(frozen=True)
class OpaqueCondition:
    """A condition known at run time, by its ``key``; ``negated``: where it does not hold. The other fields say where Task
    Scheduling found it."""

    key: Any
    negated: bool = False
    resource: Any = None
    method_label: str | None = None
    result_name: str | None = None


@dataclass(frozen=True)
class Every(IterationPredicate):
    """The iterations ``start``, ``start + period``, ... of the innermost domain loop, for `when_true`."""

    period: int
    start: int = 0


@dataclass(frozen=True)
class _End(IterationPredicate):
    kind: GuardKind


FIRST_ITER = _End(GuardKind.FIRST_ITER)  # conditions of `when_true`, as in Task Scheduling
LAST_ITER = _End(GuardKind.LAST_ITER)


def _condition(kind: GuardKind, cond: Any, key: Any) -> Block:
    at, source = recorder(f"{kind.value}()"), caller().source
    if isinstance(cond, Every | _End):
        if kind is GuardKind.WHEN_FALSE:
            raise refuse(
                "when_false() cannot negate an iteration predicate; guard the other iterations instead"
            )
        if isinstance(cond, Every):
            period, start = integer("Every.period", cond.period), integer("Every.start", cond.start)
            return Block(at, CapturedGuard(0, GuardKind.EVERY, source, period=period, start=start))
        return Block(at, CapturedGuard(0, cond.kind, source))
    if isinstance(cond, IterationPredicate):
        raise refuse(
            "an iteration predicate of your own is not known here; use FIRST_ITER, LAST_ITER, Every or k.every()"
        )
    if isinstance(cond, OpaqueCondition):
        if cond.negated:
            kind = GuardKind.WHEN_FALSE if kind is GuardKind.WHEN_TRUE else GuardKind.WHEN_TRUE
        cond, key = "", cond.key if key is None else key
    name = None if key is None else _key(key)
    if isinstance(cond, DataFlowToken):
        origin = cond.origin
        return Block(at, CapturedGuard(0, kind, source, key=name, token=cond.name_for(at), origin=origin))
    if isinstance(cond, LoopHandle):
        return Block(at, CapturedGuard(0, kind, source, key=name, token=cond.loop_variable(at)))
    if name is None:
        name = cond if isinstance(cond, str) else at.name_once("condition")
    return Block(at, CapturedGuard(0, kind, source, key=name))


def _key(key: Any) -> str:
    return ".".join(str(part) for part in key) if isinstance(key, tuple | list) else str(key)


def _bound(what: str, value: Any) -> int | Symbol | Operation:
    if callable(value):
        name = _function_name(value).replace(".", "_").replace("predicate_at_line", f"{what}_at_line")
        return symbol(name, min=int(what == "step"))  # a loop goes on
    return size(what, value)


def _predicate(skip_if: Any) -> str:
    if skip_if is None or isinstance(skip_if, str):
        return skip_if or ""
    if not callable(skip_if):
        raise refuse(f"skip_if must be a name or a function, not {skip_if!r:.60}")
    if (
        isinstance(skip_if, functools.partial) and len(skip_if.args) == 3
    ):  # wq.method, looked up inside a schedule
        _, queue, name = skip_if.args
        return _function_name(getattr(type(queue), name))
    return _function_name(skip_if)


def _function_name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", type(function).__name__).rsplit("<locals>.", 1)[-1]
    return f"predicate_at_line_{function.__code__.co_firstlineno}" if "<lambda>" in name else name
