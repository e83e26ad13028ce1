"""Groups of pipelines that share a side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from .enums import PipelineGroupMode
from .errors import refuse
from .resources import MemoryResource


@dataclass(kw_only=True, eq=False)
class PipelineGroup(MemoryResource):
    """Pipelines of ``members``, of which one task drives one side together; ``group.name_of_a_member`` is that member.

    ``Merge``: each member has its producer, one task consumes all and releases them by ``group.release()``. ``FusedMerge``:
    it waits by ``group.wait()`` too. ``Fork``: one task fills all and hands them on by ``group.commit()``. The members share
    the barriers of that side (`core.pipeline_groups`); all other ops are those of a member, and WD216 says where the two
    are mixed up. Tasks and the graph name the members. ``pipeline_config`` may say what otherwise follows from the members.
    """

    is_pipeline_group: ClassVar[bool] = True

    members: list[MemoryResource] = field(default_factory=list)
    mode: PipelineGroupMode | str = PipelineGroupMode.Merge

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.members, list | tuple) or not self.members:
            raise refuse(f"a PipelineGroup needs a list of at least one member, not {self.members!r:.60}")
        if str(getattr(self.mode, "value", self.mode)) not in list(PipelineGroupMode):
            raise refuse(
                f"mode of a PipelineGroup is one of {', '.join(PipelineGroupMode)}, not {self.mode!r}"
            )
        for member in self.members:
            if not isinstance(member, MemoryResource) or member.pipeline_config is None:
                name = getattr(member, "name", "") or repr(member)
                raise refuse(f"{name!r:.60} has no pipeline, so it cannot be in a PipelineGroup")
            if member.pipeline_group is not None:
                raise refuse(f"{member.name!r} already belongs to a PipelineGroup")
        if len({member.stage_count for member in self.members}) > 1:
            stages = ", ".join(f"{m.name} {m.stage_count}" for m in self.members)
            raise refuse(f"the members of a PipelineGroup have one number of stages, not {stages}")
        for member in self.members:
            member.pipeline_group = self
        self.is_barrier = True

    def __getattr__(self, name: str) -> Any:
        for member in self.__dict__.get("members") or ():
            if member.__dict__.get("name") == name:
                return member
        return super().__getattr__(name)
