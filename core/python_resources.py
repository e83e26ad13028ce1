"""Resources, barriers, groups and the kernel as authoring source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, fields
from typing import Any

from .authoring.errors import ScheduleError
from .authoring.lowering import resource_record, space_of, storage_record
from .authoring.memory import SmemAllocation
from .authoring.naming import Names as ObjectNames
from .authoring.pipelines import PipelineConfig
from .authoring.queues import PdlLaunchBarrier, PdlWaitBarrier, WorkQueue
from .authoring.resources import MemoryResource
from .cursors import split_cursors
from .document import (
    WARP_SLICE,
    WHOLE,
    Engine,
    Footprint,
    Kernel,
    Pipeline,
    Resource,
    Space,
    Storage,
    Task,
    Tensor,
    Work,
)
from .python_text import Expressions, Imports, call, is_keyword, keywords, literal

DECORATOR_WORDS = {
    "engine",
    "view",
    "assumed",
    "returns",
    "work_attrs",
    "footprint",
    "tx",
    "multicast",
    "body",
    "code",
    "params",
    "method",
}
READY_MADE: tuple[type[MemoryResource], ...] = (WorkQueue, PdlWaitBarrier, PdlLaunchBarrier)


def ready_made(resource: Resource) -> type[MemoryResource] | None:
    """The framework's own class that has exactly the works of ``resource``, or None."""
    for cls in READY_MADE:
        example = cls(name=resource.name)
        record = resource_record(example, ObjectNames([example]), set(), 0)
        if resource.works == record.works and resource.space is record.space:
            return cls
    return None


class ResourceWriter:
    """Writes classes and constructors; ``tiles`` gives the tile count of each queue."""

    def __init__(
        self, imports: Imports, expressions: Expressions, tiles: dict[str, Any], tasks: tuple[Task, ...] = ()
    ) -> None:
        self.imports = imports
        self.bodies = [task.body for task in tasks]
        self.expressions = expressions
        self.tiles = tiles

    # -- classes --------------------------------------------------------------------------------------------------------
    def decorator(self, resource: Resource, work: Work) -> str:
        """The line above a work's method."""
        options: list[tuple[str, str]] = []
        if work.engine is not None:
            options.append(("engine", literal(work.engine.value)))
        if work.view:
            options.append(("view", "True"))
        if work.returns:
            options.append(("returns", literal(work.returns if len(work.returns) > 1 else work.returns[0])))
        if work.auxiliary:
            options.append(("work_attrs", f"{self.imports('WorkAttr')}.AUXILIARY"))
        if work.footprint is not None or "part" in dict(work.params):
            options.append(("footprint", self.footprint(work.footprint, resource.storage)))
        if work.tx is not None:
            options.append(("tx", str(work.tx)))
        if work.body:
            options.append(("body", literal(work.body)))
        if work.code:
            options.append(("code", literal(work.code)))
        if work.ctas:
            options.append(("multicast", literal(work.ctas)))
        if work.assumed:
            options.append(("assumed", "True"))
        plain = all(is_keyword(k) and k not in DECORATOR_WORDS for k, _ in work.params)
        if plain:
            options += [(k, literal(v)) for k, v in work.params]
        else:
            options.append(("params", self.mapping(work.params)))
        name = self.imports(f"{work.role}_work")
        return call(f"@{name}", keywords(options), width=106) if options else f"@{name}"

    def footprint(self, footprint: Footprint | None, storage: Storage | None) -> str:
        """The shortest way to say ``footprint``."""
        if footprint is None:
            return "None"
        if footprint == WHOLE:
            return '"whole"'
        if footprint == WARP_SLICE:
            return '"warp_slice"'
        if footprint == Footprint("range", footprint.offset, footprint.bytes):
            for part in storage.parts if storage else ():
                if (part.offset, part.bytes) == (footprint.offset, footprint.bytes):
                    return literal(part.name)
            return f"({footprint.offset}, {footprint.bytes})"
        if footprint.ranges and footprint == Footprint("ranges", ranges=footprint.ranges):
            return f"[{', '.join(literal(r) for r in footprint.ranges)}]"
        return self.record(footprint)

    # -- constructors ---------------------------------------------------------------------------------------------------
    def constructor(self, resource: Resource, cls: str) -> str:
        """The call that makes ``resource``."""
        trial = MemoryResource(name=resource.name)
        options = [("name", literal(resource.name))]
        if resource.pipeline is not None:
            trial.pipeline_config, text = self.pipeline(resource.pipeline, self._cursors_said(resource))
            options.append(("pipeline_config", text))
        options += self.storage(resource, trial)
        own = ready_made(resource)
        accumulates = any(w.engine is Engine.WGMMA and w.role == "producer" for w in resource.works)
        if own is None and (accumulates or space_of(trial) is not resource.space):
            options.append(("space", literal(resource.space.value)))
        if own is WorkQueue and resource.name in self.tiles:
            options.append(("tiles", self.expressions(self.tiles[resource.name])))
        known = set(WorkQueue.__dataclass_fields__)
        if own is WorkQueue and all(is_keyword(k) and k not in known for k, _ in resource.params):
            options += [(k, literal(v)) for k, v in resource.params]
        elif resource.params:
            options.append(("params", self.mapping(resource.params)))
        return call(cls, keywords(options))

    def storage(self, resource: Resource, trial: MemoryResource) -> list[tuple[str, str]]:
        """How ``resource`` gets its bytes: by allocations if they say it all, else by a Storage."""
        wanted = resource.storage
        if wanted is None:
            return []
        parts = [(p.name, p.bytes) for p in wanted.parts] or [(resource.name, wanted.bytes)]
        trial.smem = [SmemAllocation(name, size) for name, size in parts]
        trial.alias, trial.alias_phase = wanted.alias, wanted.phase
        stages = None if trial.pipeline_config else wanted.stages
        trial.stages = stages
        if resource.space is Space.SMEM and storage_record(trial, ObjectNames([trial]))[0] == wanted:
            allocation = self.imports("SmemAllocation")
            inner = [f"{allocation}({literal(n)}, size_bytes={b})" for n, b in parts]
            options = [("smem", f"[{', '.join(inner)}]")]
            options += [("stages", str(stages))] if stages not in (None, 1) else []
            options += [("alias", literal(wanted.alias))] if wanted.alias else []
            return options + ([("alias_phase", str(wanted.phase))] if wanted.phase else [])
        trial.smem, trial.storage = (), wanted
        return [("storage", self.record(wanted))]

    def _cursors_said(self, resource: Resource) -> bool:
        """Whether authoring would give ``resource`` the cursors that it has, without being told."""
        on_acquire, on_wait = split_cursors(resource, self.bodies)
        own = resource.pipeline
        return own.advance_on_acquire >= on_acquire and own.advance_on_wait >= on_wait

    def pipeline(self, pipeline: Pipeline, usual_cursors: bool = True) -> tuple[Any, str]:
        """A config (or the pipeline itself, if no config means it), and its source."""
        options: dict[str, Any] = {
            "num_stages": pipeline.stages,
            "num_bytes": pipeline.bytes,
            "producer_group": pipeline.producer_count,
            "consumer_group": pipeline.consumer_count,
            "pipeline_type": pipeline.type or None,
            "producer_signaling_threads": pipeline.producer_signal,
            "consumer_signaling_threads": pipeline.consumer_signal,
            "advance_on_acquire": pipeline.advance_on_acquire,
            "advance_on_wait": pipeline.advance_on_wait,
            "interleave_stride": pipeline.interleave,
            "mcast_mode_mn": pipeline.multicast,
            "cta_layout_vmnk": pipeline.cta_layout,
        }
        usual = {f.name: f.default for f in fields(PipelineConfig)}
        usual |= {"interleave_stride": (1, 1, 1, 1), "cta_layout_vmnk": ()}
        said = {k: v for k, v in options.items() if v != usual[k] or k == "num_stages"}
        try:
            config = PipelineConfig(**said)
            if usual_cursors and config.record() == pipeline:
                values = [(k, self._word(k, v)) for k, v in said.items()]
                return config, call(self.imports("PipelineConfig"), keywords(values))
        except (ScheduleError, ValueError):
            pass  # a pipeline that no config means
        return pipeline, self.record(pipeline)

    def _word(self, key: str, value: Any) -> str:
        if key == "pipeline_type":
            return f"{self.imports('PipelineType')}.{value}"
        return f"{self.imports('Signal')}.{value.name}" if key.endswith("_threads") else literal(value)

    def record(self, value: Any) -> str:
        """A record of the document, as a call of its class."""
        options = []
        for f in fields(value):
            item = getattr(value, f.name)
            if f.default is not MISSING and item == f.default:
                continue
            if isinstance(item, tuple) and any(hasattr(type(i), "__dataclass_fields__") for i in item):
                text = "(" + ", ".join(self.record(i) for i in item) + ("," if len(item) == 1 else "") + ")"
            elif f.name.endswith("_signal"):
                text = f"{self.imports('Signal')}.{item.name}"
            else:
                text = literal(item)
            options.append((f.name, text))
        return call(self.imports(type(value).__name__), keywords(options))

    # -- the kernel -----------------------------------------------------------------------------------------------------
    def kernel(self, kernel: Kernel) -> str:
        """The call that describes ``kernel``."""
        options = [literal(kernel.name)]
        if kernel.tensors:
            inner = ",\n".join(f"    {self.tensor(t)}" for t in kernel.tensors)
            options.append(f"tensors=[\n{inner},\n]")
        if kernel.parameters:
            options.append(f"parameters={self.mapping(kernel.parameters)}")
        if kernel.trip_counts:
            inner = ", ".join(f"{literal(k)}: {self.expressions(v)}" for k, v in kernel.trip_counts)
            options.append(f"symbols={{{inner}}}")
        if kernel.grid != 1:
            options.append(f"grid={self.expressions(kernel.grid)}")
        if kernel.reference:
            options.append(f"reference={literal(kernel.reference)}")
        for name in ("sizes", "small_sizes"):
            if getattr(kernel, name):
                options.append(f"{name}={self.mapping(getattr(kernel, name))}")
        return call(self.imports("Kernel"), options)

    def tensor(self, tensor: Tensor) -> str:
        """The call that describes ``tensor``."""
        shape = ", ".join(self.expressions(s) for s in tensor.shape) + ("," if len(tensor.shape) == 1 else "")
        options = [
            literal(tensor.name),
            f"({shape})",
            literal(tensor.dtype),
            f"order={literal(tensor.order)}",
        ]
        if tensor.role != "in":
            options.append(f"role={literal(tensor.role)}")
        return call(self.imports("GmemTensor"), options, width=100)

    def mapping(self, pairs: Iterable[tuple[str, Any]]) -> str:
        """Pairs as a dictionary display."""
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in pairs) + "}"
