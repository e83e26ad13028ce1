"""Edits of a document's symbols: they are followed wherever the schedule computes with them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..document import Document, Loop, Op
from ..expressions import Operation, Symbol, symbols_of
from ..op_integers import rewritten, symbols_used
from ..tree import walk
from . import trees
from .base import Edit, EditError, check_new_name, with_bodies


@dataclass(frozen=True, slots=True)
class SetSymbol(Edit):
    """Declare a symbol, or change the least value that it is checked for, and whether each CTA or work tile has a value of
    its own (None: as before).

    before: ``symbols: k_tiles >= 1``; after ``SetSymbol("tiles", 0)``: ``symbols: k_tiles >= 1, tiles >= 0``
    """

    name: str
    min: int | None = None
    per_cta: bool | None = None
    per_tile: bool | None = None

    def apply(self, document: Document) -> Document:
        known = next((s for s in document.symbols if s.name == self.name), None)
        if known is None:
            check_new_name(self.name, (), "symbol")
        old = Symbol(self.name) if known is None else known
        given = {name: getattr(self, name) for name in ("min", "per_cta", "per_tile")}
        new = replace(old, **{name: value for name, value in given.items() if value is not None})
        if not isinstance(new.min, int) or isinstance(new.min, bool) or new.min < 0:
            raise EditError(f"the least value of {self.name} must be a whole number, 0 or more")
        if not isinstance(new.per_cta, bool) or not isinstance(new.per_tile, bool):
            raise EditError(f"whether {self.name} differs by CTA or tile must be yes or no")
        if known is None:
            return replace(document, symbols=(*document.symbols, new))
        return _replaced(document, known, new)


@dataclass(frozen=True, slots=True)
class RenameSymbol(Edit):
    """Rename a symbol wherever the schedule and its kernel's trip counts speak of it.

    before: ``for k in 0 .. k_tiles``; after ``RenameSymbol("k_tiles", "depth")``: ``for k in 0 .. depth``
    """

    name: str
    new: str

    def apply(self, document: Document) -> Document:
        known = next((s for s in document.symbols if s.name == self.name), None)
        if known is None:
            raise EditError(f"there is no symbol {self.name}")
        check_new_name(self.new, (s.name for s in document.symbols), "symbol")
        document = _replaced(document, known, replace(known, name=self.new))
        if document.kernel is None:
            return document
        counts = tuple((self.new if n == self.name else n, e) for n, e in document.kernel.trip_counts)
        return replace(document, kernel=replace(document.kernel, trip_counts=counts))


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


def _replaced(document: Document, old: Symbol, new: Symbol) -> Document:
    """``document`` with ``new`` in place of ``old``, where it is declared and wherever it is used."""

    def change(node) -> trees.Body:
        if isinstance(node, Op):
            return (rewritten(node, lambda e: _with(e, old.name, new)),)
        if not isinstance(node, Loop):
            return (node,)
        bounds = {name: _with(getattr(node, name), old.name, new) for name in ("start", "stop", "step")}
        changed = any(bounds[name] is not getattr(node, name) for name in bounds)
        return (replace(node, **bounds) if changed else node,)

    symbols = tuple(new if symbol.name == old.name else symbol for symbol in document.symbols)
    document = replace(document, symbols=symbols)
    return with_bodies(document, lambda body: trees.change_nodes(body, change))


def _with(bound, name: str, new: Symbol):
    """``bound`` with every symbol called ``name`` replaced."""
    if isinstance(bound, Symbol):
        return new if bound.name == name else bound
    if not isinstance(bound, Operation):
        return bound
    left, right = _with(bound.left, name, new), _with(bound.right, name, new)
    same = left is bound.left and right is bound.right
    return bound if same else replace(bound, left=left, right=right)
