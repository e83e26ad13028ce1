"""Interleaved lanes: warps, or tasks, that own every n-th stage of a pipeline and have cursors of their own.

With a stride n > 1 on one side (`Pipeline.interleave`), lane l takes its uses l, l + n, l + 2 n, ... Lane l is warp l of a
task of n warps; where a task of another size has its ops on the pipeline in a loop that goes in steps of n from a constant
start, the whole task is lane start % n. (Task Scheduling 4.8.1 reads its ``interleave_stride`` so.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .document import Loop, Node, Op, Resource, Task

CURSORS = ("acquire", "commit", "wait", "release")
PLAIN = (1, 1, 1, 1)


def stride_of(resource: Resource, cursor: str) -> int:
    """By how many uses an op moves ``cursor`` ("acquire", "commit", "wait" or "release"). Lanes without a stage of their
    own are left out: WD214 reports them."""
    strides = resource.pipeline.interleave
    if len(strides) != len(CURSORS):
        return 1
    return min(max(1, strides[CURSORS.index(cursor)]), max(1, resource.pipeline.stages))


def task_lane(task: Task, resource: Resource, stride: int) -> int | None:
    """The lane that all warps of ``task`` are; None where each of its warps is one. 0 if the side is not interleaved."""
    if stride == 1:
        return 0
    found = task_lanes(task, resource, stride)
    return found[0] if found else None


def task_lanes(task: Task, resource: Resource, stride: int) -> tuple[int, ...]:
    """The lanes that the loops of ``task`` around ops on ``resource`` name, each once; none where its warps are lanes."""
    if task.num_warps == stride:
        return ()
    return tuple(dict.fromkeys(loop.start % stride for loop in _loops(task.body, resource.name, stride)))


def first_use(task: Task, resource: Resource, cursor: str, warp: int) -> int:
    """The use of ``resource`` at which ``cursor`` of warp ``warp`` of ``task`` begins: its lane."""
    stride = stride_of(resource, cursor)
    lane = task_lane(task, resource, stride)
    return warp % stride if lane is None else lane


def warps_are_lanes(task: Task, resource: Resource, cursor: str) -> bool:
    """Whether each warp of ``task`` owns stages of its own on this side of ``resource``, and signals and works alone."""
    return task_lane(task, resource, stride_of(resource, cursor)) is None


def _loops(nodes: Sequence[Node], target: str, stride: int) -> Iterator[Loop]:
    """The loops in steps of ``stride`` from a constant start that hold an op on ``target``."""
    for node in nodes:
        if isinstance(node, Op):
            continue
        if isinstance(node, Loop) and node.kind == "domain" and node.step == stride:
            if isinstance(node.start, int) and _touches(node.body, target):
                yield node
        yield from _loops(node.body, target, stride)


def _touches(nodes: Sequence[Node], target: str) -> bool:
    return any(n.target == target if isinstance(n, Op) else _touches(n.body, target) for n in nodes)
