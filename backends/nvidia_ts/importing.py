"""Imports the managers of a script: runs it in a process of its own, with a time limit, and reads what it wrote down."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from warpdraft.core.document import Document
from warpdraft.core.equality import equal_schedules
from warpdraft.core.store import loads

from .annotations import AnnotationError, Annotations, beside, load_annotations
from .apply import apply_annotations, unknown_names
from .errors import ImportRefused
from .opinion import Opinion
from .version import installed

TIME_LIMIT = 300.0  # seconds for a script, with starting the DSL and tracing its kernels


@dataclass(frozen=True, slots=True)
class Imported:
    """A manager as a ``document``, where it was built (``source``, "file:line"), and Task Scheduling's own ``opinion``, if
    it was asked."""

    document: Document
    source: str
    opinion: Opinion | None = None


def import_script(
    script: str,
    arguments: Sequence[str] = (),
    *,
    annotations: str | os.PathLike[str] | Annotations | None = None,
    second_opinion: bool = False,
    target: str = "",
    time_limit: float = TIME_LIMIT,
) -> tuple[Imported, ...]:
    """The managers that ``script`` builds, in order, each schedule once. ``script`` is a path, of a script that builds them
    when it is started, or else in its function ``build()``; or "module:function", a function that builds managers.

    It runs in a process of its own, without standard input, where GPU calls of the host are stood in for; what it prints
    goes to standard error, and what it leaves running is ended.
    ``annotations``: those of a file, or the file; None: the one beside the script, if there is one. ``target``: an
    architecture for the documents; "": that of CUTE_DSL_ARCH, else what the pipelines need. Raises ImportRefused where the
    script fails before it has built a manager, or builds none, and AnnotationError.
    """
    installed()
    path, function = _parts(script)
    found = _annotations(annotations, path, function)
    name = Path(path).stem if not function else path.rpartition(".")[2]
    request = {
        "script": path,
        "function": function,
        "arguments": list(arguments),
        "second_opinion": second_opinion,
        "target": target,
        "name": name,
    }
    lines, ended = _captured(request, time_limit)
    refused = next((line["refused"] for line in lines if "refused" in line), "")
    managers = [line for line in lines if "document" in line]
    if ended.startswith("?"):
        ended = "" if managers else f"builds no TaskManager of Task Scheduling; {ended[1:]}"
    if not managers:
        raise ImportRefused(f"{script}: {refused or ended or 'builds no TaskManager of Task Scheduling'}")
    built = "a manager" if len(managers) == 1 else f"{len(managers)} managers"
    for line in [
        refused and f"a manager was left out: {refused}",
        ended and f"after building {built}, it {ended}",
    ]:
        if line:
            print(f"warpdraft: {script}: {line}", file=sys.stderr)
    return _named(_once([(line, loads(line["document"], line["source"])) for line in managers], found))


def _parts(script: str) -> tuple[str, str]:
    """("path", "") or ("module", "function"). Raises ImportRefused."""
    module, colon, function = script.rpartition(":")
    if script.endswith(".warpdraft.json"):
        raise ImportRefused(f"{script}: is a document already, no script; `check` and `show` take it")
    if colon and module.endswith(".py") and os.path.isfile(module):
        folder, name = os.path.split(module[:-3])
        raise ImportRefused(f"{script}: give {name}:{function}, a module, from the folder {folder or '.'}")
    if colon and not os.path.exists(script):
        if not function.replace(".", "").isidentifier() or not module.replace(".", "").isidentifier():
            raise ImportRefused(f"{script}: give a script, or module:function")
        return module, function
    if not os.path.isfile(script):
        raise ImportRefused(f"{script}: {'is a folder' if os.path.isdir(script) else 'no such file'}")
    return script, ""


def _annotations(given: Any, path: str, function: str) -> Annotations:
    if given is not None:
        return given if isinstance(given, Annotations) else load_annotations(given)
    file = beside(path)
    return load_annotations(file) if not function and file.is_file() else Annotations()


def _captured(request: dict[str, Any], time_limit: float) -> tuple[list[dict[str, Any]], str]:
    """What the script built, and how it ended ("": well)."""
    with tempfile.TemporaryDirectory(prefix="warpdraft_ts_") as folder:
        results, printed = os.path.join(folder, "results.jsonl"), os.path.join(folder, "printed")
        command = [sys.executable, "-m", f"{__package__}.capture", json.dumps(request), results]
        late = False
        with open(printed, "wb") as file:  # no pipe: what the script leaves running may keep it open
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            process.wait(time_limit)
        except subprocess.TimeoutExpired:
            late = True
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        text = Path(printed).read_text(encoding="utf-8", errors="replace")
        sys.stderr.write(text if not text or text.endswith("\n") else f"{text}\n")
        lines = _read(results)
    ended = next((line["ended"] for line in lines if "ended" in line), None)
    if ended is None:
        code = process.returncode
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        ended = f"was stopped after {time_limit:g} s" if late else f"ended its process ({how})"
    if ended.startswith("!"):
        raise ImportRefused(ended[1:])
    said = text.strip().splitlines()
    if ended.startswith("ends with exit code") and said:
        ended = f"{ended}: {said[-1].strip():.200}"
    return lines, ended


def _read(results: str) -> list[dict[str, Any]]:
    try:
        with open(results, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]
    except OSError:
        return []


def _once(managers: list[tuple[dict[str, Any], Document]], annotations: Annotations) -> list[Imported]:
    """Each schedule once, with its annotations: a kernel that is traced twice builds its managers twice."""
    unknown = unknown_names([d for _, d in managers], annotations)
    if unknown:
        raise AnnotationError(f"annotations: {unknown}")
    found: list[Imported] = []
    for line, read in managers:
        document = apply_annotations(read, annotations)
        if not any(equal_schedules(document, other.document) for other in found):
            opinion = Opinion(**line["opinion"]) if "opinion" in line else None
            found.append(Imported(document, line["source"], opinion))
    return found


def _named(managers: list[Imported]) -> tuple[Imported, ...]:
    """The second of several is called name_2, and so on."""
    return tuple(
        replace(m, document=replace(m.document, name=f"{m.document.name}_{i}")) if i > 1 else m
        for i, m in enumerate(managers, 1)
    )
