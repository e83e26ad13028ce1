"""Runs one script and writes down every manager that it builds. A process of its own: the script is its author's code.

``python -m warpdraft.backends.nvidia_ts.capture REQUEST RESULTS``: REQUEST is JSON, RESULTS a file that gets a line of JSON
for each manager, as soon as it is built, and a last one that says how the script ended.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import runpy
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable
from dataclasses import asdict
from typing import IO, Any

from warpdraft.core.authoring.signatures import needed
from warpdraft.core.document import Document
from warpdraft.core.store import dumps

from . import host
from .errors import ImportRefused
from .opinion import Opinion
from .trace import Trace

OTHER_PROCESSES = ("subprocess.Popen", "os.posix_spawn", "os.spawn", "os.exec", "os.system")
BUILD = "build"
OF_A_PACKAGE = (
    "; it is part of a package: give package.module:function, from the folder that the package is in"
)


def main() -> int:
    """Carries out one request."""
    request = json.loads(sys.argv[1])
    named = os.environ.get(host.ARCH, "")
    with open(sys.argv[2], "w", encoding="utf-8") as results:
        ended = _run(request, named, results)
        results.write(json.dumps({"ended": ended}) + "\n")
    return 0


def _run(request: dict[str, Any], named: str, results: IO[str]) -> str:
    """How the script ended: "" if well, "!..." where none can be run, "?..." if well, and why nothing may be seen."""
    host.prepare()
    try:
        from .version import task_scheduling
        from .watch import watching

        task_scheduling()
        host.finish()
    except ImportRefused as error:
        return f"!{error}"

    built = 0

    def take(manager: Any, trace: Trace, opinion: Opinion | None) -> None:
        nonlocal built
        built += 1
        _write(results, request, named, manager, trace, opinion)

    started: set[str] = set()
    sys.addaudithook(lambda event, _: started.add(event) if event in OTHER_PROCESSES else None)
    with watching(take, bool(request["second_opinion"])):
        try:
            found = _start(request)
            asks = "" if built else _build(found.get(BUILD))
        except SystemExit as end:
            words = "ends with exit code" if isinstance(end.code, int) else "ends itself:"
            return "" if end.code in (None, 0) else f"{words} {_line(end.code)}"
        except _NoFunction as error:
            return str(error)
        except ModuleNotFoundError as error:
            return f"needs the module {error.name!r}, which is not installed{_where(error, request)}"
        except BaseException as error:
            text = _line(error.msg if isinstance(error, SyntaxError) else error)
            hint = (
                OF_A_PACKAGE if isinstance(error, ImportError) and "no known parent package" in text else ""
            )
            return f"raises {type(error).__name__}{': ' if text else ''}{text}{_where(error, request)}{hint}"
    if started:
        return "?it starts processes of its own, and managers are seen in this one alone"
    return asks and f"?{BUILD}{asks} needs arguments: give them defaults, or call it in the script"


def _start(request: dict[str, Any]) -> dict[str, Any]:
    """Runs what is asked for; gives the names that a script has defined."""
    script, function = request["script"], request["function"]
    if not function:
        sys.argv = [script, *request["arguments"]]
        sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
        return runpy.run_path(script, run_name="__main__")
    sys.argv = [script, *request["arguments"]]
    sys.path.insert(0, os.getcwd())
    builder: Any = importlib.import_module(script)
    for part in function.split("."):
        if not hasattr(builder, part):
            raise _NoFunction(f"has no function {function}")
        builder = getattr(builder, part)
    if not callable(builder):
        raise _NoFunction(f"has no function {function}, but {_a(builder)} of that name")
    _await(builder(*request["arguments"]))
    return {}


def _build(function: Any) -> str:
    """Calls the ``build`` of a script that has built nothing by itself, as those that are written from documents; gives the
    parameters, "(size)", of one that cannot be called without."""
    if not callable(function):
        return ""
    asks = needed(function)
    if not asks:
        _await(function())
    return asks


def _line(said: Any) -> str:
    """What ``said`` says, in one line that can be printed."""
    try:
        text = " ".join(str(said).split())
    except Exception as error:  # its author's code
        text = f"cannot be printed: {type(error).__name__}"
    return "".join(c if c.isprintable() else "?" for c in text[:300])


class _NoFunction(Exception):
    """What a module has instead of the builder."""


def _a(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _await(made: Any) -> None:
    """Runs what a builder has only begun: a coroutine, or a generator of managers."""
    if inspect.isawaitable(made):
        asyncio.run(_awaited(made))
    elif inspect.isasyncgen(made):
        asyncio.run(_exhausted(made))
    elif inspect.isgenerator(made):
        for _ in made:
            pass


async def _awaited(made: Awaitable[Any]) -> None:
    await made


async def _exhausted(made: AsyncIterator[Any]) -> None:
    async for _ in made:
        pass


def _write(
    results: IO[str],
    request: dict[str, Any],
    named: str,
    manager: Any,
    trace: Trace,
    opinion: Opinion | None,
) -> None:
    from .manager import from_task_manager

    line: dict[str, Any] = {"source": str(trace.lines[id(manager)])}
    try:
        target = request["target"] or (named if named.startswith("sm_") else "")
        document: Document = from_task_manager(manager, name=request["name"], target=target, trace=trace)
        line["document"] = dumps(document)
    except ValueError as error:
        line["refused"] = " ".join(str(error).split())
    if opinion is not None:
        line["opinion"] = asdict(opinion)
    results.write(json.dumps(line) + "\n")
    results.flush()


def _where(error: BaseException, request: dict[str, Any]) -> str:
    """The line of the script where ``error`` came up, if there is one."""
    module = sys.modules.get(request["script"]) if request["function"] else None
    shown = getattr(module, "__file__", None) or request["script"]
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({error.filename}:{error.lineno})"
    trace = traceback.extract_tb(error.__traceback__)
    own = [f for f in trace if os.path.abspath(f.filename) == os.path.abspath(shown)]
    return f" ({shown}:{own[-1].lineno})" if own else ""


if __name__ == "__main__":
    sys.exit(main())
