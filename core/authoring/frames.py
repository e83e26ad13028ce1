"""Where in the author's code a call comes from, and what that code does with the result.

Python offers no other way to see ``a, b = work()`` or ``with loop as k`` from inside the call: both are read from the
bytecode that follows the call (`dis`, "UNPACK_SEQUENCE" and "STORE_FAST").
"""

from __future__ import annotations

import dis
import functools
import os
import sys
from dataclasses import dataclass
from types import CodeType, FrameType

from ..document import Source

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
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


def _ours(code: CodeType) -> bool:
    # "<string>": the __init__ that `dataclass` wrote
    return code.co_filename.startswith(PACKAGE) or (code.co_filename, code.co_name) == (
        "<string>",
        "__init__",
    )


def unpacked_into(frame: FrameType) -> int | None:
    """How many names ``frame`` is unpacking a value into at this moment, or None if it does something else."""
    instructions, places = _instructions(frame.f_code)
    place = places.get(frame.f_lasti)
    if place is None or instructions[place].opname != "UNPACK_SEQUENCE":
        return None
    return instructions[place].argval


def stored_as(frame: FrameType) -> str | None:
    """The variable that takes the result of the call which ``frame`` is making, or None."""
    instructions, places = _instructions(frame.f_code)
    place = places.get(frame.f_lasti)
    if place is None or place + 1 >= len(instructions):
        return None
    following = instructions[place + 1]
    if not following.opname.startswith("STORE_") or following.opname in ("STORE_SUBSCR", "STORE_ATTR"):
        return None
    name = (
        following.argval[0] if isinstance(following.argval, tuple) else following.argval
    )  # 3.13 joins two stores
    return name if isinstance(name, str) else None


@functools.lru_cache(maxsize=512)
def _instructions(code: CodeType) -> tuple[list[dis.Instruction], dict[int, int]]:
    instructions = [i for i in dis.get_instructions(code) if i.opname not in SILENT]
    return instructions, {instruction.offset: place for place, instruction in enumerate(instructions)}
