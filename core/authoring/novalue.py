"""What a schedule must not do with handles whose values are known only at run time."""

from __future__ import annotations

from typing import Any, NoReturn

from .errors import refuse


class NoValue:
    """Base of such handles: used as a number or a condition in Python, they raise ScheduleError at the author's line.

    Python decides an ``if`` while the schedule is captured; a comparison that silently gave False would drop ops.
    """

    hint = ""  # what to do instead

    def _refuse(self, *other: Any) -> NoReturn:
        raise refuse(f"{self!r} has no value at capture; {self.hint}")

    def __bool__(self) -> bool:
        self._refuse()

    def __eq__(self, other: object) -> bool:
        self._refuse()

    def __ne__(self, other: object) -> bool:
        self._refuse()

    __hash__ = object.__hash__
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __pow__ = __rpow__ = _refuse
    __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _refuse
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refuse
    __neg__ = __pos__ = __abs__ = __invert__ = __int__ = __float__ = __index__ = __getitem__ = _refuse
