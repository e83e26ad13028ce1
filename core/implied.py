"""What an asynchronous work reads though no argument says so: what the graph says that its result is made from.

A tensor core or a bulk store that is given views reads these. One that is given none reads the stage that its task holds of
each pipeline upstream (unless it takes a value that was read there), from its issue until it is complete.
"""

from __future__ import annotations

from .descriptors import READERS, describes
from .document import Document, Op, OpKind, Task, Token
from .footprints import engine_of, target_work
from .tree import find_resource, ops_of


def implied_reads(document: Document, task: Task) -> dict[str, tuple[str, ...]]:
    """By op of ``task``, the pipelines whose stage in hand it reads."""
    ups: dict[str, list[str]] = {}
    for edge in document.graph:
        resource = find_resource(document, edge.upstream)
        if resource is not None and resource.pipeline and edge.upstream != edge.downstream:
            ups.setdefault(edge.downstream, []).append(edge.upstream)
    origins: dict[str, list[Op]] = {}  # token -> ops that return it
    for op in ops_of(task):
        for token in op.results:
            origins.setdefault(token, []).append(op)
    found = {}
    for op in ops_of(task):
        if op.kind is OpKind.WORK and op.target in ups and _reads(document, op):
            sources = [o for _, v in op.args if isinstance(v, Token) for o in origins.get(v.name, ())]
            if not any(_is_view(document, o) for o in sources):
                taken = {o.target for o in sources}
                found[op.id] = tuple(u for u in ups[op.target] if u in task.src and u not in taken)
    return found


def _reads(document: Document, op: Op) -> bool:
    found = target_work(document, op)
    if found is None or found[1].role != "producer" or found[1].auxiliary:
        return False
    return engine_of(*found) in READERS


def _is_view(document: Document, op: Op) -> bool:
    found = target_work(document, op)
    return found is not None and (found[1].view or describes(*found))
