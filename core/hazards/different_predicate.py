"""WD114  different-predicate: roles that share a pipeline skip different tiles."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Guard, GuardKind, Loop, Op
from ..findings import Finding
from ..tree import placed
from .base import Hazard, error, listed, unique
from .examples import acquire, channel, commit, document, guard, loop, queue, release, task, tiles, wait, work
from .places import has_pipeline

CODE, NAME = "WD114", "different-predicate"
ALWAYS = ""  # no tile is skipped


def check(document: Document) -> Iterator[Finding]:
    """Pipelines that one task uses under another predicate than another."""
    used: dict[str, dict[str, dict[str, str]]] = {}  # pipeline -> task -> predicate -> first op
    for found in placed(document):
        tile = next((p for p in found.parents if isinstance(p, Loop) and p.kind == "tile"), None)
        if isinstance(found.node, Op) and tile is not None and has_pipeline(document, found.node.target):
            skips = any(isinstance(p, Guard) and p.kind is GuardKind.SKIPPABLE for p in found.parents)
            tasks = used.setdefault(found.node.target, {}).setdefault(found.task.name, {})
            tasks.setdefault(tile.skip_if if skips else ALWAYS, found.node.id)
    for name, tasks in used.items():
        each = {task: frozenset(predicates) for task, predicates in tasks.items()}
        if len(set(each.values())) > 1:
            yield _finding(name, tasks)


def _finding(name: str, tasks: dict[str, dict[str, str]]) -> Finding:
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


def _words(predicates: dict[str, str]) -> str:
    return " and ".join(f"under {p}" if p else "on every tile" for p in predicates)


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
