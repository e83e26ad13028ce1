"""Edits of what a document declares: pipelines, storages, tasks, barriers, and the document's own head."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..document import (
    SCOPES,
    Document,
    Engine,
    OpKind,
    Part,
    Pipeline,
    PipelineGroup,
    PipelineGroupMode,
    Signal,
    Space,
    Storage,
    Task,
)
from ..event_kinds import PIPELINE_KINDS
from ..pipeline_groups import find_group
from ..tree import ops_of
from .base import Edit, EditError, resource_named, task_named, with_resource, with_task
from .checks import need, need_resources, pairs, text, texts, whole, wholes

GROUPS = (Engine.WGMMA, Engine.BULK_STORE, Engine.CP_ASYNC)  # the channels whose groups are committed


@dataclass(frozen=True, slots=True)
class SetPipeline(Edit):
    """Set a field of a resource's pipeline, or of a pipeline group's own; ``stages`` also sets those of its storage.

    before: ``smem_ab: 4 stages, 4 x 49152 B``; after ``SetPipeline("smem_ab", "stages", 3)``: ``3 stages, 3 x 49152 B``
    """

    resource: str
    field: str
    value: Any

    def apply(self, document: Document) -> Document:
        group = find_group(document, self.resource)
        owner = group or resource_named(document, self.resource)
        if owner.pipeline is None:
            raise EditError(f"{self.resource} has no pipeline")
        self._check()
        pipeline = replace(owner.pipeline, **{self.field: self.value})
        if group is not None:
            return _with_group(document, replace(group, pipeline=pipeline))
        resource = replace(owner, pipeline=pipeline)
        if self.field == "stages" and resource.storage is not None:
            resource = replace(resource, storage=replace(resource.storage, stages=self.value))
        return with_resource(document, resource)

    def _check(self) -> None:
        what, value = f"{self.field} of {self.resource}", self.value
        match self.field:
            case "stages":
                need(whole(value, 1), what, "a whole number above 0", value)
            case "bytes" | "producer_count" | "consumer_count":
                need(value is None or whole(value, 0), what, "a whole number, or nothing to derive it", value)
            case "type":
                need(
                    isinstance(value, str),
                    what,
                    "a pipeline type's name, or empty to follow the works",
                    value,
                )
            case "producer_signal" | "consumer_signal":
                need(value is None or isinstance(value, Signal), what, "a signal, or nothing", value)
            case "advance_on_acquire" | "advance_on_wait" | "producer_cta_leader" | "consumer_cta_leader":
                need(isinstance(value, bool), what, "yes or no", value)
            case "interleave":
                need(wholes(value, 4), what, "four strides above 0", value)
            case "multicast":
                flags = wholes(value, 2, 0) and max(value) <= 1
                need(
                    flags,
                    what,
                    "two numbers for the modes M and N: 1 where copies are multicast along it, 0 where not",
                    value,
                )
            case "cta_layout":
                words = "four extents above 0 (V, M, N, K), or nothing"
                need(value == () or wholes(value, 4), what, words, value)
            case _:
                raise EditError(f"a pipeline has no field {self.field}")


@dataclass(frozen=True, slots=True)
class SetStorage(Edit):
    """Set a field of a resource's storage.

    before: ``smem_c: 1 x 32768 B``; after ``SetStorage("smem_c", "alias", "c_over_ab")``: aliased
    """

    resource: str
    field: str
    value: Any

    def apply(self, document: Document) -> Document:
        resource = resource_named(document, self.resource)
        if resource.storage is None:
            raise EditError(f"{self.resource} has no storage")
        what, value = f"{self.field} of {self.resource}", self.value
        match self.field:
            case "bytes" | "phase":
                need(whole(value, 0), what, "a whole number", value)
            case "stages" | "alignment":
                need(whole(value, 1), what, "a whole number above 0", value)
            case "offset":
                need(
                    value is None or whole(value, 0),
                    what,
                    "bytes from the start, or nothing to place it",
                    value,
                )
            case "alias":
                need(isinstance(value, str), what, "an alias group's name, or empty", value)
            case "parts":
                good = isinstance(value, tuple) and all(isinstance(part, Part) for part in value)
                good = good and all(whole(part.offset, 0) and whole(part.bytes, 1) for part in value)
                need(good, what, "parts, each with an offset and bytes", value)
            case _:
                raise EditError(f"a storage has no field {self.field}")
        return with_resource(
            document, replace(resource, storage=replace(resource.storage, **{self.field: value}))
        )


@dataclass(frozen=True, slots=True)
class SetResource(Edit):
    """Set a resource's space or parameters, or give or take its pipeline or storage.

    before: ``turn: no pipeline``; after ``SetResource("turn", "pipeline", Pipeline(2))``: ``turn: 2 stages``
    """

    resource: str
    field: str
    value: Any

    def apply(self, document: Document) -> Document:
        resource = resource_named(document, self.resource)
        kinds = {"space": Space, "pipeline": Pipeline | None, "storage": Storage | None}
        what = f"{self.field} of {self.resource}"
        if self.field == "params":
            need(pairs(self.value), what, "pairs of a name and a value, each name once", self.value)
            return with_resource(document, replace(resource, params=self.value))
        if self.field not in kinds:
            raise EditError(f"a resource has no field {self.field} that can be set")
        need(isinstance(self.value, kinds[self.field]), what, f"a {self.field}", self.value)
        if self.field == "pipeline" and self.value is None:
            for op in (op for task in document.tasks for op in ops_of(task) if op.target == self.resource):
                if op.kind in PIPELINE_KINDS:
                    raise EditError(f"{op.id} uses the pipeline of {self.resource}: delete it first")
        return with_resource(document, replace(resource, **{self.field: self.value}))


@dataclass(frozen=True, slots=True)
class SetTask(Edit):
    """Set a task's warps, registers or resources.

    before: ``math: warps 0-3``; after ``SetTask("math", "num_warps", 8)``: ``math: warps 0-7``
    """

    name: str
    field: str
    value: Any

    def apply(self, document: Document) -> Document:
        task: Task = task_named(document, self.name)
        what, value = f"{self.field} of {self.name}", self.value
        match self.field:
            case "warp_idx":
                need(whole(value, 0), what, "a warp, from 0", value)
            case "num_warps":
                need(whole(value, 1), what, "a whole number above 0", value)
            case "num_registers":
                need(value is None or whole(value, 1), what, "registers a thread, or nothing", value)
            case "src" | "dst":
                need(texts(value), what, "names of resources", value)
                need_resources(document, value)
            case _:
                raise EditError(f"a task has no field {self.field} that can be set")
        return with_task(document, replace(task, **{self.field: value}))


@dataclass(frozen=True, slots=True)
class SetBarrier(Edit):
    """Set a field of a named barrier, a raw mbarrier or an async group.

    before: ``epilogue: id 1, 128 threads``; after ``SetBarrier("epilogue", "threads", 256)``: ``id 1, 256 threads``
    """

    name: str
    field: str
    value: Any

    def apply(self, document: Document) -> Document:
        fields = {
            "barriers": ("id", "threads"),
            "mbarriers": ("count", "stages", "scope", "address"),
            "groups": ("kind",),
        }
        for group, known in fields.items():
            items = getattr(document, group)
            if not any(item.name == self.name for item in items):
                continue
            if self.field not in known:
                raise EditError(f"{self.name} has no field {self.field} that can be set")
            self._check(document)
            changed = tuple(
                replace(item, **{self.field: self.value}) if item.name == self.name else item
                for item in items
            )
            return replace(document, **{group: changed})
        raise EditError(f"there is no barrier or group called {self.name}")

    def _check(self, document: Document) -> None:
        what, value = f"{self.field} of {self.name}", self.value
        match self.field:
            case "scope":
                need(value is None or value in SCOPES, what, " or ".join(SCOPES), value)
            case "count" | "address":
                need(value is None or whole(value, 0), what, "a whole number, or nothing", value)
            case "kind":
                need(value in GROUPS, what, ", ".join(kind.value for kind in GROUPS), value)
                ops = [op for task in document.tasks for op in ops_of(task) if op.target == self.name]
                reads = [op.id for op in ops if op.kind is OpKind.GROUP_WAIT_READ]
                if reads and value is not Engine.BULK_STORE:
                    raise EditError(f"{reads[0]} waits until {self.name} has read: only bulk stores can be")
            case "stages":
                need(whole(value, 1), what, "a whole number above 0", value)
            case _:
                need(whole(value, 0), what, "a whole number", value)


@dataclass(frozen=True, slots=True)
class SetPipelineGroup(Edit):
    """Set a pipeline group's mode or members, or give or take a pipeline of its own.

    before: ``ab: Merge of a, b``; after ``SetPipelineGroup("ab", "mode", FusedMerge)``: ``ab: FusedMerge of a, b``
    """

    name: str
    field: str
    value: Any

    def apply(self, document: Document) -> Document:
        group = find_group(document, self.name)
        if group is None:
            raise EditError(f"there is no pipeline group called {self.name}")
        what, value = f"{self.field} of {self.name}", self.value
        match self.field:
            case "mode":
                modes = ", ".join(PipelineGroupMode)
                need(isinstance(value, PipelineGroupMode), what, f"one of {modes}", value)
            case "members":
                need(texts(value) and bool(value), what, "names of resources", value)
                need_resources(document, value)
            case "pipeline":
                need(value is None or isinstance(value, Pipeline), what, "a pipeline, or nothing", value)
            case _:
                raise EditError(f"a pipeline group has no field {self.field} that can be set")
        return _with_group(document, replace(group, **{self.field: value}))


def _with_group(document: Document, group: PipelineGroup) -> Document:
    groups = tuple(group if g.name == group.name else g for g in document.pipeline_groups)
    return replace(document, pipeline_groups=groups)


@dataclass(frozen=True, slots=True)
class SetDocument(Edit):
    """Set a field of the document's own head.

    before: ``target sm_90a``; after ``SetDocument("target", "sm_100a")``: ``target sm_100a``
    """

    field: str
    value: Any

    def apply(self, document: Document) -> Document:
        value = self.value
        match self.field:
            case "cluster":
                need(wholes(value, 3), self.field, "three whole numbers above 0", value)
            case "ctas_per_sm":
                need(whole(value, 1), self.field, "a whole number above 0", value)
            case "smem_capacity" | "tmem_capacity":
                need(value is None or whole(value, 0), self.field, "a whole number, or nothing", value)
            case "roots":
                need(texts(value), self.field, "names of resources", value)
                need_resources(document, value)
                if again := [name for name in value if value.count(name) > 1]:
                    raise EditError(f"{again[0]} is named twice")
                made = {edge.downstream: edge.upstream for edge in document.graph}
                for name in (name for name in value if name in made):
                    raise EditError(f"{name} is made from {made[name]}: it is no root of the graph")
            case "name" | "target":
                need(text(value) and bool(value) and value.isprintable(), self.field, "a word", value)
            case _:
                raise EditError(f"a document has no field {self.field} that can be set")
        return replace(document, **{self.field: value})
