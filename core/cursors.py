"""Which cursor an op of a pipeline goes by, for whoever walks a schedule or writes it as code.

Each side of a pipeline counts uses: use i is stage i % S, generation i // S (CUTLASS `PipelineState`). A task has one cursor
a side, moved by its commit and its release. With ``advance_on_acquire`` (``advance_on_wait``) its acquire (its wait) moves a
second one, and the works behind it are for the stage that it was last at. A cursor moves only by its own op: where a task
leaves the closing to another task and the flag is not set, it stays at the first stage.
"""

from __future__ import annotations

from collections.abc import Set

from .document import OpKind, Resource, Task
from .tree import ops_of

CLOSES = {"acquire": "commit", "wait": "release"}
OPENS = {"producer": "acquire", "consumer": "wait"}  # by the role of a work


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
