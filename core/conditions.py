"""Run-time conditions: which there are, how each usually comes out, and how often it is decided.

A condition is decided once for each iteration of the loop around the place where its value is made, and is the same in all
that is inside. A token is made by the op that returns it. A name, or what a tile loop skips by, is decided where the
outermost block tests it, in whatever task: so a block around an inner loop and the same block inside it, or
``skip_if="x"`` and ``when_false("x")``, run together. What is in the first or last iteration of a loop alone counts as
around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .document import Document, Guard, GuardKind, Loop, Op
from .retries import retries
from .tree import placed, walk

TESTS = (GuardKind.WHEN_TRUE, GuardKind.WHEN_FALSE)
ENDS = (GuardKind.FIRST_ITER, GuardKind.LAST_ITER)


def condition_keys(document: Document) -> dict[str, bool]:
    """The run-time conditions and skip predicates, each with its usual outcome: no tile is skipped."""
    keys: dict[str, bool] = {}
    for task in document.tasks:
        decided = retries(document, task)
        for node in walk(task.body):
            if isinstance(node, Guard) and node.kind in TESTS and node.id not in decided:
                keys.setdefault(node.key, True)
            elif isinstance(node, Loop) and node.skip_if:
                keys[node.skip_if] = False
    return keys


def decided_in(document: Document) -> dict[str, int]:
    """For each condition how many loops are around the place where it is decided."""
    if not condition_keys(document):
        return {}
    waits = {id for task in document.tasks for id in retries(document, task)}
    made: dict[tuple[str, str], int] = {}  # (task, token)
    for at in placed(document):
        for token in at.node.results if isinstance(at.node, Op) else ():
            key = at.task.name, token
            made[key] = max(made.get(key, 0), _made_in(at.parents))
    found: dict[str, int] = {}
    for at in placed(document):
        node, depth = at.node, _made_in(at.parents)
        if isinstance(node, Loop) and node.skip_if:
            inside = sum(isinstance(p, Loop) for p in at.parents) + 1
            found[node.skip_if] = min(inside, found.get(node.skip_if, inside))
        elif isinstance(node, Guard) and node.kind in TESTS and node.id not in waits:
            depth = min(depth, made.get((at.task.name, node.token), depth))
            found[node.key] = min(depth, found.get(node.key, depth))
    return found


def _made_in(parents: tuple[Loop | Guard, ...]) -> int:
    """How many loops are around a place, without the innermost where it is reached in its first or last iteration only."""
    loops = [p for p in parents if isinstance(p, Loop)]
    ends = [p for p in parents if isinstance(p, Guard) and p.kind in ENDS]
    return len(loops) - any(loops and g.loop in ("", loops[-1].var) for g in ends)


def condition_words(patterns: Mapping[str, Sequence[bool]]) -> str:
    """ "empty always true, last alternating, first false"."""
    return ", ".join(f"{key} {_pattern_words(pattern)}" for key, pattern in patterns.items())


def _pattern_words(pattern: Sequence[bool]) -> str:
    words = [str(outcome).lower() for outcome in pattern]
    if len(words) == 1:
        return f"always {words[0]}"
    return f"alternating, first {words[0]}" if len(words) == 2 else f"in turn {', '.join(words)}"
