"""Documents as files: ``*.warpdraft.json``.

Reading never runs code from the file. Whatever is wrong with a file, `load` and `loads` raise `DocumentError` with one line:
the file, the place in it, what is wrong and what to do. Writing is all or nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from .consistency import problem
from .document import Document
from .schema import Misfit, decode, encode

VERSION = 1
VERSION_KEY = "warpdraft"
LINE = 118  # what fits in one line of the file is written in one


class DocumentError(ValueError):
    """A document that cannot be read or written; the message is one line."""


def dumps(document: Document) -> str:
    """``document`` as text. Raises DocumentError for one that could not be read back."""
    found = problem(document)
    if found:
        raise DocumentError(f"document {document.name!r}: {found[0]}: {found[1]}")
    try:
        values = {VERSION_KEY: VERSION} | encode(document, Document)
        text = _layout(values, 0) + "\n"
        same = loads(text) == document
    except (ValueError, TypeError, RecursionError) as error:
        raise DocumentError(f"document {document.name!r} cannot be written: {error}") from None
    if not same:
        raise DocumentError(
            f"document {document.name!r} cannot be written: it holds values that no file can hold"
        )
    return text


def loads(text: str, name: str = "document") -> Document:
    """The document in ``text``; ``name`` is the file's for messages. Raises DocumentError."""
    try:
        values = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise DocumentError(
            f"{name}: line {error.lineno} column {error.colno}: not JSON ({error.msg}); repair or restore the file"
        ) from None
    except RecursionError:
        raise DocumentError(f"{name}: nested too deeply to be a document") from None
    except ValueError as error:
        raise DocumentError(f"{name}: {error}") from None
    _check_version(values, name)
    try:
        document = decode({k: v for k, v in values.items() if k != VERSION_KEY}, Document)
    except Misfit as misfit:
        raise DocumentError(f"{name}: {misfit.path or 'top level'}: {misfit}") from None
    except RecursionError:
        raise DocumentError(f"{name}: nested too deeply to be a document") from None
    found = problem(document)
    if found:
        raise DocumentError(f"{name}: {found[0]}: {found[1]}")
    return document


def load(path: str | os.PathLike[str]) -> Document:
    """The document in file ``path``. Raises DocumentError, also where there is no such file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path}: byte {error.start}: not UTF-8 text; this is no document") from None
    return loads(text, str(path))


def save(document: Document, path: str | os.PathLike[str]) -> None:
    """Write ``document`` to ``path``: afterwards the file is the new one or, on DocumentError, untouched."""
    text = dumps(document)
    target = os.path.realpath(path)  # a link stays a link
    try:
        write_whole(target, text)
    except OSError as error:
        raise DocumentError(f"{path}: cannot be written: {error.strerror or error}") from None


def write_whole(target: str, text: str) -> None:
    """Write ``text`` to the file ``target``: afterwards it is the new one or, on OSError, untouched."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".", suffix=".warpdraft.tmp")
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(target: str) -> int:
    """The permissions of the file that is replaced, or those of any new file."""
    try:
        return os.stat(target).st_mode & 0o777
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask


def _check_version(values: Any, name: str) -> None:
    if not isinstance(values, dict) or VERSION_KEY not in values:
        raise DocumentError(f'{name}: not a warpdraft document (it has no "{VERSION_KEY}": {VERSION})')
    version = values[VERSION_KEY]
    if type(version) is not int or version != VERSION:
        raise DocumentError(
            f"{name}: {VERSION_KEY}: version {version!r} is not {VERSION}; open it with another warpdraft"
        )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        doubled = next(k for i, (k, _) in enumerate(pairs) if k in dict(pairs[:i]))
        raise ValueError(f"key {doubled!r} appears twice in one object; remove one")
    return values


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number; use a finite one")


def _layout(value: Any, indent: int, before: int = 0) -> str:
    """JSON text with as much on a line as fits after ``indent + before`` columns, so that an op is a line."""
    line = json.dumps(value, allow_nan=False)
    if not isinstance(value, dict | list) or not value or indent + before + len(line) <= LINE:
        return line
    space = " " * (indent + 1)
    if isinstance(value, dict):
        items = [f"{space}{json.dumps(k)}: {_layout(v, indent + 1, len(k) + 4)}" for k, v in value.items()]
        return "{\n" + ",\n".join(items) + "\n" + " " * indent + "}"
    items = [space + _layout(v, indent + 1) for v in value]
    return "[\n" + ",\n".join(items) + "\n" + " " * indent + "]"
