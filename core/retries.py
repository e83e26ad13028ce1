"""Waits that run only where a peek has said no: ``token = ring.try_wait()``, then the wait under ``when_false(token)``.

Either way the phase is over afterwards, so such a block is the wait itself, and no condition of its own.
"""

from __future__ import annotations

from .arrivals import TMA, producer_signal
from .document import Document, Guard, GuardKind, Op, OpKind, Resource, Task
from .tree import walk

TWINS = {OpKind.WAIT: OpKind.TRY_WAIT, OpKind.ACQUIRE: OpKind.TRY_ACQUIRE}


def retries(document: Document, task: Task) -> frozenset[str]:
    """The ids of the blocks of ``task`` that hold nothing but the blocking twin of the peek whose token they test.

    Not where leaving the op out would leave out more than a wait: an acquire that arms a barrier, or a cursor of its own.
    """
    guards = [
        n for n in walk(task.body) if isinstance(n, Guard) and n.kind is GuardKind.WHEN_FALSE and n.token
    ]
    if not guards:
        return frozenset()
    peeks = {(name, n.kind, n.target) for n in walk(task.body) if isinstance(n, Op) for name in n.results}
    resources = {r.name: r for r in document.resources}
    return frozenset(g.id for g in guards if _is_retry(document, g, peeks, resources))


def _is_retry(
    document: Document,
    guard: Guard,
    peeks: set[tuple[str, OpKind, str]],
    resources: dict[str, Resource],
) -> bool:
    op = guard.body[0] if len(guard.body) == 1 else None
    if not isinstance(op, Op) or (guard.token, TWINS.get(op.kind), op.target) not in peeks:
        return False
    resource = resources.get(op.target)
    if resource is None or resource.pipeline is None:
        return False
    if op.kind is OpKind.WAIT:
        return not resource.pipeline.advance_on_wait
    return not resource.pipeline.advance_on_acquire and producer_signal(document, resource) != TMA
