"""Which cursor an op of a pipeline goes by, for whoever walks a schedule or writes it as code.

Each side of a pipeline counts uses: use i is stage i % S, generation i // S (CUTLASS `PipelineState`). A task has one cursor
a side, moved by its commit and its release. With ``advance_on_acquire`` (``advance_on_wait``) its acquire (its wait) moves a
second one, and the works behind it are for the stage that it was last at. A cursor moves only by its own op: where a task
leaves the closing to another task and the flag is not set, it stays at the first stage.

The cursor is the task's: every op of its schedule moves it, whichever warp does the op. Under ``elect_warp`` one warp waits,
works and signals, and the others only move their cursors past the block; under ``elect_lane`` one lane signals, and the warp
moves. So all warps of a task are at one stage wherever they meet. (The turns of a raw mbarrier are each warp's own.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from .document import Document, Guard, GuardKind, Node, Op, OpKind, Resource, Task
from .tree import find_resource, find_work, ops_of, walk

CLOSES = {"acquire": "commit", "wait": "release"}
OPENS = {"producer": "acquire", "consumer": "wait"}  # by the role of a work
PRODUCING = frozenset((OpKind.ACQUIRE, OpKind.TRY_ACQUIRE, OpKind.COMMIT))
CONSUMING = frozenset((OpKind.WAIT, OpKind.TRY_WAIT, OpKind.RELEASE))


def pipeline_ops(task: Task) -> set[tuple[str, str]]:
    """The (target, kind) of every op of ``task``."""
    return {(o.target, o.kind.value) for o in ops_of(task)}


def opening_cursor(resource: Resource, opens: str, used: Set[tuple[str, str]]) -> str:
    """The cursor of an acquire or wait (``opens``) and of the works behind it: its own, or the one that closing moves.

    ``used``: the `pipeline_ops` of the task.
    """
    closes = CLOSES[opens]
    if (resource.name, opens) not in used:
        return closes  # another task opens the stage
    own = (
        resource.pipeline.advance_on_acquire
        if opens == OpKind.ACQUIRE.value
        else resource.pipeline.advance_on_wait
    )
    return opens if own else closes


def split_cursors(resource: Resource, bodies: Iterable[Iterable[Node]]) -> tuple[bool, bool]:
    """Whether some task only acquires stages of ``resource`` which another commits; the same of waits and releases."""
    kinds = [{n.kind for n in walk(b) if isinstance(n, Op) and n.target == resource.name} for b in bodies]

    def split(opens: OpKind, closes: OpKind) -> bool:
        return any(opens in k and closes not in k for k in kinds) and any(closes in k for k in kinds)

    return split(OpKind.ACQUIRE, OpKind.COMMIT), split(OpKind.WAIT, OpKind.RELEASE)


def moved_cursor(resource: Resource, kind: OpKind, used: Set[tuple[str, str]]) -> str:
    """The cursor that an op of ``kind`` on ``resource`` moves, "" for none; ``used`` as for `opening_cursor`."""
    if kind in (OpKind.COMMIT, OpKind.RELEASE):
        return kind.value
    opens = kind in (OpKind.ACQUIRE, OpKind.WAIT)
    return kind.value if opens and opening_cursor(resource, kind.value, used) == kind.value else ""


def passed_over(document: Document, task: Task, elected: Guard) -> frozenset[tuple[str, str]]:
    """The sides of pipelines, as (resource, role), that the block ``elected`` of one warp shares with others of ``task``.

    Those move their cursors past its ops. What only that warp ever does moves nothing elsewhere.
    """
    others = {side_of(document, op) for op in _not_only_by(task.body, elected.warp)}
    return frozenset(s for op in _ops(elected.body) if (s := side_of(document, op)) in others and s[1])


def side_of(document: Document, op: Op) -> tuple[str, str]:
    """The side of a pipeline that ``op`` goes by, as (resource, role); the role is "" for other ops."""
    if op.kind in PRODUCING or op.kind is OpKind.PRODUCER_TAIL:
        return op.target, "producer"
    if op.kind in CONSUMING:
        return op.target, "consumer"
    resource = find_resource(document, op.target) if op.kind is OpKind.WORK else None
    found = find_work(resource, op.work) if resource and resource.pipeline else None
    return op.target, ("producer" if found.role == "producer" else "consumer") if found else ""


def _ops(nodes: Iterable[Node]) -> Iterator[Op]:
    for node in nodes:
        if isinstance(node, Op):
            yield node
        else:
            yield from _ops(node.body)


def _not_only_by(nodes: Iterable[Node], warp: int) -> Iterator[Op]:
    """The ops that are in no block of warp ``warp``."""
    for node in nodes:
        if isinstance(node, Op):
            yield node
        elif not (isinstance(node, Guard) and node.kind is GuardKind.ELECT_WARP and node.warp == warp):
            yield from _not_only_by(node.body, warp)
