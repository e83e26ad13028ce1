"""Writes files whole or not at all, and JSON that every reader takes."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from .errors import BadInput

DOCUMENT = ".warpdraft.json"


def refuse_overwriting(path: str, source: str) -> None:
    """Refuses to write ``path`` where that is the file ``source``, by whatever name, or a document. Raises BadInput."""
    if path == "-" or not os.path.exists(path):
        if path != "-" and path.endswith(DOCUMENT):
            raise BadInput(f"{path}: {DOCUMENT} is the ending of documents; give -o another name")
        return
    if os.path.exists(source) and os.path.samefile(path, source):
        raise BadInput(
            f"{path}: is the input itself ({source}), and would be overwritten; give -o another name"
        )
    if path.endswith(DOCUMENT) or os.path.realpath(path).endswith(DOCUMENT):
        raise BadInput(f"{path}: is a document, and would be overwritten; give -o another name")


def write(path: str, content: str | bytes) -> None:
    """``content`` to ``path`` ("-": standard output); on failure the file that was there stays. Raises BadInput."""
    if path == "-":
        sys.stdout.write(content if isinstance(content, str) else content.decode(errors="replace"))
        return
    data = content.encode() if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise BadInput(f"{path}: is a folder")
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with open(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from None


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, or those of any new file."""
    if target.exists():
        return target.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def print_json(value: Any) -> None:
    """``value`` on standard output; a number that JSON cannot hold (infinity) becomes null."""
    print(json.dumps(_finite(value), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return value
