"""Groups of pipelines that share a side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from .enums import PipelineGroupMode
from .errors import refuse
from .resources import MemoryResource


@dataclass(kw_only=True, eq=False)
class PipelineGroup(MemoryResource):
    """Pipelines of ``members``, one side of them driven together. It can be declared; driving it is not supported yet, and
    says so (ScheduleError)."""

    is_pipeline_group: ClassVar[bool] = True

    members: list[MemoryResource] = field(default_factory=list)
    mode: PipelineGroupMode = PipelineGroupMode.Merge

    def __post_init__(self) -> None:
        if not self.members:
            raise refuse("a PipelineGroup needs at least one member")
        for member in self.members:
            if member.pipeline_group is not None:
                raise refuse(f"{member.name!r} already belongs to a PipelineGroup")
            member.pipeline_group = self
        self.is_barrier = True

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and any(m.name == name for m in self.__dict__.get("members", ())):
            raise refuse(f"{name!r} of PipelineGroup {self.name!r}: grouped pipelines are not supported yet")
        return super().__getattr__(name)
