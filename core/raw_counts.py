"""How many arrivals a raw mbarrier takes a phase, where its author does not say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from .arrivals import arrivals_by
from .clusters import cluster_size, runs_in, targets
from .document import Document, Guard, GuardKind, Loop, Node, Op, OpKind, Signal, Task
from .op_integers import chosen
from .tree import walk

ARRIVALS = (
    OpKind.MBARRIER_ARRIVE,
    OpKind.MBARRIER_ARRIVE_EXPECT,
    OpKind.TCGEN05_COMMIT,
    OpKind.CP_ASYNC_ARRIVE_NOINC,
)
BLOCKING = (  # a warp goes on here only once others have come
    OpKind.ACQUIRE,
    OpKind.WAIT,
    OpKind.MBARRIER_WAIT,
    OpKind.BARRIER_SYNC,
    OpKind.CLUSTER_SYNC,
    OpKind.CLUSTER_WAIT,
)
CHOOSES = (GuardKind.ELECT_WARP, GuardKind.ELECT_LANE, GuardKind.CTA_RANK)  # who, not whether


def derived_raw_count(document: Document, name: str, cta: int = 0) -> int:
    """Arrivals on CTA ``cta``'s raw mbarrier in one phase: those that each task makes before it waits for anything after
    its first arrive, in each CTA from which it reaches it (1 where nobody arrives).

    Arrivals of one warp with no wait between them are of one phase: each phase must be seen over before an arrive of the
    next (PTX ISA, "Phase of the mbarrier object").
    """
    return made_on_raw(document, name, cta) or 1


def made_on_raw(document: Document, name: str, cta: int) -> int:
    """The same, 0 where nobody arrives."""
    total = 0
    for source in range(cluster_size(document)):
        meant = partial(_reaches, document, name, source, cta)
        total += sum(_of_first_phase(task, meant, source) for task in document.tasks)
    return total


def _reaches(document: Document, name: str, source: int, cta: int, op: Op) -> bool:
    return op.kind in ARRIVALS and op.target == name and cta in targets(document, op.ctas, source)


def _of_first_phase(task: Task, meant: Callable[[Op], bool], cta: int) -> int:
    total, stage = 0, None
    for op, warp, conditional, lane in _until_wait(task.body, meant, cta, None, False):
        if stage is not None and (conditional or chosen(op.stage) != stage):
            continue  # an alternative, or the arrive of another barrier of the array
        stage = chosen(op.stage)
        warps = task.num_warps if warp is None else int(0 <= warp < task.num_warps)
        if op.kind is OpKind.TCGEN05_COMMIT:  # by the task's first warp
            warps = min(1, warps)
        counted = op.kind is OpKind.MBARRIER_ARRIVE and op.count is not None
        each = arrivals_by(Signal.CP_ASYNC, True, lane) if op.kind is OpKind.CP_ASYNC_ARRIVE_NOINC else 1
        total += warps * (op.count if counted else each)
    return total


def _until_wait(
    nodes: Sequence[Node],
    meant: Callable[[Op], bool],
    cta: int,
    warp: int | None,
    conditional: bool,
    lane: bool = False,
) -> Iterator[tuple[Op, int | None, bool, bool]]:
    """The arrives from the first one to the next wait, or to the end of the loop around it: each with the warp that alone
    executes it, whether it depends on a condition, and whether one lane executes it."""
    found = False
    for node in nodes:
        if isinstance(node, Op):
            if found and node.kind in BLOCKING:
                return
            if meant(node):
                found = True
                yield node, warp, conditional, lane
            continue
        if not runs_in(node, cta):
            continue
        if found and (isinstance(node, Loop) or _blocks(node.body)):
            return
        kind = getattr(node, "kind", None)
        alone = node.warp if kind is GuardKind.ELECT_WARP else warp
        asks = conditional or (isinstance(node, Guard) and kind not in CHOOSES)
        inside = list(_until_wait(node.body, meant, cta, alone, asks, lane or kind is GuardKind.ELECT_LANE))
        yield from inside
        found = found or bool(inside)
        if inside and (isinstance(node, Loop) or _blocks(_behind(node, inside[-1][0]))):
            return


def _blocks(nodes: Sequence[Node]) -> bool:
    return any(isinstance(n, Op) and n.kind in BLOCKING for n in walk(nodes))


def _behind(node: Guard, op: Op) -> list[Node]:
    """What ``node`` holds after ``op``."""
    inside = list(walk(node.body))
    return [n for n in inside[inside.index(op) + 1 :] if isinstance(n, Op)]
