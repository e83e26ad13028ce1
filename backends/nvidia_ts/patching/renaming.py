"""Tasks and resources that have other names after an edit."""

from __future__ import annotations

from collections.abc import Sequence

from warpdraft.core.document import Document, Resource, Task
from warpdraft.core.edits import Rename, RenameTask

Renamed = tuple[Task | Resource, str]  # as it was, and its new name


def renamed_back(before: Document, after: Document) -> tuple[Document, list[Renamed]]:
    """``after`` with the names of ``before``, and what was renamed: those that stand in the same place of as many."""
    found: list[Renamed] = []
    for old, new, edit in (
        (before.tasks, after.tasks, RenameTask),
        (before.resources, after.resources, Rename),
    ):
        for item, name in _renamed(old, new):
            after = edit(name, item.name).apply(after)
            found.append((item, name))
    return after, found


def _renamed(before: Sequence[Task | Resource], after: Sequence[Task | Resource]) -> list[Renamed]:
    was, now = {x.name for x in before}, {x.name for x in after}
    if len(before) != len(after):
        return []
    pairs = zip(before, after, strict=True)
    return [(a, b.name) for a, b in pairs if a.name not in now and b.name not in was]
