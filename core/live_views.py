"""Which view tokens an op may still take: the others do not matter for what follows (liveness, as compilers compute it)."""

from __future__ import annotations

from collections.abc import Sequence

from .document import Loop, Node, Op, Task, Token
from .tree import walk

Names = frozenset[str]
NONE: Names = frozenset()


def live_at(task: Task, loop: Loop) -> Names:
    """The tokens that an op may take after a place between two iterations of ``loop``, or at its end, before an op of the
    same name makes them anew."""
    return _inside(task.body, loop, NONE) or NONE


def _inside(nodes: Sequence[Node], loop: Loop, after: Names) -> Names | None:
    """The same, where ``after`` are those that are taken behind ``nodes``; None if the loop is not among them."""
    for i, node in enumerate(nodes):
        if isinstance(node, Op) or not any(n.id == loop.id for n in walk((node,))):
            continue
        behind = _before(nodes[i + 1 :], after)
        if isinstance(node, Loop):
            behind = _around(node, behind)
        return behind if node.id == loop.id else _inside(node.body, loop, behind)
    return None


def _before(nodes: Sequence[Node], after: Names) -> Names:
    """The tokens that are taken from the first of ``nodes`` on."""
    for node in reversed(nodes):
        if isinstance(node, Op):
            taken = {v.name for _, v in node.args if isinstance(v, Token)}
            after = (after - frozenset(node.results)) | taken
        elif isinstance(node, Loop):
            after = _around(node, after)
        else:
            after = after | _before(node.body, after)
    return after


def _around(loop: Loop, after: Names) -> Names:
    """The tokens that are taken from before an iteration of ``loop`` on, or from its end on."""
    once = after | _before(loop.body, after)
    return once | _before(loop.body, once)
