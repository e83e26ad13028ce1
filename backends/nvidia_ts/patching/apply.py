"""Applies an edited document to a script: imports the script as it is, rewrites it, and imports the result again."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from warpdraft.core.document import Document
from warpdraft.core.equality import equal_schedules

from ..annotations import beside
from ..importing import import_script
from .matching import CannotPatch, visible_ops
from .script import difference, patched


@dataclass(frozen=True)
class Patch:
    """The script ``path``: its text ``before`` and ``after``."""

    path: str
    before: str
    after: str


def patch_script(script: str, document: Document, arguments: Sequence[str] = ()) -> Patch:
    """``script`` with the schedule functions and numbers of ``document``, which was imported from it and then edited.

    The result is imported again, and must give ``document``. Raises CannotPatch, ImportRefused and AnnotationError.
    """
    text = _read(script)
    before = _manager_of(script, arguments, document, script)
    if equal_schedules(replace(before, name=document.name), document):
        return Patch(script, text, text)
    _check_unchanged(script, before, document)
    after = patched(script, text, before, document)
    if after == text:
        what = difference(replace(before, name=document.name), document)
        raise CannotPatch(
            f"{script}: no line of it says that {what}; change the script, or its annotation file, by hand"
        )
    _check_result(script, after, arguments, document)
    if _read(script) != text:
        raise CannotPatch(f"{script}: has changed meanwhile; run this again")
    return Patch(script, text, after)


def _read(script: str) -> str:
    try:
        return Path(script).read_bytes().decode()
    except OSError as error:
        raise CannotPatch(f"{script}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise CannotPatch(f"{script}: is not UTF-8 text; save it as UTF-8") from None


def _manager_of(path: str, arguments: Sequence[str], document: Document, script: str) -> Document:
    """The document of ``path`` that ``document`` comes from: the one that is called so."""
    file = beside(script)
    managers = import_script(path, arguments, annotations=file if file.is_file() else None)
    stem = Path(path).stem
    found = {m.document.name.replace(stem, Path(script).stem, 1): m.document for m in managers}
    if document.name in found:
        return found[document.name]
    if len(found) == 1:
        return next(iter(found.values()))
    raise CannotPatch(
        f"{script}: builds {', '.join(found)}, and no {document.name}; give the document that name"
    )


def _check_unchanged(script: str, before: Document, document: Document) -> None:
    """Refuse a script whose lines are no longer those that the document was imported from."""
    lines = {o.id: o.source for t in before.tasks for o in visible_ops(t.body)}
    for op in (o for t in document.tasks for o in visible_ops(t.body)):
        if op.source is None or op.id not in lines:
            continue
        here = lines[op.id]
        if here is None or here.line != op.source.line:
            raise CannotPatch(
                f"{script}: has changed since {document.name} was imported: {op.id} was made in line {op.source.line}, and "
                f"is in line {here.line if here else '?'} now; import it again and edit that"
            )


def _check_result(script: str, text: str, arguments: Sequence[str], document: Document) -> None:
    """Import the new text, from a file beside the script, and see that it gives the document."""
    folder = os.path.dirname(os.path.abspath(script))
    handle, name = tempfile.mkstemp(dir=folder, prefix="_warpdraft_", suffix=".py")
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        try:
            found = _manager_of(name, arguments, document, script)
        except ValueError as error:
            said = str(error).replace(name, script)
            raise CannotPatch(
                f"{script}: the changed script does not build the schedule any more: {said}"
            ) from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)
    if not equal_schedules(replace(found, name=document.name), document):
        what = difference(document, replace(found, name=document.name))
        raise CannotPatch(
            f"{script}: the changed script would not build {document.name} as it was edited: {what}; change it by hand"
        )
