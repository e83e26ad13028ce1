"""Resources of Task Scheduling as those of the authoring interface: works, pipelines, allocations, groups."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from warpdraft.core import (
    MemoryResource,
    PdlLaunchBarrier,
    PdlWaitBarrier,
    PipelineGroup,
    SmemAllocation,
    TileSchedulerConfig,
    TileSchedulerType,
    TmemAllocation,
    WorkQueue,
    symbol,
)
from warpdraft.core.authoring.resources import UNNAMED_WORKS
from warpdraft.core.authoring.works import SPEC, WorkSpec, plain
from warpdraft.core.document import Value

from .pipelines import pipeline_of
from .trace import Trace
from .version import task_scheduling

RUN_NAME = "__warpdraft__"  # what a script that was run is called in documents, not "__main__"


class Marked:
    """Stands in a class for a method that is a work."""

    def __init__(self, spec: WorkSpec) -> None:
        setattr(self, SPEC, spec)


class Resources:
    """Ours for each of theirs, made once."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.made: dict[int, Any] = {}
        self.allocations: dict[int, Any] = {}
        self.responses: dict[int, Any] = {}  # by queue, the allocation of its slots
        self.scratch: list[Any] = []
        self.theirs: list[Any] = []
        self._classes: dict[type, type] = {}
        self._names: dict[str, int] = {}

    def __getitem__(self, theirs: Any) -> Any:
        if id(theirs) not in self.made:
            self.theirs.append(theirs)
            self.made[id(theirs)] = ours = self._make(theirs)
            ours.source = self.trace.lines.get(id(theirs))
        return self.made[id(theirs)]

    def _make(self, theirs: Any) -> MemoryResource:
        ts, name = task_scheduling(), self._name(theirs)
        config = pipeline_of(theirs.pipeline_config)
        if isinstance(theirs, ts.pipeline_group.PipelineGroup):
            members = [self[m] for m in theirs.members]
            own = None if config == _derived(theirs, config) else config
            return PipelineGroup(name=name, members=members, mode=theirs.mode.value, pipeline_config=own)
        if isinstance(theirs, ts.resources.WorkQueue):
            return self._queue(theirs, name, config)
        for kind, base in (
            (ts.resources.PdlWaitBarrier, PdlWaitBarrier),
            (ts.resources.PdlLaunchBarrier, PdlLaunchBarrier),
        ):
            if isinstance(theirs, kind):
                return self._class(type(theirs), base)(name=name)
        cls = self._class(type(theirs), MemoryResource)
        smem = [self.allocation(a) for a in theirs.get_smem_requirements()]
        tmem = [self.allocation(a) for a in theirs.get_tmem_requirements()]
        if smem and tmem:  # scratch beside tensor memory: a resource of its own, which annotations may name
            self.scratch += smem
            smem = []
        cls = self._allocating(cls, smem, tmem)
        return cls(name=name, pipeline_config=config, is_barrier=bool(theirs.is_barrier))

    @staticmethod
    def _allocating(cls: type, smem: list[Any], tmem: list[Any]) -> type:
        """``cls`` with what one of its resources allocates."""
        hooks = {"get_smem_requirements": lambda self: smem, "get_tmem_requirements": lambda self: tmem}
        named = {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
        return type(cls.__name__, (cls,), named | (hooks if smem or tmem else {}))

    def _name(self, theirs: Any) -> str:
        """Its name, with a number where another has it; of its class where it has none, as authoring calls it."""
        wanted = str(theirs.name) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(theirs).__name__).lower()
        self._names[wanted] = count = self._names.get(wanted, 0) + 1
        return wanted if count == 1 else f"{wanted}_{count}"

    def _queue(self, theirs: Any, name: str, config: Any) -> WorkQueue:
        said = theirs.tile_scheduler_config
        kind = TileSchedulerType(said.tile_scheduler_type.value) if said is not None else None
        scheduler = TileSchedulerConfig(kind, said.tile_scheduler_params) if kind else TileSchedulerConfig()
        queues = sum(isinstance(r, WorkQueue) for r in self.made.values())
        tiles = symbol("tiles" if not queues else f"tiles_{queues + 1}")
        cls, response = self._class(type(theirs), WorkQueue), self.responses.get(id(theirs))
        slots = [] if response is None else [self.allocation(response)]
        return self._allocating(cls, slots, [])(scheduler, tiles=tiles, name=name, pipeline_config=config)

    def allocation(self, theirs: Any) -> Any:
        """Ours for an allocation; an equal one where a resource makes it anew each time it is asked."""
        if id(theirs) not in self.allocations:
            if hasattr(theirs, "num_columns"):
                made: Any = TmemAllocation(str(theirs.name), int(theirs.num_columns))
            else:
                made = SmemAllocation(str(theirs.name), int(theirs.size_bytes), int(theirs.alignment))
            made.offset = int(theirs.offset)
            self.allocations[id(theirs)] = made
            self.trace.kept.append(theirs)
        return self.allocations[id(theirs)]

    def _class(self, theirs: type, base: type) -> type:
        """A class of ours with the works of ``theirs``."""
        if theirs not in self._classes:
            module = RUN_NAME if theirs.__module__ == "__main__" else theirs.__module__
            own: dict[str, Any] = {name: Marked(spec) for name, spec in _works(theirs, base)}
            own |= {"__module__": module, "__qualname__": theirs.__qualname__}
            self._classes[theirs] = type(theirs.__name__, (base,), own)
        return self._classes[theirs]


def _derived(theirs: Any, config: Any) -> Any:
    """What follows for a group from its members, None if nothing does. Task Scheduling moves the cursors of members after
    it has derived the group's pipeline, so the cursors are those of ``config``."""
    try:
        found = pipeline_of(theirs._derive_merged_config())
    except ValueError:  # members that do not agree, beside a pipeline of the group's own
        return None
    return replace(
        found, advance_on_wait=config.advance_on_wait, advance_on_acquire=config.advance_on_acquire
    )


def _works(theirs: type, base: type) -> Iterator[tuple[str, WorkSpec]]:
    """The works of a resource class of Task Scheduling, base classes first, in the order of their definition."""
    ts = task_scheduling().resources
    for cls in reversed(theirs.__mro__):
        for value in vars(cls).values():
            for role, registry in (
                ("consumer", ts._CONSUMER_WORK_FNS_ATTR),
                ("producer", ts._PRODUCER_WORK_FNS_ATTR),
            ):
                for label in getattr(value, registry, {}):
                    if cls.__module__ != ts.__name__ or not hasattr(base, label):
                        yield str(label), _spec(str(label), role, value)
        if cls.__module__.startswith(ts.__name__.rpartition(".")[0]):
            continue
        for name, (role, auxiliary) in UNNAMED_WORKS.items():
            if name in vars(cls):
                yield name, WorkSpec(name, role, vars(cls)[name], auxiliary=auxiliary)


def _spec(name: str, role: str, method: Any) -> WorkSpec:
    returned = getattr(method, "_consumer_return_var_names", None) if role == "consumer" else None
    return WorkSpec(
        name,
        role,
        inspect.unwrap(method),
        returns=tuple(returned()) if returned is not None else (),
        auxiliary=bool(getattr(method, f"_{role}_work_attrs").is_auxiliary()),
    )


def plain_or_name(value: Any) -> Value:
    """A compile-time value as a document holds it; an object by what it is called."""
    try:
        return plain(value)
    except ValueError:
        return getattr(value, "__name__", None) or str(value).split("\n")[0][:80]
