"""What only the moment of capture knows of a schedule: lines, the names of loops and bounds, the schedule's own name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from warpdraft.core.document import Source


@dataclass
class ScheduleTrace:
    """Of one task: its schedule function's ``name``, the lines of its steps in order, and what its loops are called."""

    name: str = ""
    steps: list[Source | None] = field(default_factory=list)
    loop: str = ""
    loop_source: Source | None = None
    tile: str = ""
    tile_source: Source | None = None


@dataclass
class Trace:
    """Of all managers of one run: the tasks by ``id(task)``, the names of run-time values by ``id(value)``, lines by
    ``id(object)`` of tasks and resources. What is noted here is kept alive, so that an id stays one object's."""

    tasks: dict[int, ScheduleTrace] = field(default_factory=dict)
    values: dict[int, str] = field(default_factory=dict)
    lines: dict[int, Source] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)

    def of(self, task: Any) -> ScheduleTrace:
        """What is known of ``task``; nothing, where nobody watched."""
        return self.tasks.get(id(task)) or ScheduleTrace()
