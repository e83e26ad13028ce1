"""Edits of a schedule's order: move, insert, delete, duplicate, wrap and unwrap nodes.

A ``parent`` is the name of a task or the id of a loop or guard; an ``index`` is a position in its body.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..document import Document, Guard, Loop, Node, Op
from ..tree import walk
from . import trees
from .base import Edit, EditError, FreshIds, with_bodies


def place_of(document: Document, id: str) -> trees.Place:
    """The place of the node with that id; EditError without one."""
    place = trees.find(document, id)
    if place is None:
        raise EditError(f"there is no operation {id}")
    return place


def targets(document: Document, id: str, copies: bool) -> tuple[str, ...]:
    """``id``, or the ids of all its unrolled copies."""
    node = place_of(document, id).node
    return trees.copies(document, node) if copies and isinstance(node, Op) else (id,)


def _insert(document: Document, parent: str, index: int, nodes: trees.Body) -> Document:
    body = trees.body_of(document, parent)
    if body is None:
        raise EditError(f"there is no task, loop or guard {parent} to put it in")
    if not 0 <= index <= len(body):
        raise EditError(f"{parent} has {len(body)} entries: there is no position {index}")
    return trees.change_body(document, parent, lambda b: (*b[:index], *nodes, *b[index:]))


def _remove(document: Document, ids: tuple[str, ...]) -> Document:
    return with_bodies(document, lambda b: trees.change_nodes(b, lambda n: () if n.id in ids else (n,)))


def renumbered(node: Node, ids: FreshIds, new: dict[str, str] | None = None) -> Node:
    """A copy of ``node`` whose ids, and those of everything in it, are fresh; ``new`` collects old to new ids."""
    new = {} if new is None else new
    new[node.id] = ids.take()
    if isinstance(node, Op):
        return replace(node, id=new[node.id], copy_of=new.get(node.copy_of, ""))
    return replace(node, id=new[node.id], body=tuple(renumbered(child, ids, new) for child in node.body))


@dataclass(frozen=True, slots=True)
class MoveNode(Edit):
    """Move a node; ``index`` counts in the new parent without the node. With ``copies`` every unrolled copy moves as far.

    before: ``load: [acquire, load_a, load_b, commit]``
    after ``MoveNode("load.02", "load", 1)``: ``load: [acquire, load_b, load_a, commit]``
    """

    id: str
    parent: str
    index: int
    copies: bool = False

    def apply(self, document: Document) -> Document:
        place = place_of(document, self.id)
        if not isinstance(place.node, Op):
            inside = {place.node.id} | {n.id for n in walk(place.node.body)}
            if self.parent in inside:
                raise EditError(f"{self.id} cannot be moved into itself")
        ids = targets(document, self.id, self.copies)
        if len(ids) == 1:
            return self._one(document, place, self.parent, self.index)
        if self.parent != place.parent:
            raise EditError("all copies can be moved together only within their own blocks")
        shift = self.index - place.index
        # The last copy first when moving down, so that copies in one body do not overtake each other.
        for id in reversed(ids) if shift > 0 else ids:
            place = place_of(document, id)
            document = self._one(document, place, place.parent, place.index + shift)
        return document

    @staticmethod
    def _one(document: Document, place: trees.Place, parent: str, index: int) -> Document:
        return _insert(_remove(document, (place.node.id,)), parent, index, (place.node,))


@dataclass(frozen=True, slots=True)
class InsertNode(Edit):
    """Insert a node; ids left empty are made, ids given must be new.

    before: ``math: [wait, mma]``
    after ``InsertNode("math", 2, Op("", OpKind.RELEASE, "smem_ab"))``: ``math: [wait, mma, release]``
    """

    parent: str
    index: int
    node: Node

    def apply(self, document: Document) -> Document:
        fresh = FreshIds(document, self._task(document))
        return _insert(document, self.parent, self.index, (self._named(self.node, fresh),))

    def _task(self, document: Document) -> str:
        for task in document.tasks:
            if task.name == self.parent or any(n.id == self.parent for n in walk(task.body)):
                return task.name
        raise EditError(f"there is no task, loop or guard {self.parent} to put it in")

    def _named(self, node: Node, fresh: FreshIds) -> Node:
        if node.id and fresh.used(node.id):
            raise EditError(f"the id {node.id} is already taken")
        node = node if node.id else replace(node, id=fresh.take())
        if isinstance(node, Op):
            return node
        return replace(node, body=tuple(self._named(child, fresh) for child in node.body))


@dataclass(frozen=True, slots=True)
class DeleteNode(Edit):
    """Delete a node with all that is in it, or every unrolled copy of an op.

    before: ``math: [wait, mma, release]``; after ``DeleteNode("math.02")``: ``math: [wait, mma]``
    """

    id: str
    copies: bool = False

    def apply(self, document: Document) -> Document:
        return _remove(document, targets(document, self.id, self.copies))


@dataclass(frozen=True, slots=True)
class DuplicateNode(Edit):
    """Put a copy of a node right after it, with ids of its own.

    before: ``math: [wait, mma]``; after ``DuplicateNode("math.01")``: ``math: [wait, mma, mma]``
    """

    id: str

    def apply(self, document: Document) -> Document:
        place = place_of(document, self.id)
        twin = renumbered(place.node, FreshIds(document, place.task))
        return _insert(document, place.parent, place.index + 1, (twin,))


@dataclass(frozen=True, slots=True)
class WrapNodes(Edit):
    """Put neighbouring nodes into a new, empty loop or guard.

    before: ``math: [store, sync, bulk_store]``
    after ``WrapNodes(("math.02",), Guard("", GuardKind.ELECT_WARP, ()))``: ``math: [store, sync, if warp 0: [bulk_store]]``
    """

    ids: tuple[str, ...]
    block: Loop | Guard

    def apply(self, document: Document) -> Document:
        found = [place_of(document, id) for id in self.ids]
        if not found:
            raise EditError("nothing is chosen to go into the block")
        first = min(found, key=lambda place: place.index)
        inside = tuple(place.node for place in sorted(found, key=lambda place: place.index))
        wanted = [(first.parent, first.index + i) for i in range(len(found))]
        if sorted((place.parent, place.index) for place in found) != wanted:
            raise EditError("only neighbours in one block can be wrapped together")
        rest = _remove(document, self.ids)
        if self.block.id and FreshIds(document, first.task).used(self.block.id):
            raise EditError(f"the id {self.block.id} is already taken")
        id = self.block.id or FreshIds(document, first.task).take()
        return _insert(rest, first.parent, first.index, (replace(self.block, id=id, body=inside),))


@dataclass(frozen=True, slots=True)
class UnwrapNode(Edit):
    """Replace a loop or guard by what is in it.

    before: ``math: [if warp 0: [bulk_store], sync]``; after ``UnwrapNode("math.03")``: ``math: [bulk_store, sync]``
    """

    id: str

    def apply(self, document: Document) -> Document:
        node = place_of(document, self.id).node
        if isinstance(node, Op):
            raise EditError(f"{self.id} is an operation: only a loop or guard can be unwrapped")
        return with_bodies(
            document,
            lambda b: trees.change_nodes(b, lambda n: n.body if n.id == self.id else (n,)),  # type: ignore[union-attr]
        )
