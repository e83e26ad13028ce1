"""Handles for values that works return while a schedule is captured."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from .errors import refuse
from .frames import unpacked_into
from .given import listed
from .novalue import NoValue

if TYPE_CHECKING:
    from .recording import CapturedOp, Recorder


class DataFlowToken(NoValue):
    """One value that an op returns.

    A work that declares no ``returns`` yields one token, recorded on its first use, so that values nobody looks at leave no
    trace; it may be unpacked into as many tokens as the schedule asks for, called as the variables that take them. A token
    that is unpacked into another number than its work declares is recorded as written: the verifier reports it.
    """

    hint = "use when_true(token), try_wait() or try_acquire(), or compute with it inside a work that takes it"

    def __init__(self, recorder: Recorder, op: CapturedOp | None, base: str, name: str = "") -> None:
        self._recorder = recorder
        self._op = op
        self._base = base
        self._name = name

    @property
    def name(self) -> str:
        """The value's name in its task."""
        if not self._name:
            self._name = self._recorder.name_once(self._base)
            assert self._op is not None
            self._op.results = (*self._op.results, self._name)
        return self._name

    def name_for(self, recorder: Recorder | None) -> str:
        """The name under which ``recorder``'s schedule knows this value; one of another schedule stays unresolved."""
        return self.name if recorder is self._recorder else f"{self._recorder.name}:{self.name}"

    @property
    def origin(self) -> CapturedOp | None:
        """The op that returns the value."""
        return self._op

    def __iter__(self) -> Iterator[DataFlowToken]:
        wanted = unpacked_into(sys._getframe(1))
        if wanted is None or self._op is None:
            raise refuse("a token can be unpacked into names, but not iterated over")
        bases = [name or f"{self._op.work}_{place}" for place, name in enumerate(wanted)]
        return iter(_resize(self._recorder, self._op, (), bases))

    def __repr__(self) -> str:
        return f"<token {self._name or self._base}>"


class Tokens(tuple[DataFlowToken, ...]):
    """The tokens of a work that declares several; unpacking into another number is recorded, not refused."""

    def __iter__(self) -> Iterator[DataFlowToken]:
        wanted = unpacked_into(sys._getframe(1))
        plain = tuple(super().__iter__())
        if wanted is None or len(wanted) == len(plain):
            return iter(plain)
        op = plain[0].origin
        assert op is not None
        bases = [name or f"{op.work}_{place}" for place, name in enumerate(wanted)]
        return iter(_resize(plain[0]._recorder, op, plain, bases))


def _resize(
    recorder: Recorder, op: CapturedOp, have: tuple[DataFlowToken, ...], bases: list[str]
) -> tuple[DataFlowToken, ...]:
    """As many tokens of ``op`` as there are ``bases``: those it has, cut or filled up with new ones."""
    tokens = list(have[: len(bases)])
    for base in bases[len(tokens) :]:
        tokens.append(DataFlowToken(recorder, op, base, recorder.name_once(base)))
    op.results = tuple(t.name for t in tokens)
    return tuple(tokens)


def named_results(recorder: Recorder, op: CapturedOp, names: str | Iterable[str]) -> DataFlowToken | Tokens:
    """Tokens called exactly ``names``."""
    op.results = (names,) if isinstance(names, str) else tuple(listed("results=", names, str, "names"))
    tokens = Tokens(DataFlowToken(recorder, op, n, n) for n in op.results)
    return tokens[0] if len(tokens) == 1 else tokens


def declared(recorder: Recorder, op: CapturedOp, base: str, names: tuple[str, ...]) -> DataFlowToken | Tokens:
    """What calling a work gives to the schedule: one token, or one for each declared name."""
    if not names:
        return DataFlowToken(recorder, op, base)
    tokens = Tokens(DataFlowToken(recorder, op, base, recorder.name_once(n)) for n in names)
    op.results = tuple(t.name for t in tuple.__iter__(tokens))
    return tokens[0] if len(tokens) == 1 else tokens
