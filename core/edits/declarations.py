"""Edits of what a document declares: pipelines, storages, tasks, barriers, and the document's own head."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..document import SCOPES, Document, NamedBarrier, Pipeline, Signal, Space, Storage, Task
from .base import Edit, EditError, resource_named, task_named, with_resource, with_task


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _need(good: bool, what: str, must: str, value: Any) -> None:
    if not good:
        raise EditError(f"{what} must be {must}, not {value!r}")


@dataclass(frozen=True, slots=True)
class SetPipeline(Edit):
    """Set a field of a resource's pipeline; ``stages`` also sets the stages of its storage.

    before: ``smem_ab: 4 stages, 4 x 49152 B``; after ``SetPipeline("smem_ab", "stages", 3)``: ``3 stages, 3 x 49152 B``
    """

    resource: str
    field: str
    value: Any

    def apply(self, document: Document) -> Document:
        resource = resource_named(document, self.resource)
        if resource.pipeline is None:
            raise EditError(f"{self.resource} has no pipeline")
        what, value = f"{self.field} of {self.resource}", self.value
        match self.field:
            case "stages":
                _need(_whole(value, 1), what, "a whole number above 0", value)
            case "bytes" | "producer_count" | "consumer_count":
                _need(
                    value is None or _whole(value, 0), what, "a whole number, or nothing to derive it", value
                )
            case "type":
                _need(
                    isinstance(value, str),
                    what,
                    "a pipeline type's name, or empty to follow the works",
                    value,
                )
            case "producer_signal" | "consumer_signal":
                _need(value is None or isinstance(value, Signal), what, "a signal, or nothing", value)
            case "advance_on_acquire" | "advance_on_wait":
                _need(isinstance(value, bool), what, "yes or no", value)
            case _:
                raise EditError(f"a pipeline has no field {self.field}")
        resource = replace(resource, pipeline=replace(resource.pipeline, **{self.field: value}))
        if self.field == "stages" and resource.storage is not None:
            resource = replace(resource, storage=replace(resource.storage, stages=value))
        return with_resource(document, resource)


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
                _need(_whole(value, 0), what, "a whole number", value)
            case "stages" | "alignment":
                _need(_whole(value, 1), what, "a whole number above 0", value)
            case "offset":
                _need(
                    value is None or _whole(value, 0),
                    what,
                    "bytes from the start, or nothing to place it",
                    value,
                )
            case "alias":
                _need(isinstance(value, str), what, "an alias group's name, or empty", value)
            case "parts":
                _need(isinstance(value, tuple), what, "a tuple of parts", value)
            case _:
                raise EditError(f"a storage has no field {self.field}")
        return with_resource(
            document, replace(resource, storage=replace(resource.storage, **{self.field: value}))
        )


@dataclass(frozen=True, slots=True)
class SetResource(Edit):
    """Set a resource's space, or give or take its pipeline or storage.

    before: ``turn: no pipeline``; after ``SetResource("turn", "pipeline", Pipeline(2))``: ``turn: 2 stages``
    """

    resource: str
    field: str
    value: Any

    def apply(self, document: Document) -> Document:
        resource = resource_named(document, self.resource)
        kinds = {"space": Space, "pipeline": Pipeline | None, "storage": Storage | None}
        if self.field not in kinds:
            raise EditError(f"a resource has no field {self.field} that can be set")
        what = f"{self.field} of {self.resource}"
        _need(isinstance(self.value, kinds[self.field]), what, f"a {self.field}", self.value)
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
                _need(_whole(value, 0), what, "a warp, from 0", value)
            case "num_warps":
                _need(_whole(value, 1), what, "a whole number above 0", value)
            case "num_registers":
                _need(value is None or _whole(value, 1), what, "registers a thread, or nothing", value)
            case "src" | "dst":
                _need(isinstance(value, tuple), what, "names of resources", value)
                for resource in value:
                    resource_named(document, resource)
            case _:
                raise EditError(f"a task has no field {self.field} that can be set")
        return with_task(document, replace(task, **{self.field: value}))


@dataclass(frozen=True, slots=True)
class SetBarrier(Edit):
    """Set the ``id`` or ``threads`` of a named barrier, or the ``count``, ``stages`` or ``scope`` of a raw mbarrier.

    before: ``epilogue: id 1, 128 threads``; after ``SetBarrier("epilogue", "threads", 256)``: ``id 1, 256 threads``
    """

    name: str
    field: str
    value: Any

    def apply(self, document: Document) -> Document:
        for group, fields in (("barriers", ("id", "threads")), ("mbarriers", ("count", "stages", "scope"))):
            items = getattr(document, group)
            if not any(item.name == self.name for item in items):
                continue
            if self.field not in fields:
                raise EditError(f"{self.name} has no field {self.field} that can be set")
            derived = self.field in ("count", "scope") and self.value is None
            if self.field == "scope":
                derived = derived or self.value in SCOPES
            words = f"{' or '.join(SCOPES)}" if self.field == "scope" else "a whole number"
            fits = derived or (self.field != "scope" and _whole(self.value, 0))
            _need(fits, f"{self.field} of {self.name}", words, self.value)
            changed: tuple[NamedBarrier, ...] = tuple(
                replace(item, **{self.field: self.value}) if item.name == self.name else item
                for item in items
            )
            return replace(document, **{group: changed})
        raise EditError(f"there is no barrier called {self.name}")


@dataclass(frozen=True, slots=True)
class SetDocument(Edit):
    """Set the document's ``name``, ``target``, ``cluster`` or ``ctas_per_sm``.

    before: ``target sm_90a``; after ``SetDocument("target", "sm_100a")``: ``target sm_100a``
    """

    field: str
    value: Any

    def apply(self, document: Document) -> Document:
        value = self.value
        if self.field == "cluster":
            good = isinstance(value, tuple) and len(value) == 3 and all(_whole(n, 1) for n in value)
            _need(good, "cluster", "three whole numbers above 0", value)
        elif self.field == "ctas_per_sm":
            _need(_whole(value, 1), "ctas_per_sm", "a whole number above 0", value)
        elif self.field in ("name", "target"):
            _need(isinstance(value, str) and bool(value), self.field, "a word", value)
        else:
            raise EditError(f"a document has no field {self.field} that can be set")
        return replace(document, **{self.field: value})
