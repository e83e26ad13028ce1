"""The small values that a session holds beside its document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from warpdraft.core.document import Document
from warpdraft.core.edits import declared_names, places

from .views.forms import DOCUMENT, KERNEL


@dataclass(frozen=True, slots=True)
class Selection:
    """What the views light up. ``kind``: "op" (also loops and guards), "resource", "work", "task", "symbol", "edge",
    "document", "kernel", "tensor", "finding", or "" for nothing; ``ids``: the ops chosen together, or one name; a work goes
    by "resource.work", a finding by its `finding_key`."""

    kind: str = ""
    ids: tuple[str, ...] = ()

    @property
    def first(self) -> str:
        """The id or name chosen first, "" for none."""
        return self.ids[0] if self.ids else ""


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the person. ``kind``: "error", "info" or "done"."""

    kind: str
    text: str
    number: int = 0  # tells two equal notices apart
    action: Any = None  # what a button beside it does: {"label", "intent"}, or a tuple of those


@dataclass(frozen=True, slots=True)
class Result:
    """Something computed from the document of ``revision``; ``problem`` says why there is no ``value``. Not ``whole``: what
    is known already, and more comes."""

    revision: int = -1
    value: Any = None
    problem: str = ""
    whole: bool = True


def known_names(document: Document, kind: str) -> set[str]:
    """What a selection of that kind may name."""
    match kind:
        case "op":
            return {place.node.id for place in places(document)}
        case "resource":
            return declared_names(document)
        case "task":
            return {task.name for task in document.tasks}
        case "edge":
            return {f"{edge.upstream}->{edge.downstream}" for edge in document.graph}
        case "work":
            return {f"{r.name}.{work.name}" for r in document.resources for work in r.works}
        case "symbol":
            return {symbol.name for symbol in document.symbols}
        case "document":
            return {DOCUMENT}
        case "kernel":
            return {KERNEL} if document.kernel else set()
        case "tensor":
            return {tensor.name for tensor in document.kernel.tensors} if document.kernel else set()
    return set()
