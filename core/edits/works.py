"""Edits of the works of a resource."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..document import Document, Engine, Op, OpKind, Work
from . import trees
from .base import Edit, EditError, check_new_name, resource_named, with_bodies, with_resource
from .checks import ctas, footprint, need, pairs, text, texts, whole

ROLES = ("producer", "consumer")


def _maybe(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


# What may be set, and what each value must be: the check, and the words for it.
ACCESSES = ("engine", "view", "footprint", "tx", "ctas")  # what a work touches, and how
WORK_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "role": (lambda v: v in ROLES, "producer or consumer"),
    "engine": (_maybe(lambda v: isinstance(v, Engine)), "an engine, or nothing"),
    "view": (lambda v: isinstance(v, bool), "yes or no"),
    "assumed": (lambda v: isinstance(v, bool), "yes or no"),
    "auxiliary": (lambda v: isinstance(v, bool), "yes or no"),
    "parameters": (texts, "names"),
    "returns": (texts, "names"),
    "footprint": (_maybe(footprint), "a footprint, or nothing"),
    "tx": (_maybe(whole), "bytes, 0 or more, or nothing"),
    "body": (text, "a body's name, or empty"),
    "params": (pairs, "pairs of a name and a value"),
    "ctas": (ctas, "ranks of CTAs, or one of own, peer, all, m, n"),
}


def _work(document: Document, resource: str, name: str) -> Work:
    for work in resource_named(document, resource).works:
        if work.name == name:
            return work
    raise EditError(f"{resource} has no work {name}")


def _calls(node: Any, resource: str, work: str) -> bool:
    return isinstance(node, Op) and node.kind is OpKind.WORK and node.target == resource and node.work == work


@dataclass(frozen=True, slots=True)
class AddWork(Edit):
    """Give a resource one more work.

    before: ``smem_c: store``; after ``AddWork("smem_c", Work("staged", "consumer", view=True))``: ``smem_c: store, staged``
    """

    resource: str
    work: Work

    def apply(self, document: Document) -> Document:
        resource = resource_named(document, self.resource)
        check_new_name(self.work.name, (work.name for work in resource.works), "work")
        if self.work.role not in ROLES:
            raise EditError(f"a work is a producer or a consumer, not {self.work.role!r}")
        return with_resource(document, replace(resource, works=(*resource.works, self.work)))


@dataclass(frozen=True, slots=True)
class RemoveWork(Edit):
    """Take a work from a resource, with the ops that call it.

    before: ``smem_c: store, staged``; after ``RemoveWork("smem_c", "staged")``: ``smem_c: store``
    """

    resource: str
    work: str

    def apply(self, document: Document) -> Document:
        resource = resource_named(document, self.resource)
        _work(document, self.resource, self.work)
        works = tuple(work for work in resource.works if work.name != self.work)
        document = with_resource(document, replace(resource, works=works))
        return with_bodies(
            document,
            lambda body: trees.change_nodes(
                body, lambda n: () if _calls(n, self.resource, self.work) else (n,)
            ),
        )


@dataclass(frozen=True, slots=True)
class SetWork(Edit):
    """Set a field of a work; the ops that call it follow where it is renamed. Whoever says what a work touches has said it:
    its accesses are no assumption any more.

    before: ``smem_ab.load_a: tx 16384``; after ``SetWork("smem_ab", "load_a", "tx", 8192)``: ``tx 8192``
    """

    resource: str
    work: str
    field: str
    value: Any

    def apply(self, document: Document) -> Document:
        resource = resource_named(document, self.resource)
        work = _work(document, self.resource, self.work)
        if self.field == "name":
            others = (other.name for other in resource.works if other is not work)
            check_new_name(self.value, others, "work")
        elif self.field in WORK_FIELDS:
            fits, words = WORK_FIELDS[self.field]
            need(fits(self.value), f"{self.field} of {self.resource}.{self.work}", words, self.value)
        else:
            raise EditError(f"a work has no field {self.field} that can be set")
        known = {"assumed": False} if self.field in ACCESSES else {}
        changed = replace(work, **known, **{self.field: self.value})
        works = tuple(changed if other is work else other for other in resource.works)
        document = with_resource(document, replace(resource, works=works))
        if self.field != "name":
            return document

        def follow(node: Any) -> trees.Body:
            called = _calls(node, self.resource, self.work)
            return (replace(node, work=self.value) if called else node,)

        return with_bodies(document, lambda body: trees.change_nodes(body, follow))
