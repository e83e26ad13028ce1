"""What the states that a proof compares do not hold: there it is for the listed trip counts to show."""

from __future__ import annotations

from .conditions import condition_keys
from .document import Document
from .lifetimes import moving
from .meetings import leave_early
from .periodic import Unproved
from .program import Program
from .register_requests import repeated
from .run import Run
from .valuations import symbol_ranges


def not_compared(document: Document) -> str:
    """What the states that a proof compares do not hold, so that each trip count is looked at by itself; "" if nothing."""
    if moving(document):
        return "mbarriers are initialised in loops, invalidated, or share bytes"
    return "registers are requested in loops" if repeated(document) else ""


def check_provable(run: Run, peeked: Program | None) -> None:
    """Raises Unproved for what the states that a proof compares do not hold: a peek that several waits rely on (``peeked``:
    the program where they do), and exits, which they know as an order and which are none for memory."""
    if peeked is not None:
        raise Unproved("a peek that several waits rely on")
    if run.execution.cluster >= 0 and leave_early(run.program):
        raise Unproved("warps exit before others meet at the cluster's barrier")


def varies(document: Document) -> bool:
    """Whether there is more than one case to run."""
    return bool(symbol_ranges(document)) or bool(condition_keys(document))
