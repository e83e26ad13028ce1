"""A schedule inside a kernel that is being traced: an installed backend, found by its entry point, puts it there."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any, Protocol

from ..document import Document
from .errors import refuse

GROUP = "warpdraft.tracing"  # of entry points: each names a class that is made from a document


class Traced(Protocol):
    """What a backend makes of one document."""

    def prepare(self, *tensors: Any, sms: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of `run` and the keywords of the launch, on the host."""
        ...

    def run(self, arguments: tuple[Any, ...]) -> None:
        """Emit the schedule into the kernel."""
        ...


def traced(document: Document, unsafe: bool) -> Traced:
    """``document``, lowered by the backend that is installed. Raises ScheduleError where there is none."""
    for point in entry_points(group=GROUP):
        return point.load()(document, unsafe=unsafe)
    raise refuse(
        f"nothing installed can put a schedule into a kernel (no entry point {GROUP!r}): reinstall warpdraft"
    )
