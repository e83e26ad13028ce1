"""Where in the author's code a call comes from, and what that code does with the result.

Python offers no other way to see ``a, b = work()`` or ``with loop as k`` from inside the call: both are read from the
bytecode that follows the call (`dis`, "UNPACK_SEQUENCE" and "STORE_FAST").
"""

from __future__ import annotations

import dis
import functools
import os
import sys
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, TypeVar

from ..document import Source

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
F = TypeVar("F", bound=Callable[..., Any])
_AROUND: set[CodeType] = set()
SILENT = {"CACHE", "NOP", "EXTENDED_ARG"}


@dataclass(frozen=True, slots=True)
class Call:
    """One call in the author's code; ``site`` is the same whenever the same instruction runs again."""

    source: Source
    site: tuple[CodeType, int]


def caller() -> Call:
    """The innermost call that comes from outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame and frame.f_back and _ours(frame.f_code):
        frame = frame.f_back
    assert frame is not None
    code = frame.f_code
    return Call(Source(os.path.abspath(code.co_filename), frame.f_lineno), (code, frame.f_lasti))


def passed_over(function: F) -> F:
    """``function``, whose calls `caller` does not take for the author's: one that stands around a function of ours."""
    _AROUND.add(function.__code__)
    return function


def _ours(code: CodeType) -> bool:
    if code in _AROUND:
        return True
    # "<string>": the __init__ that `dataclass` wrote
    return code.co_filename.startswith(PACKAGE) or (code.co_filename, code.co_name) == (
        "<string>",
        "__init__",
    )


def unpacked_into(frame: FrameType) -> list[str] | None:
    """The names that ``frame`` is unpacking a value into at this moment, or None if it does something else.

    A place that is no plain variable, or the throw-away "_", has the name "".
    """
    instructions, places = _instructions(frame.f_code)
    place = places.get(frame.f_lasti)
    if place is None or instructions[place].opname != "UNPACK_SEQUENCE":
        return None
    names: list[str] = []
    for following in instructions[place + 1 :]:
        stored = _stored(following)
        if not stored:
            break
        names.extend(stored)
    wanted: int = instructions[place].argval
    return [n if n != "_" else "" for n in (names + [""] * wanted)[:wanted]]


def stored_as(frame: FrameType) -> str | None:
    """The variable that takes the result of the call which ``frame`` is making, or None."""
    instructions, _ = _instructions(frame.f_code)
    # a call of a Python function leaves f_lasti at the caches behind the call
    place = bisect_right(instructions, frame.f_lasti, key=lambda i: i.offset) - 1
    if place < 0 or place + 1 >= len(instructions):
        return None
    stored = _stored(instructions[place + 1])
    return stored[0] if stored and stored[0] != "_" else None


def _stored(instruction: dis.Instruction) -> tuple[str, ...]:
    """The variables that ``instruction`` assigns; Python 3.13 joins a store with what follows it."""
    if not instruction.opname.startswith("STORE_") or instruction.opname in ("STORE_SUBSCR", "STORE_ATTR"):
        return ()
    if not isinstance(instruction.argval, tuple):
        return (instruction.argval,)
    return instruction.argval if instruction.opname.count("STORE_FAST") == 2 else instruction.argval[:1]


@functools.lru_cache(maxsize=512)
def _instructions(code: CodeType) -> tuple[list[dis.Instruction], dict[int, int]]:
    instructions = [i for i in dis.get_instructions(code) if i.opname not in SILENT]
    return instructions, {instruction.offset: place for place, instruction in enumerate(instructions)}
