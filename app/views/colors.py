"""Which of the eight task colours each task has: by its name, so that adding a task changes few of the others."""

from __future__ import annotations

from zlib import crc32

from warpdraft.core.document import Document

NUMBER = 8


def task_colors(document: Document) -> dict[str, int]:
    """A colour's number for each task; different ones while there are no more tasks than colours."""
    colors: dict[str, int] = {}
    for task in document.tasks:
        wanted = crc32(task.name.encode()) % NUMBER
        taken = set(colors.values()) if len(colors) < NUMBER else set()
        colors[task.name] = next(c for i in range(NUMBER) if (c := (wanted + i) % NUMBER) not in taken)
    return colors
