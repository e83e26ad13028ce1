"""WD114  different-predicate: roles that share a pipeline skip different tiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..document import Document, Guard, GuardKind, Loop, Op, OpKind
from ..findings import Finding
from ..tree import Placed, find_resource, find_work, placed, walk
from .base import Hazard, error, listed, unique
from .examples import acquire, channel, commit, document, guard, loop, queue, release, task, tiles, wait, work
from .places import has_pipeline

CODE, NAME = "WD114", "different-predicate"
PEEKS = (OpKind.TRY_ACQUIRE, OpKind.TRY_WAIT)
Predicates = frozenset[str]  # empty: no tile is skipped


def check(document: Document) -> Iterator[Finding]:
    """Pipelines that tasks use under different predicates. A block of `when_false` of a predicate skips like `skippable`.
    Auxiliary works and peeks ask nothing of a pipeline, wherever they stand."""
    names = {n.skip_if for t in document.tasks for n in walk(t.body) if isinstance(n, Loop) and n.skip_if}
    used: dict[str, dict[str, dict[Predicates, str]]] = {}  # pipeline -> task -> predicates -> first op
    for found in placed(document):
        in_tile = any(isinstance(p, Loop) and p.kind == "tile" for p in found.parents)
        if isinstance(found.node, Op) and in_tile and _uses_pipeline(document, found.node):
            tasks = used.setdefault(found.node.target, {}).setdefault(found.task.name, {})
            tasks.setdefault(_skipped_by(found, names), found.node.id)
    for name, tasks in used.items():
        each = {task: _together(predicates) for task, predicates in tasks.items()}
        if len(set(each.values())) > 1:
            yield _finding(name, tasks)


def _uses_pipeline(document: Document, op: Op) -> bool:
    called = find_work(find_resource(document, op.target), op.work) if op.kind is OpKind.WORK else None
    asks = op.kind not in PEEKS and not (called and called.auxiliary)
    return asks and has_pipeline(document, op.target)


def _skipped_by(found: Placed, names: set[str]) -> Predicates:
    """The predicates under which an op is left out; "not x" where it is left out unless x holds."""
    tiles = [p for p in found.parents if isinstance(p, Loop) and p.kind == "tile"]
    skips = {tiles[0].skip_if} if any(_is(p, GuardKind.SKIPPABLE) for p in found.parents) else set()
    for p in found.parents:
        if _is(p, GuardKind.WHEN_FALSE) and p.key in names:
            skips.add(p.key)
        elif _is(p, GuardKind.WHEN_TRUE) and p.key in names:
            skips.add(f"not {p.key}")
    return frozenset(skips - {""})


def _is(node: Loop | Guard, kind: GuardKind) -> bool:
    return isinstance(node, Guard) and node.kind is kind


def _together(found: Iterable[Predicates]) -> frozenset[Predicates]:
    """What a task does under one predicate and, by another op, under its opposite, it does on every tile."""
    left = set(found)
    for one in found:
        for name in one:
            other = (one - {name}) | {name.removeprefix("not ") if name.startswith("not ") else f"not {name}"}
            if {one, other} <= left:
                left = (left - {one, other}) | {one - {name}}
    return frozenset(left)


def _finding(name: str, tasks: dict[str, dict[Predicates, str]]) -> Finding:
    words = listed(f"{task} {_words(predicates)}" for task, predicates in tasks.items())
    return error(
        CODE,
        NAME,
        f"the tasks on {name} skip different tiles: {words}",
        ops=unique(op for predicates in tasks.values() for op in predicates.values()),
        resources=(name,),
        tasks=tuple(tasks),
        expected="one predicate for both sides of a pipeline",
        actual=words,
    )


def _words(predicates: Iterable[Predicates]) -> str:
    return " and ".join(f"under {' and '.join(sorted(p))}" if p else "on every tile" for p in predicates)


def _ring(other: str):
    advance = work("queue", "get_and_advance_work_tile")
    fill = loop(acquire("x"), work("x", "fill"), commit("x"))
    use = loop(wait("x"), work("x", "read"), release("x"))
    return document(
        "both sides skip the same tiles" if other == "empty" else "the consumer skips other tiles",
        task("load", 0, 1, tiles(guard(GuardKind.SKIPPABLE, fill), advance, skip_if="empty")),
        task("use", 4, 1, tiles(guard(GuardKind.SKIPPABLE, use), advance, skip_if=other)),
        resources=(channel("x"), queue()),
        graph=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Roles that share a pipeline skip the same tiles, under the same predicate.",
    why="On a tile that only one side skips the other waits for ever, or the phases of all later tiles are shifted.",
    bad=_ring("masked"),
    good=_ring("empty"),
    check=check,
)
