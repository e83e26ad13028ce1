"""Edits of what stands in a resource or a document's head: works and symbols."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..document import Document, Loop, Op, OpKind, Work
from ..expressions import Operation, Symbol, symbols_of
from ..op_integers import rewritten, symbols_used
from ..tree import walk
from . import trees
from .base import Edit, EditError, check_new_name, resource_named, with_bodies, with_resource


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
        if self.work.role not in ("producer", "consumer"):
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
        works = tuple(work for work in resource.works if work.name != self.work)
        if len(works) == len(resource.works):
            raise EditError(f"{self.resource} has no work {self.work}")

        def keep(node) -> trees.Body:
            calls = isinstance(node, Op) and node.kind is OpKind.WORK and node.target == self.resource
            return () if calls and node.work == self.work else (node,)

        document = with_resource(document, replace(resource, works=works))
        return with_bodies(document, lambda body: trees.change_nodes(body, keep))


@dataclass(frozen=True, slots=True)
class SetSymbol(Edit):
    """Declare a symbol, or change the least value that it is checked for, wherever it is used.

    before: ``symbols: k_tiles >= 1``; after ``SetSymbol("tiles", 0)``: ``symbols: k_tiles >= 1, tiles >= 0``
    """

    name: str
    min: int = 0

    def apply(self, document: Document) -> Document:
        if not isinstance(self.min, int) or self.min < 0:
            raise EditError(f"the least value of {self.name} must be a whole number, 0 or more")
        known = next((s for s in document.symbols if s.name == self.name), None)
        new = Symbol(self.name, self.min, known is not None and known.per_cta)
        if not any(symbol.name == self.name for symbol in document.symbols):
            check_new_name(self.name, (), "symbol")
            return replace(document, symbols=(*document.symbols, new))
        symbols = tuple(new if symbol.name == self.name else symbol for symbol in document.symbols)

        def change(node) -> trees.Body:
            if isinstance(node, Op):
                return (rewritten(node, lambda e: _with(e, new)),)
            if not isinstance(node, Loop):
                return (node,)
            bounds = {name: _with(getattr(node, name), new) for name in ("start", "stop", "step")}
            return (replace(node, **bounds),)

        document = replace(document, symbols=symbols)
        return with_bodies(document, lambda body: trees.change_nodes(body, change))


@dataclass(frozen=True, slots=True)
class RemoveSymbol(Edit):
    """Take back a symbol that no loop uses.

    before: ``symbols: k_tiles, tiles``; after ``RemoveSymbol("tiles")``: ``symbols: k_tiles``
    """

    name: str

    def apply(self, document: Document) -> Document:
        symbols = tuple(symbol for symbol in document.symbols if symbol.name != self.name)
        if len(symbols) == len(document.symbols):
            raise EditError(f"there is no symbol {self.name}")
        for node in (node for task in document.tasks for node in walk(task.body)):
            if isinstance(node, Op):
                if any(symbol.name == self.name for symbol in symbols_used([node])):
                    raise EditError(f"{node.id} computes with {self.name}")
            elif isinstance(node, Loop):
                for bound in (node.start, node.stop, node.step):
                    if any(symbol.name == self.name for symbol in symbols_of(bound)):
                        raise EditError(f"{self.name} bounds the loop {node.id}")
        return replace(document, symbols=symbols)


def _with(bound, new: Symbol):
    """``bound`` with every symbol of that name replaced."""
    if isinstance(bound, Symbol):
        return new if bound.name == new.name else bound
    if not isinstance(bound, Operation):
        return bound
    return replace(bound, left=_with(bound.left, new), right=_with(bound.right, new))
