"""Edits of one field of an op, loop or guard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..consistency import PARITIES
from ..document import Document, Guard, GuardKind, Loop, Node, Op, OpKind, Space, Token
from ..expressions import Expression, LoopVariable, substitute
from ..op_integers import rewritten
from ..tree import walk
from . import trees
from .base import Edit, EditError, with_bodies
from .checks import ctas, footprint, pairs, text, texts, whole
from .nodes import place_of, targets


def _computed(value: Any) -> bool:
    return isinstance(value, Expression) or whole(value)


def _maybe(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


def _integer(value: Any) -> bool:
    return isinstance(value, Expression | int) and not isinstance(value, bool)


# What may be set, and what each value must be: the check, and the words for it.
OP_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "kind": (lambda v: isinstance(v, OpKind), "a kind of operation"),
    "target": (text, "a name"),
    "work": (text, "a work's name"),
    "args": (pairs, "pairs of a parameter and a value"),
    "results": (texts, "names"),
    "stage": (_maybe(_computed), "a whole number, 0 or more, an expression, or nothing"),
    "count": (_maybe(_computed), "a whole number, 0 or more, an expression, or nothing"),
    "tx": (_maybe(whole), "bytes, 0 or more, or nothing"),
    "footprint": (_maybe(footprint), "a footprint, or nothing"),
    "ctas": (ctas, "ranks of CTAs, or one of own, peer, all, m, n"),
}
GUARD_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "kind": (lambda v: isinstance(v, GuardKind), "a kind of guard"),
    "cta": (whole, "a CTA's rank in the cluster"),
    "loop": (text, "a loop's variable"),
    "warp": (whole, "a warp of the task, from 0"),
    "period": (lambda v: whole(v) and v > 0, "a whole number above 0"),
    "start": (whole, "a whole number, 0 or more"),
    "key": (text, "a condition's name"),
    "token": (lambda v: v == "" or (text(v) and v.isidentifier()), "the name of a value, or nothing"),
}
LOOP_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "kind": (lambda v: v in ("domain", "tile"), "domain or tile"),
    "var": (lambda v: text(v) and v.isidentifier(), "an identifier"),
    "start": (_integer, "a whole number or an expression over symbols"),
    "stop": (_integer, "a whole number or an expression over symbols"),
    "step": (_integer, "a whole number or an expression over symbols"),
    "queue": (text, "a work queue's name"),
    "skip_if": (text, "a predicate's name"),
    "unroll": (_maybe(whole), "a whole number, or nothing"),
}


def _fields(node: Node) -> dict[str, tuple[Callable[[Any], bool], str]]:
    if isinstance(node, Op):
        return OP_FIELDS
    return LOOP_FIELDS if isinstance(node, Loop) else GUARD_FIELDS


@dataclass(frozen=True, slots=True)
class SetField(Edit):
    """Set a field of an op, loop or guard, or of every unrolled copy of an op. Guards and arguments follow a renamed loop.

    before: ``mma_group.wait(1)``; after ``SetField("math.05", "count", 0)``: ``mma_group.wait(0)``
    """

    id: str
    field: str
    value: Any
    copies: bool = False

    def apply(self, document: Document) -> Document:
        place = place_of(document, self.id)
        fields = _fields(place.node)
        if self.field not in fields:
            raise EditError(f"{self.id} has no field {self.field} that can be set")
        fits, words = fields[self.field]
        if not fits(self.value):
            raise EditError(f"{self.field} of {self.id} must be {words}, not {self.value!r}")
        if self.field == "count" and isinstance(self.value, Expression) and place.node.kind not in PARITIES:
            raise EditError(f"count of {self.id} must be a number known beforehand, not {self.value}")
        if self.field == "count" and self.value == 0 and place.node.kind is OpKind.MBARRIER_ARRIVE:
            raise EditError(f"count of {self.id} must be 1 or more: no arrival is none")
        if isinstance(place.node, Loop) and self.field == "var":
            document = _follow_loop(document, place, self.value)
        if isinstance(place.node, Loop) and self.field == "kind":
            changed = _of_kind(document, place.node, self.value)
            return with_bodies(
                document,
                lambda b: trees.change_nodes(
                    b, lambda n: (replace(changed, body=n.body),) if n.id == self.id else (n,)
                ),  # type: ignore[union-attr]
            )
        ids = targets(document, self.id, self.copies)

        def change(node: Node) -> trees.Body:
            return (_changed(node, self.field, self.value),) if node.id in ids else (node,)

        return with_bodies(document, lambda body: trees.change_nodes(body, change))


def _of_kind(document: Document, loop: Loop, kind: str) -> Loop:
    """The loop over work tiles instead of a range, or the other way round."""
    if kind == loop.kind:
        return loop
    if kind == "domain":
        return replace(loop, kind=kind, queue="", skip_if="")
    queue = next((r.name for r in document.resources if r.space is Space.QUEUE), None)
    if queue is None:
        raise EditError(f"{loop.id} cannot go over work tiles: no resource is a queue")
    return replace(loop, kind=kind, queue=queue, start=0, step=1, unroll=None)


def _changed(node: Node, field: str, value: Any) -> Node:
    changed = replace(node, **{field: value})
    if field == "kind" and isinstance(changed, Op) and changed.kind not in PARITIES:
        if isinstance(changed.count, Expression):  # a parity, which means nothing to the new kind
            changed = replace(changed, count=None)
    return changed


def _follow_loop(document: Document, place: trees.Place, new: str) -> Document:
    """What is inside the loop speaks of it by its variable: rename there too."""
    loop = place.node
    assert isinstance(loop, Loop)
    old = loop.var
    if any(isinstance(n, Loop) and n.var == new for n in walk(loop.body)):
        raise EditError(f"a loop inside {loop.id} is already called {new}")

    def change(node: Node) -> trees.Body:
        if isinstance(node, Guard) and node.loop == old:
            return (replace(node, loop=new),)
        if isinstance(node, Op):
            node = rewritten(node, lambda e: substitute(e, old, LoopVariable(new)))
        if isinstance(node, Op) and any(value == Token(old) for _, value in node.args):
            args = tuple((name, Token(new) if value == Token(old) else value) for name, value in node.args)
            return (replace(node, args=args),)
        return (node,)

    return trees.change_body(document, loop.id, lambda body: trees.change_nodes(body, change))
