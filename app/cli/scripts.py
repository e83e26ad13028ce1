"""Runs an authoring script and takes the schedules that it builds."""

from __future__ import annotations

import contextlib
import os
import re
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpdraft.core import ScheduleError, TaskManager
from warpdraft.core.authoring.frames import passed_over
from warpdraft.core.authoring.signatures import needed
from warpdraft.core.document import Document

from .errors import BadInput

RUN_NAME = "__warpdraft__"  # not "__main__": what a script does when it is started by hand stays undone
BUILD = "build"
ENDING = ("_exit", "execv", "execve")  # of os; its other exec functions call these


@dataclass(frozen=True, slots=True)
class Built:
    """The documents of every manager that a script built, in order; ``error`` the ScheduleError that ended it ("").
    ``opinions``: what Task Scheduling says of each, where the script is one of its own and it was asked."""

    documents: tuple[Document, ...]
    error: str = ""
    opinions: tuple[Any, ...] = ()


def run_script(path: str, second_opinion: bool = False) -> Built:
    """Runs ``path``, then its function ``build`` if it has one; what it prints goes to standard error. One that imports
    NVIDIA Task Scheduling is imported in a process of its own, with its ``second_opinion`` if that is wanted.

    A ScheduleError is a result (`Built.error`); any other exception, and a script that builds nothing, raises BadInput.
    """
    if not Path(path).is_file():
        raise BadInput(f"{path}: {'is a folder' if Path(path).is_dir() else 'no such file'}")
    if speaks_task_scheduling(path):
        return _imported(path, second_opinion)
    error, asks = "", ""
    with _recorded() as managers, _output_to_stderr(), _as_script(path), _no_vanishing() as vanishing:
        try:
            asks = _run(path)
        except ScheduleError as refused:
            error = str(refused)
        except SystemExit as leaving:
            if leaving.code not in (None, 0):
                raise BadInput(f"{path}: ended itself with status {leaving.code}") from None
        except KeyboardInterrupt:
            raise
        except BaseException as failure:
            raise BadInput(
                f"{path}{_line(failure, path)}: {type(failure).__name__}: {_said(failure)}"
            ) from None
    if vanishing:  # also where the script caught the exception, or called it in a thread
        raise BadInput(f"{path}: calls {vanishing[0]}, which would end the check")
    if asks and not managers and not error:
        raise BadInput(
            f"{path}: builds no TaskManager at module level, and {BUILD}{asks} needs arguments: "
            "give them defaults, or call it in the script"
        )
    if not managers and not error:
        raise BadInput(f"{path}: builds no TaskManager, neither at module level nor in {BUILD}()")
    return Built(tuple(m.document for m in managers), error)


def speaks_task_scheduling(path: str) -> bool:
    """Whether the script at ``path`` itself imports NVIDIA Task Scheduling."""
    text = Path(path).read_bytes().decode(errors="replace")
    return (
        re.search(r"^\s*(from|import)\s+cutlass\.experimental\.task_scheduling\b", text, re.MULTILINE)
        is not None
    )


def _imported(path: str, second_opinion: bool) -> Built:
    from warpdraft.backends.nvidia_ts import AnnotationError, ImportRefused, import_script

    try:
        found = import_script(path, second_opinion=second_opinion)
    except (ImportRefused, AnnotationError) as error:
        raise BadInput(str(error)) from None
    return Built(tuple(m.document for m in found), opinions=tuple(m.opinion for m in found if m.opinion))


def _run(path: str) -> str:
    """Runs the script and its ``build``; gives the parameters of a ``build`` that cannot be called without ("")."""
    build = runpy.run_path(path, run_name=RUN_NAME).get(BUILD)
    if not callable(build):
        return ""
    asks = needed(build)
    if not asks:
        build()
    return asks


def _said(failure: BaseException) -> str:
    """Its text, which its author's code makes."""
    try:
        return str(failure)
    except Exception as error:
        return f"cannot be printed: {type(error).__name__}"


class Vanishing(BaseException):
    """The script would have ended the process."""


@contextlib.contextmanager
def _no_vanishing() -> Iterator[list[str]]:
    """Nothing that a script calls ends this process with an exit code of its own; collects the attempts.

    Processes that it forks are left alone: they end that way.
    """
    attempts: list[str] = []
    here, originals = os.getpid(), {name: getattr(os, name) for name in ENDING if hasattr(os, name)}

    def guarded(name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            if os.getpid() != here:
                return originals[name](*arguments, **keywords)
            attempts.append(f"os.{name}")
            raise Vanishing(f"os.{name} would end the check")

        return call

    for name in originals:
        setattr(os, name, guarded(name))
    try:
        yield attempts
    finally:
        for name, original in originals.items():
            setattr(os, name, original)


@contextlib.contextmanager
def _recorded() -> Iterator[list[TaskManager]]:
    """Collects the managers that are built inside."""
    managers: list[TaskManager] = []
    original = TaskManager.__init__

    @passed_over
    def recording(self: TaskManager, *arguments: Any, **keywords: Any) -> None:
        original(self, *arguments, **keywords)
        managers.append(self)

    TaskManager.__init__ = recording  # type: ignore[method-assign]
    try:
        yield managers
    finally:
        TaskManager.__init__ = original  # type: ignore[method-assign]


@contextlib.contextmanager
def _output_to_stderr() -> Iterator[None]:
    """Standard output is the command's own: what a script (or a program that it starts) prints goes to standard error."""
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)


@contextlib.contextmanager
def _as_script(path: str) -> Iterator[None]:
    """Modules beside the script can be imported, and it sees its own name as the only argument."""
    arguments, folders = sys.argv, list(sys.path)
    sys.argv = [path]
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = arguments, folders


def _line(failure: BaseException, path: str) -> str:
    """ ":12", the script's own line in which ``failure`` came up, if there is one."""
    if isinstance(failure, SyntaxError) and failure.filename == path:
        return f":{failure.lineno}"
    own = [f.lineno for f in traceback.extract_tb(failure.__traceback__) if f.filename == path]
    return f":{own[-1]}" if own else ""
