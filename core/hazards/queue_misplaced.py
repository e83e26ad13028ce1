"""WD111  queue-misplaced: the work queue does not advance exactly once a tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..document import Document, Guard, GuardKind, Loop, Node, Op, Resource, Task
from ..findings import Finding
from ..tree import find_resource, find_work, walk
from .base import Hazard, error, unique
from .examples import acquire, channel, commit, document, guard, loop, queue, release, task, tiles, wait, work

CODE, NAME = "WD111", "queue-misplaced"


def check(document: Document) -> Iterator[Finding]:
    """Tile loops whose queue advances not at all, more than once, or not in the tail."""
    for t in document.tasks:
        for node in walk(t.body):
            if isinstance(node, Loop) and node.kind == "tile":
                resource = find_resource(document, node.queue)
                if resource is not None and any(_advances(resource, w.name) for w in resource.works):
                    yield from _loop(t, node, resource)


def _advances(resource: Resource, name: str) -> bool:
    found = find_work(resource, name)
    return found is not None and found.role == "consumer" and not found.auxiliary


def _is_advance(node: Node, resource: Resource) -> bool:
    return isinstance(node, Op) and node.target == resource.name and _advances(resource, node.work)


def _loop(t: Task, node: Loop, resource: Resource) -> Iterator[Finding]:
    every = [n for n in walk(node.body) if _is_advance(n, resource)]
    in_tail = [n for n in _tail(node.body) if _is_advance(n, resource)]
    if len(every) == 1 and in_tail == every:
        return
    if not every:
        message = f"the tile loop of {t.name} never advances {resource.name}: it stays on its first tile"
    elif len(every) > 1:
        message = f"the tile loop of {t.name} advances {resource.name} {len(every)} times a tile"
    else:
        message = (
            f"{t.name} advances {resource.name} at {every[0].id}, which is not in the tail of every tile"
        )
    yield error(
        CODE,
        NAME,
        message,
        ops=unique((*(n.id for n in every), node.id)),
        resources=(resource.name,),
        tasks=(t.name,),
        expected="one advance a tile, in the tail, outside skippable()",
        actual=f"{len(every)} in the loop, {len(in_tail)} in its tail",
    )


def _tail(body: Sequence[Node]) -> Sequence[Node]:
    """What comes after the last inner loop or skippable block."""
    blocks = [i for i, n in enumerate(body) if isinstance(n, Loop) or _skips(n)]
    return body[blocks[-1] + 1 :] if blocks else body


def _skips(node: Node) -> bool:
    return isinstance(node, Guard) and node.kind is GuardKind.SKIPPABLE


def _persistent(in_tail: bool):
    advance = work("queue", "get_and_advance_work_tile")

    def body(*steps: Op) -> Loop:
        inner = loop(*steps) if in_tail else loop(*steps, advance)
        return tiles(guard(GuardKind.SKIPPABLE, inner), *((advance,) if in_tail else ()))

    return document(
        "the queue advances in the tail" if in_tail else "the queue advances in the inner loop",
        task("load", 0, 1, body(acquire("x"), work("x", "fill"), commit("x"))),
        task("use", 4, 1, body(wait("x"), work("x", "read"), release("x"))),
        resources=(channel("x"), queue()),
        graph=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="The work queue advances exactly once a tile, in the tail, outside skippable().",
    why="Inside an inner loop a tile without iterations never advances: the loop spins for ever. Two advances skip tiles.",
    bad=_persistent(False),
    good=_persistent(True),
    check=check,
)
