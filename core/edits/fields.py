"""Edits of one field of an op, loop or guard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..consistency import PARITIES
from ..document import Document, Footprint, Guard, GuardKind, Loop, Node, Op, OpKind, Token
from ..expressions import Expression, LoopVariable, substitute
from ..op_integers import rewritten
from ..tree import walk
from . import trees
from .base import Edit, EditError, with_bodies
from .nodes import place_of, targets


def _natural(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _computed(value: Any) -> bool:
    return isinstance(value, Expression) or _natural(value)


def _maybe(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _integer(value: Any) -> bool:
    return isinstance(value, Expression | int) and not isinstance(value, bool)


def _texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(item, str) for item in value)


def _args(value: Any) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(i, tuple) and len(i) == 2 and _text(i[0]) for i in value
    )


# What may be set, and what each value must be: the check, and the words for it.
OP_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "kind": (lambda v: isinstance(v, OpKind), "a kind of operation"),
    "target": (_text, "a name"),
    "work": (_text, "a work's name"),
    "args": (_args, "pairs of a parameter and a value"),
    "results": (_texts, "names"),
    "stage": (_maybe(_computed), "a whole number, 0 or more, an expression, or nothing"),
    "count": (_maybe(_computed), "a whole number, 0 or more, an expression, or nothing"),
    "tx": (_maybe(_natural), "bytes, 0 or more, or nothing"),
    "footprint": (_maybe(lambda v: isinstance(v, Footprint)), "a footprint, or nothing"),
}
GUARD_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "kind": (lambda v: isinstance(v, GuardKind), "a kind of guard"),
    "cta": (lambda v: isinstance(v, int) and v >= 0, "a CTA's rank in the cluster"),
    "loop": (_text, "a loop's variable"),
    "warp": (_natural, "a warp of the task, from 0"),
    "period": (lambda v: _natural(v) and v > 0, "a whole number above 0"),
    "start": (_natural, "a whole number, 0 or more"),
    "key": (_text, "a condition's name"),
}
LOOP_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "var": (lambda v: _text(v) and v.isidentifier(), "an identifier"),
    "start": (_integer, "a whole number or an expression over symbols"),
    "stop": (_integer, "a whole number or an expression over symbols"),
    "step": (_integer, "a whole number or an expression over symbols"),
    "queue": (_text, "a work queue's name"),
    "skip_if": (_text, "a predicate's name"),
    "unroll": (_maybe(_natural), "a whole number, or nothing"),
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
        if isinstance(place.node, Loop) and self.field == "var":
            document = _follow_loop(document, place, self.value)
        ids = targets(document, self.id, self.copies)

        def change(node: Node) -> trees.Body:
            return (_changed(node, self.field, self.value),) if node.id in ids else (node,)

        return with_bodies(document, lambda body: trees.change_nodes(body, change))


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
