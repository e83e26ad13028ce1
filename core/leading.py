"""Pipelines that a task fills by copies alone: its first warp takes part in them, the others pass them over.

One warp issues the copies of a task, and an acquire arms the barrier once. The others have nothing to wait for there, and a
warp that only waits could be lapped (WD205): no code is emitted for them. Where they do have something to wait for, since
the task touches memory otherwise or names who acquires and who copies, all warps of the task wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .arrivals import TMA, producer_signal
from .document import Document, Engine, Guard, GuardKind, Node, Op, OpKind, Resource, Space, Task
from .footprints import by_each_warp, engine_of, target_work, tracked
from .interleave import PLAIN
from .tree import made_once

OPENS = (OpKind.ACQUIRE, OpKind.TRY_ACQUIRE)


@made_once
def led_pipelines(document: Document) -> tuple[tuple[str, str], ...]:
    """The (task, pipeline) where only the task's first warp acquires stages."""
    return tuple((t.name, r.name) for t in document.tasks for r in _led(document, t))


def _led(document: Document, task: Task) -> Iterator[Resource]:
    ops = list(_ops(task.body)) if task.num_warps > 1 else []
    if not all(_copies(document, task, op) for op, _ in ops):
        return
    opened = {op.target for op, _ in ops if op.kind in OPENS}
    named = {op.target for op, elected in ops if elected}
    for r in document.resources:
        if r.name not in opened - named or not r.pipeline or producer_signal(document, r) != TMA:
            continue
        # with a signal that is stated all warps acquire and one arms (Task Scheduling's TaskWarpLeader)
        if r.pipeline.producer_signal is None and r.pipeline.interleave == PLAIN:
            yield r


def _copies(document: Document, task: Task, op: Op) -> bool:
    """Whether ``op`` touches nothing that others may change, or only as a copy that one warp issues for all."""
    found = target_work(document, op) if op.kind is OpKind.WORK else None
    if found is None or found[1].auxiliary or found[1].view or found[0].space is Space.QUEUE:
        return True
    return (engine_of(*found) is Engine.TMA and not by_each_warp(*found, task)) or not tracked(found[0])


def _ops(nodes: Sequence[Node], elected: bool = False) -> Iterator[tuple[Op, bool]]:
    """The ops, each with whether a block around names the warp that does it."""
    for node in nodes:
        if isinstance(node, Op):
            yield node, elected
        else:
            names = isinstance(node, Guard) and node.kind is GuardKind.ELECT_WARP
            yield from _ops(node.body, elected or names)
