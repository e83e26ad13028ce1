"""Tasks: which warps run which schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..document import Source
from ..limits import MAX_WARPS
from .errors import refuse
from .frames import caller
from .given import name as checked_name
from .integers import integer, optional_integer
from .resources import MemoryResource
from .schedules import Schedule

# Task Scheduling's own printing and profiling: they change nothing of a schedule.
WITHOUT_MEANING = {
    "debug_print",
    "iket_enable_profiling",
    "iket_profiling_stages",
    "iket_profiling_resources",
}


class Task:
    """A role: ``schedule`` on ``num_warps`` warps from ``warp_idx``; it reads ``src_resources``, writes ``dst_resources``.

    ``num_registers`` is the register count per thread that its warpgroup asks for. ``run_only_on_cta_id``: only that CTA of
    the cluster runs it. Without a ``name`` it is called as its schedule function. Its ops get their ids here:
    ``<task>.<NN>`` in capture order.
    """

    def __init__(
        self,
        src_resources: Sequence[MemoryResource],
        dst_resources: Sequence[MemoryResource],
        warp_idx: int,
        num_warps: int,
        *,
        schedule: Schedule,
        num_registers: int | None = None,
        name: str = "",
        run_only_on_cta_id: int | None = None,
        **other: Any,
    ) -> None:
        if unknown := set(other) - WITHOUT_MEANING:
            raise TypeError(f"Task() got unexpected keywords {sorted(unknown)}")
        if not isinstance(schedule, Schedule):
            raise refuse("schedule= must be what a function decorated with @schedule returns")
        self.src_resources = _listed("src_resources", src_resources)
        self.dst_resources = _listed("dst_resources", dst_resources)
        for resource in (*self.src_resources, *self.dst_resources):
            if not isinstance(resource, MemoryResource):
                raise refuse(f"src_resources and dst_resources hold resources, not {type(resource).__name__}")
        self.warp_idx = integer("warp_idx", warp_idx, 0, MAX_WARPS)
        self.num_warps = integer("num_warps", num_warps, 1, MAX_WARPS)
        self.schedule = schedule
        self.num_registers = optional_integer("num_registers", num_registers)
        self.run_only_on_cta_id = optional_integer("run_only_on_cta_id", run_only_on_cta_id)
        self.name = checked_name("name of a task", name) or schedule.name
        self.is_named = bool(name)
        self.source: Source = caller().source

    @property
    def resources(self) -> list[MemoryResource]:
        """What it reads, then what it writes."""
        return [*self.src_resources, *self.dst_resources]


def _listed(what: str, resources: Any) -> list[MemoryResource]:
    if not isinstance(resources, list | tuple):
        raise refuse(f"{what} must be a list of resources, not {resources!r:.60}")
    return list(resources)
