"""The recorder: what a schedule function did, in order, before the names of its resources are settled."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from ..document import Ctas, GuardKind, OpKind, Source
from ..expressions import Integer
from .errors import ScheduleError, refuse
from .frames import caller


@dataclass(eq=False)
class CapturedOp:
    """An op; ``target`` is the object it was called on, ``number`` its place in capture order."""

    number: int
    kind: OpKind
    target: Any
    source: Source
    copy_of: int | None
    work: str = ""
    args: tuple[tuple[str, Any], ...] = ()
    results: tuple[str, ...] = ()
    stage: Integer | None = None
    count: Integer | None = None
    tx: int | None = None
    footprint: Any = None
    ctas: Ctas = ""
    implicit: bool = False


@dataclass(eq=False)
class CapturedLoop:
    """A loop with its body; fields as `document.Loop`."""

    number: int
    kind: str
    var: str
    source: Source
    bounds: tuple[Any, Any, Any] = (0, 0, 1)
    queue: Any = None
    skip_if: str = ""
    unroll: int | None = None
    body: list[CapturedNode] = field(default_factory=list)


@dataclass(eq=False)
class CapturedGuard:
    """A guarded block; ``token`` is the value that a run-time condition tests, ``origin`` the op that returns it."""

    number: int
    kind: GuardKind
    source: Source
    loop: str = ""
    warp: int = 0
    period: int = 1
    start: int = 0
    key: str | None = None  # None: that of the token
    token: str = ""
    origin: CapturedOp | None = None
    cta: int = 0
    body: list[CapturedNode] = field(default_factory=list)


CapturedNode = CapturedOp | CapturedLoop | CapturedGuard


class Recorder:
    """Collects the nodes of one schedule function while it runs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.body: list[CapturedNode] = []
        self._open: list[list[CapturedNode]] = [self.body]
        self._number = 0
        self._first_at: dict[tuple[CodeType, int], int] = {}
        self._names: dict[str, int] = {}
        self._expected: dict[int, tuple[CapturedLoop | CapturedGuard, str]] = {}  # blocks not yet entered

    def op(self, kind: OpKind, target: object = None, **fields: Any) -> CapturedOp:
        """Append an op, called from the author's present line."""
        call = caller()
        number = self._next()
        first = self._first_at.setdefault(call.site, number)
        node = CapturedOp(number, kind, target, call.source, None if first == number else first, **fields)
        self._open[-1].append(node)
        return node

    def expect(self, node: CapturedLoop | CapturedGuard, what: str) -> None:
        """A block was made, by the call ``what``: it is to be entered before the schedule ends."""
        self._expected[id(node)] = node, what

    def finish(self) -> None:
        """The schedule has ended. Raises ScheduleError for a block that was made and never entered."""
        for node, what in self._expected.values():
            raise ScheduleError(
                f"{node.source}: this {what} is never entered, so nothing is inside it; write `with {what[:-1]}...):`"
                if what.endswith("loop()")
                else f"{node.source}: this {what} is never entered, so it guards nothing; open it with `with`"
            )

    def open(self, node: CapturedLoop | CapturedGuard) -> None:
        """Append a block; what follows goes into it until `close`. Raises ScheduleError for one that was opened before."""
        if self._expected.pop(id(node), None) is None:
            raise refuse("this block has been entered before; make another one")
        node.number = self._next()
        self._open[-1].append(node)
        self._open.append(node.body)

    def close(self) -> None:
        """End the innermost block."""
        self._open.pop()

    def name_once(self, base: str) -> str:
        """``base``, or ``base_2``, ... where that name is taken: a value or loop is named once in a schedule."""
        count = self._names.get(base, 0)
        while True:
            count += 1
            self._names[base] = count
            name = base if count == 1 else f"{base}_{count}"
            if name == base or name not in self._names:
                self._names.setdefault(name, 1)
                return name

    def _next(self) -> int:
        self._number += 1
        return self._number


_active: ContextVar[Recorder | None] = ContextVar("warpdraft_recorder", default=None)


def active() -> Recorder | None:
    """The recorder of the schedule function that runs now."""
    return _active.get()


def recorder(what: str) -> Recorder:
    """The active recorder. Raises ScheduleError outside a schedule function; ``what`` is the call for the message."""
    found = _active.get()
    if found is None:
        raise refuse(f"{what} belongs inside a function decorated with @schedule")
    return found


class Recording:
    """Makes a recorder active for a ``with`` block."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def __enter__(self) -> Recorder:
        if _active.get() is not None:
            raise refuse("a schedule cannot be captured inside another; call a plain function instead")
        self._token = _active.set(self.recorder)
        return self.recorder

    def __exit__(self, *exception: object) -> None:
        _active.reset(self._token)
