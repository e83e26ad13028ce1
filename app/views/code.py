"""The generated module and the authoring source, line by line with the ops that each line stands for."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from warpdraft.core.document import Document, Op
from warpdraft.core.tree import placed

_ID = re.compile(r"\b[A-Za-z_]\w*\.\d+")
_ASIDE = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|#.*""")
_LARGEST_SOURCE = 400_000  # bytes; a larger file is not shown


def code_view(document: Document, text: str | None, problem: str = "") -> dict[str, Any]:
    """The module's lines, each with the ids of the ops named in it."""
    known = {place.node.id for place in placed(document)}
    lines: list[list] = []
    ids: list[str] = []
    depth = 0  # of brackets: a call that is not closed goes on, and belongs to its op
    for line in (text or "").splitlines():
        own = [id for id in _names(line) if id in known]
        ids = [*ids, *(id for id in own if id not in ids)] if depth > 0 else own
        lines.append([line, ids])
        depth = max(0, depth + _opened(line)) if ids else 0
    return {"lines": lines, "problem": problem}


@lru_cache(8192)
def _opened(line: str) -> int:
    """How many brackets ``line`` leaves open; those in strings and comments do not count."""
    code = _ASIDE.sub("", line)
    return sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))


def _calls(lines: list[str], ids: dict[int, list[str]]) -> list[list]:
    """The numbered ``lines`` with the ops that start there, also on the further lines of a call."""
    marked: list[list] = []
    held: list[str] = []
    depth = 0
    for number, line in enumerate(lines, 1):
        own = ids.get(number, [])
        held = [*held, *own] if depth > 0 else own
        marked.append([line, held])
        depth = max(0, depth + _opened(line)) if held else 0
    return marked


@lru_cache(8192)  # an edit changes few of the lines
def _names(line: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_ID.findall(line)))


def source_view(
    document: Document, folders: tuple[Path, ...], written: str | None, problem: str = ""
) -> dict[str, Any]:
    """The authoring source in two forms: the first file that the document names and that lies in one of ``folders`` (it
    is read, never run), and the document as ``written`` back, where there is no such file or the document has changed."""
    at_line: dict[str, dict[int, list[str]]] = {}
    for place in placed(document):
        source = place.node.source
        if source is not None and isinstance(place.node, Op):
            at_line.setdefault(source.file, {}).setdefault(source.line, []).append(place.node.id)
    forms = []
    for file, ids in at_line.items():
        text = _read(file, folders)
        if text is not None:
            forms.append({"title": file, "lines": _calls(text.splitlines(), ids)})
            break
    lines = [[line, []] for line in (written or "").splitlines()]
    forms.append({"title": "written back from the document", "lines": lines, "problem": problem})
    return {"forms": forms}


def _read(file: str, folders: tuple[Path, ...]) -> str | None:
    for folder in folders:
        path = (folder / file).resolve()
        if path.is_relative_to(folder.resolve()) and path.suffix == ".py" and path.is_file():
            if path.stat().st_size <= _LARGEST_SOURCE:
                return path.read_text(encoding="utf-8", errors="replace")
    return None
