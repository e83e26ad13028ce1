"""Repairs that put back what a schedule lacks: half of a bracket, a commit or wait of an asynchronous group, a meeting."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import AsyncGroup, Engine, Guard, GuardKind, Loop, Op, OpKind, Resource, Task
from ..edits import InsertNode, Place
from ..findings import Fix
from ..tree import find_node, ops_of, walk
from .scene import SIDES, Scene, Side

GROUP_WAITS = (OpKind.GROUP_WAIT, OpKind.GROUP_WAIT_READ)
FAR = 8  # positions that are tried for one op


def brackets(scene: Scene) -> Iterator[Fix]:
    """An acquire, commit, wait or release where the other half of its bracket, or a work between, has none."""
    for resource in scene.pipelines:
        for task in scene.document.tasks:
            for side in SIDES:
                yield from _bracket(scene, resource, task, side)


def _bracket(scene: Scene, resource: Resource, task: Task, side: Side) -> Iterator[Fix]:
    opened = scene.ops(task, side.opening, target=resource.name)
    closed = scene.ops(task, side.closing, target=resource.name)
    uses = scene.uses(task, resource, side.role)
    if not opened and (uses or closed):
        yield from _open(scene, resource, side, (uses or closed)[0])
    for place in opened:
        last = [i for u in uses if (i := scene.within(place.parent, u)) is not None]
        behind = max([place.index, *last]) + 1
        inside = [c for c in closed if scene.within(place.parent, c) is not None]
        if not inside:
            yield from _close(scene, resource, side, place, behind)
        elif all(_sometimes(scene, c) for c in inside):
            yield from _close_after_loop(scene, resource, side, place)


def _open(scene: Scene, resource: Resource, side: Side, first: Place) -> Iterator[Fix]:
    """In front of what it is for, or further up in the same body."""
    place = next(p for p in scene.chain(first) if not _is_guard(scene, p.parent))
    for index in range(place.index, max(-1, place.index - FAR), -1):
        yield _inserted(scene, place.parent, index, Op("", side.opening, resource.name))


def _close(scene: Scene, resource: Resource, side: Side, opened: Place, behind: int) -> Iterator[Fix]:
    """In an empty guard, behind the last use or further down in the same body, each time or from the second iteration on."""
    op = Op("", side.closing, resource.name)
    body = scene.body(opened.parent)
    for node in walk(body):
        if isinstance(node, Guard) and not node.body:
            yield _inserted(scene, node.id, 0, op)
    positions = range(behind, min(len(body), behind + FAR) + 1)
    for index in positions:
        yield _inserted(scene, opened.parent, index, op)
    loop = _loop(scene, opened.parent)
    for index in positions if loop is not None else ():
        guard = Guard("", GuardKind.EVERY, (op,), loop=loop.var if loop else "", start=1)
        yield _inserted(scene, opened.parent, index, guard)


def _close_after_loop(scene: Scene, resource: Resource, side: Side, opened: Place) -> Iterator[Fix]:
    """What some iterations leave open is closed behind the loop."""
    loop = _loop(scene, opened.parent)
    if loop is None:
        return
    place = scene.places[loop.id]
    for index in range(place.index + 1, min(len(scene.body(place.parent)), place.index + FAR) + 1):
        yield _inserted(scene, place.parent, index, Op("", side.closing, resource.name))


def groups(scene: Scene) -> Iterator[Fix]:
    """Commits of asynchronous ops that are in no group, and waits behind commits that have none."""
    for task in scene.tasks:
        for group in scene.document.groups:
            started = [p for p in scene.ops(task, OpKind.WORK) if scene.engine(p.node) is group.kind]
            if started:
                yield from _commits(scene, group, task, started)
                yield from _waits(scene, group, task)


def _commits(scene: Scene, group: AsyncGroup, task: Task, started: list[Place]) -> Iterator[Fix]:
    if not scene.ops(task, OpKind.GROUP_COMMIT, *GROUP_WAITS, target=group.name):
        return  # another task's group
    for place in started:
        body = scene.body(place.parent)
        behind = place.index + 1
        while behind < len(body) and scene.engine(body[behind]) is group.kind:
            behind += 1
        rest = body[behind:]
        following = next(
            (n for n in rest if scene.engine(n) is group.kind or _is(n, OpKind.GROUP_COMMIT, group.name)),
            None,
        )
        if following is None or not isinstance(following, Op) or following.kind is OpKind.WORK:
            yield _inserted(scene, place.parent, behind, Op("", OpKind.GROUP_COMMIT, group.name))


def _waits(scene: Scene, group: AsyncGroup, task: Task) -> Iterator[Fix]:
    every = [o for t in scene.document.tasks for o in ops_of(t) if o.kind in GROUP_WAITS]
    mine = [o for o in every if o.target == group.name]
    alike = {g.name for g in scene.document.groups if g.kind is group.kind}
    bulk = group.kind is Engine.BULK_STORE
    kinds = list(dict.fromkeys(o.kind for o in mine)) or [GROUP_WAITS[bulk]]
    known = [o.count for o in (*mine, *(o for o in every if o.target in alike)) if isinstance(o.count, int)]
    for place in scene.ops(task, OpKind.GROUP_COMMIT, target=group.name):
        following = scene.body(place.parent)[place.index + 1 :]
        if any(_is(n, k, group.name) for n in following for k in GROUP_WAITS):
            continue
        for count in dict.fromkeys((*sorted(known, reverse=True), 0)):
            for kind in kinds:
                wait = Op("", kind, group.name, count=count)
                yield _inserted(scene, place.parent, place.index + 1, wait)
    for place in scene.named:
        if place.task == task.name:  # in front of what must not come before the end
            yield _inserted(scene, place.parent, place.index, Op("", GROUP_WAITS[0], group.name, count=0))
    yield _inserted(scene, task.name, len(task.body), Op("", kinds[-1], group.name, count=0))


def meetings(scene: Scene) -> Iterator[Fix]:
    """A sync between two conflicting ops of one task, or at the end of the body that they share."""
    for task in scene.tasks:
        mine = [p for p in scene.named if p.task == task.name]
        shared = scene.common(mine[0], mine[-1]) if mine else None
        if shared is None:
            continue
        parent, first, second = shared
        low, high = sorted((first, second))
        between = list(range(low + 1, high + 1)) or [low, low + 1]
        used = dict.fromkeys(o.target for o in ops_of(task) if o.kind is OpKind.BARRIER_SYNC)
        fitting = [b.name for b in scene.document.barriers if b.threads == 32 * task.num_warps]
        for name in dict.fromkeys((*used, *fitting)):
            for index in (*between[:FAR], low, high + 1):
                yield _inserted(scene, parent, index, Op("", OpKind.BARRIER_SYNC, name))


def _inserted(scene: Scene, parent: str, index: int, node: Op | Guard) -> Fix:
    body, op = scene.body(parent), node if isinstance(node, Op) else node.body[0]
    assert isinstance(op, Op)
    where = f"after {body[index - 1].id}" if 0 < index <= len(body) else f"first in {parent}"
    count = f"({op.count})" if op.count is not None else ""
    often = "" if isinstance(node, Op) else f", from iteration {node.start} on"
    return Fix(
        f"{op.kind.value.replace('_', ' ')} {op.target}{count} {where}{often}",
        (InsertNode(parent, index, node),),
    )


def _is(node, kind: OpKind, target: str) -> bool:
    return isinstance(node, Op) and node.kind is kind and node.target == target


def _is_guard(scene: Scene, parent: str) -> bool:
    found = scene.places.get(parent)
    return found is not None and isinstance(found.node, Guard)


def _loop(scene: Scene, parent: str) -> Loop | None:
    """The loop that ``parent`` is, or is in."""
    found = find_node(scene.document, parent)
    around = (*found.parents, found.node) if found is not None else ()
    return next((n for n in reversed(around) if isinstance(n, Loop)), None)


def _sometimes(scene: Scene, place: Place) -> bool:
    """Whether a guard lets an op out in some iterations."""
    around = (scene.places[p.parent].node for p in scene.chain(place) if p.parent in scene.places)
    kinds = (GuardKind.EVERY, GuardKind.FIRST_ITER, GuardKind.LAST_ITER)
    return any(isinstance(n, Guard) and n.kind in kinds for n in around)
