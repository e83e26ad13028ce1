"""What a schedule author did that cannot be written down as a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .frames import caller

if TYPE_CHECKING:
    from ..findings import Finding


class ScheduleError(ValueError):
    """Raised for what no document can represent (the message begins with ``file:line``), and by `print_and_verify` for an
    unsafe schedule, with every finding in ``findings``."""

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(message)
        self.findings = tuple(findings)


def refuse(message: str) -> ScheduleError:
    """A `ScheduleError` that points at the author's line."""
    return ScheduleError(f"{caller().source}: {message}")
