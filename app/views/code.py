"""The generated module and the authoring source, line by line with the ops that each line stands for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from warpdraft.core.document import Document, Op
from warpdraft.core.tree import placed

_ID = re.compile(r"[A-Za-z_]\w*\.\d+")
_LARGEST_SOURCE = 400_000  # bytes; a larger file is not shown


def code_view(document: Document, text: str | None, problem: str = "") -> dict[str, Any]:
    """The module's lines, each with the ids of the ops named in it."""
    known = {place.node.id for place in placed(document)}
    lines = []
    for line in (text or "").splitlines():
        ids = [id for id in dict.fromkeys(_ID.findall(line)) if id in known]
        lines.append([line, ids])
    return {"lines": lines, "problem": problem}


def source_view(document: Document, folders: tuple[Path, ...]) -> dict[str, Any]:
    """The first source file that the document names and that lies in one of ``folders``. It is read, never run."""
    at_line: dict[str, dict[int, list[str]]] = {}
    for place in placed(document):
        source = place.node.source
        if source is not None and isinstance(place.node, Op):
            at_line.setdefault(source.file, {}).setdefault(source.line, []).append(place.node.id)
    for file, ids in at_line.items():
        text = _read(file, folders)
        if text is not None:
            numbered = enumerate(text.splitlines(), 1)
            return {
                "lines": [[line, ids.get(number, [])] for number, line in numbered],
                "problem": "",
                "file": file,
            }
    return {"lines": [], "problem": "", "file": ""}


def _read(file: str, folders: tuple[Path, ...]) -> str | None:
    for folder in folders:
        path = (folder / file).resolve()
        if path.is_relative_to(folder.resolve()) and path.suffix == ".py" and path.is_file():
            if path.stat().st_size <= _LARGEST_SOURCE:
                return path.read_text(encoding="utf-8", errors="replace")
    return None
