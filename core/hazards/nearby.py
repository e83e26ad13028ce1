"""Schedules next to a broken one: what one small edit of the ops in question makes of it, the likeliest edits first.

Rules whose mistakes have no repair of their own propose these. Most do not help; each is verified before it is offered.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Guard, GuardKind, Loop, Op, OpKind, Task
from ..edits import DeleteNode, Edit, MoveNode, Place, SetField, UnwrapNode, WrapNodes
from ..findings import Finding, Fix
from ..tree import find_resource, walk
from . import missing_ops
from .counts import mismatches
from .missing_ops import GROUP_WAITS
from .scene import SIDES, Scene, Side

OF_LOOP = (GuardKind.EVERY, GuardKind.FIRST_ITER, GuardKind.LAST_ITER)
BRACKETS = (OpKind.ACQUIRE, OpKind.COMMIT, OpKind.WAIT, OpKind.RELEASE)
MOVED = (*BRACKETS, *GROUP_WAITS, OpKind.GROUP_COMMIT, OpKind.BARRIER_SYNC, OpKind.BARRIER_ARRIVE)
FAR = 4  # places that an op is moved by


def nearby(document: Document, finding: Finding) -> Iterator[Fix]:
    """Edits that may repair ``finding``, each once."""
    scene = Scene(document, finding)
    seen: set[tuple[Edit, ...]] = set()
    for propose in (
        _declared,
        _values,
        _in_order,
        missing_ops.brackets,
        missing_ops.groups,
        _guards,
        missing_ops.meetings,
        _open_groups,
        _segments,
        _moves,
        _surplus,
    ):
        for fix in propose(scene):
            if fix.edits not in seen:
                seen.add(fix.edits)
                yield fix


def _declared(scene: Scene) -> Iterator[Fix]:
    """Counts and bytes as the tasks make them, where others are declared."""
    for m in mismatches(scene.document):
        if m.resource in scene.finding.resources:
            yield Fix(f"declare {m.made} as the {m.field.replace('_', ' ')} of {m.resource}", (m.edit,))


def _sides(scene: Scene) -> Iterator[tuple[str, Task, Side, list[Place], list[Place], list[Place]]]:
    """Each side of each pipeline in each task that has it: what opens, what closes, and the uses between."""
    for resource in scene.pipelines:
        for task in scene.document.tasks:
            for side in SIDES:
                opened = scene.ops(task, side.opening, target=resource.name)
                closed = scene.ops(task, side.closing, target=resource.name)
                if opened or closed:
                    yield resource.name, task, side, opened, closed, scene.uses(task, resource, side.role)


def _in_order(scene: Scene) -> Iterator[Fix]:
    """What opens a bracket in front of its first use, what closes it behind its last one, or further out."""
    for name, _, side, opened, closed, uses in _sides(scene):
        for place in opened:
            inside = [i for p in (*uses, *closed) if (i := scene.within(place.parent, p)) is not None]
            if inside and min(inside) < place.index:
                for index in range(min(inside), max(-1, min(inside) - FAR), -1):
                    yield _moved(scene, place, index, f"{side.opening.value} {name}")
        for place in closed:
            inside = [i for p in (*uses, *opened) if (i := scene.within(place.parent, p)) is not None]
            if inside and max(inside) > place.index:
                for index in range(max(inside), min(max(inside) + FAR, len(scene.body(place.parent)))):
                    yield _moved(scene, place, index, f"{side.closing.value} {name}")


def _guards(scene: Scene) -> Iterator[Fix]:
    """Guards of brackets that start in another iteration, hold in all of them, or are gone; new ones around brackets."""
    for place in scene.places.values():
        node = place.node
        if isinstance(node, Guard) and node.kind in OF_LOOP and _concerns(scene, node):
            yield from _guard(scene, node)
    for _, _, _, _, closed, _ in _sides(scene):
        for place in closed:
            around = [p.node for p in scene.chain(place)][1:]
            loop = next((n for n in around if isinstance(n, Loop)), None)
            if loop is not None and not isinstance(around[0], Guard):
                for start in (1, 2):
                    block = Guard("", GuardKind.EVERY, (), loop=loop.var, start=start)
                    yield Fix(
                        f"{place.node.id} from iteration {start} of {loop.var} on",
                        (WrapNodes((place.node.id,), block),),
                    )


def _guard(scene: Scene, node: Guard) -> Iterator[Fix]:
    every = () if node.kind is GuardKind.EVERY else (SetField(node.id, "kind", GuardKind.EVERY),)
    for start in (1, 0, 2):
        if every or start != node.start:
            edits = (*every, SetField(node.id, "start", start))
            yield Fix(f"{node.id} from iteration {start} on", edits)
    yield Fix(f"without the guard {node.id}", (UnwrapNode(node.id),))
    task = scene.places[node.id].task
    for place in scene.places.values():  # a guard that has lost its loop
        loop = place.node
        if (
            place.task == task
            and isinstance(loop, Loop)
            and loop.var == node.loop
            and node not in walk(loop.body)
        ):
            for index in (0, len(loop.body)):
                yield Fix(f"{node.id} inside {loop.id}", (MoveNode(node.id, loop.id, index),))


def _concerns(scene: Scene, node: Guard) -> bool:
    names = {r.name for r in scene.pipelines}
    inside = [n for n in walk(node.body) if isinstance(n, Op)]
    return node.id in scene.finding.ops or any(o.target in names or o.id in scene.finding.ops for o in inside)


def _values(scene: Scene) -> Iterator[Fix]:
    """Other stages and parities of the ops in question."""
    for place in scene.named:
        op = place.node
        if not isinstance(op, Op):
            continue
        resource = find_resource(scene.document, op.target)
        stages = resource.storage.stages if resource is not None and resource.storage else 0
        for stage in range(stages) if isinstance(op.stage, int) else ():
            if stage != op.stage:
                yield Fix(f"{op.id} on stage {stage}", (SetField(op.id, "stage", stage),))
        if op.kind is OpKind.MBARRIER_WAIT and isinstance(op.count, int):
            yield Fix(f"{op.id} waits for the phases in turn", (SetField(op.id, "count", None),))
            yield Fix(
                f"{op.id} waits for parity {1 - op.count & 1}", (SetField(op.id, "count", 1 - op.count & 1),)
            )


def _open_groups(scene: Scene) -> Iterator[Fix]:
    """Waits that leave fewer groups open."""
    for task in scene.tasks:
        for place in scene.ops(task, *GROUP_WAITS):
            count = getattr(place.node, "count", None)
            for fewer in range(count - 1, -1, -1) if isinstance(count, int) else ():
                yield Fix(f"{place.node.id} leaves {fewer} open", (SetField(place.node.id, "count", fewer),))


def _segments(scene: Scene) -> Iterator[Fix]:
    """The whole use of one pipeline, from what opens it to what closes it, before or after that of another."""
    for _, _, _, opened, closed, _ in _sides(scene):
        for first in opened:
            last = next((c for c in closed if c.parent == first.parent and c.index > first.index), None)
            if last is None:
                continue
            body = scene.body(first.parent)
            ids = [n.id for n in body[first.index : last.index + 1]]
            ends = [i for i, n in enumerate(body) if isinstance(n, Op) and n.kind in BRACKETS]
            for index in [i for i in ends if i < first.index] + [i for i in ends if i > last.index]:
                up = index < first.index
                edits = tuple(
                    MoveNode(id, first.parent, index + n if up else index) for n, id in enumerate(ids)
                )
                where = "before" if up else "after"
                yield Fix(f"{ids[0]} to {ids[-1]} {where} {body[index].id}", edits)


def _moves(scene: Scene) -> Iterator[Fix]:
    """The ops in question, and the brackets that they belong to, a few places up or down."""
    found = [p for p in scene.named if isinstance(p.node, Op) and p.node.kind in MOVED]
    found += [p for _, _, _, opened, closed, _ in _sides(scene) for p in (*closed, *opened)]
    for by in range(1, FAR + 1):
        for place in found:
            for index in (place.index + by, place.index - by):
                if 0 <= index < len(scene.body(place.parent)):
                    yield _moved(scene, place, index, place.node.id)


def _surplus(scene: Scene) -> Iterator[Fix]:
    """Without one of the ops in question."""
    for place in scene.named:
        if isinstance(place.node, Op) and place.node.kind in MOVED:
            yield Fix(f"without {place.node.id}", (DeleteNode(place.node.id),))


def _moved(scene: Scene, place: Place, index: int, what: str) -> Fix:
    rest = [n.id for n in scene.body(place.parent) if n.id != place.node.id]
    where = f"after {rest[index - 1]}" if index else f"before {rest[0]}"
    return Fix(f"{what} {where}", (MoveNode(place.node.id, place.parent, index),))
