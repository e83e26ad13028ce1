"""Waits that run only where a peek has said no: ``token = ring.try_wait()``, then the wait under ``when_false(token)``.

Either way the phase is over afterwards, so such a block is the wait itself, and no condition of its own. So it is with a raw
mbarrier, where peek and wait name the same stage and parity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from .arrivals import TMA, producer_signal
from .document import Document, Guard, GuardKind, Node, Op, OpKind, Resource, Task
from .tree import walk

TWINS = {
    OpKind.WAIT: OpKind.TRY_WAIT,
    OpKind.ACQUIRE: OpKind.TRY_ACQUIRE,
    OpKind.MBARRIER_WAIT: OpKind.MBARRIER_TRY_WAIT,
}


def retries(document: Document, task: Task) -> frozenset[str]:
    """The ids of the blocks of ``task`` that hold nothing but the blocking twin of the peek whose token they test.

    Not where leaving the op out would leave out more than a wait: an acquire that arms a barrier, or a cursor of its own.
    """
    guards = [
        n for n in walk(task.body) if isinstance(n, Guard) and n.kind is GuardKind.WHEN_FALSE and n.token
    ]
    if not guards:
        return frozenset()
    peeks = {
        (name, n.kind, n.target, n.stage, n.count)
        for n in walk(task.body)
        if isinstance(n, Op)
        for name in n.results
    }
    resources = {r.name: r for r in document.resources}
    return frozenset(g.id for g in guards if _is_retry(document, g, peeks, resources))


def distant_peeks(document: Document, task: Task) -> tuple[str, ...]:
    """The peeks at raw mbarriers whose retry is not the very next thing: the warp may learn of phases in between, and a
    parity that let the peek pass could have been an older one."""
    found = retries(document, task)
    near = {
        (before.id, block.token)
        for body in _bodies(task.body)
        for before, block in pairwise(body)
        if isinstance(before, Op) and isinstance(block, Guard) and block.token in before.results
    }
    tokens = {n.token for n in walk(task.body) if isinstance(n, Guard) and n.id in found}
    return tuple(
        n.id
        for n in walk(task.body)
        if isinstance(n, Op) and n.kind is OpKind.MBARRIER_TRY_WAIT
        for token in n.results
        if token in tokens and (n.id, token) not in near
    )


def _bodies(nodes: Sequence[Node]) -> Iterator[Sequence[Node]]:
    yield nodes
    for node in nodes:
        if not isinstance(node, Op):
            yield from _bodies(node.body)


def _is_retry(
    document: Document,
    guard: Guard,
    peeks: set[tuple],
    resources: dict[str, Resource],
) -> bool:
    alone = (
        len({n.id for n in guard.body}) == 1
    )  # what one op of a pipeline group is spelled out into counts as one
    op = guard.body[0] if alone else None
    if (
        not isinstance(op, Op)
        or (guard.token, TWINS.get(op.kind), op.target, op.stage, op.count) not in peeks
    ):
        return False
    if op.kind is OpKind.MBARRIER_WAIT:
        return op.count is not None  # a turn must be counted whether or not the wait runs
    resource = resources.get(op.target)
    if resource is None or resource.pipeline is None:
        return False
    if op.kind is OpKind.WAIT:
        return not resource.pipeline.advance_on_wait
    return not resource.pipeline.advance_on_acquire and producer_signal(document, resource) != TMA
