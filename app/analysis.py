"""Where analyses run: in a process of their own, which can be ended when its answer is no longer wanted, or right here."""

from __future__ import annotations

import contextlib
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from .analyst import problem_of, read_frame, write_frame
from .tools import TOOLS, Tools

PATIENCE = 0.25  # seconds; an unwanted question that takes longer is ended, a shorter one is waited for
POLL = 0.02  # seconds


class Unwanted(Exception):
    """A newer question has come; this one was given up."""


class Failed(Exception):
    """The analysis could not be done; the message says why, for the person."""


class Analyst(Protocol):
    """Answers questions, one at a time."""

    def ask(self, name: str, *arguments: Any, unwanted: Callable[[], bool] = lambda: False) -> Any:
        """What function ``name`` of `Tools` gives. Raises Unwanted when ``unwanted()`` turns true, and Failed."""

    def close(self) -> None:
        """End what runs."""


class Here:
    """Answers in the calling thread: for tests, with ``tools`` of their own."""

    def __init__(self, tools: Tools = TOOLS) -> None:
        self._tools = tools

    def ask(self, name: str, *arguments: Any, unwanted: Callable[[], bool] = lambda: False) -> Any:
        try:
            value = getattr(self._tools, name)(*arguments)
        except Exception as error:
            raise Failed(problem_of(error)) from error
        if unwanted():
            raise Unwanted
        return value

    def close(self) -> None:
        pass


class Child:
    """Answers in another process, so that long checks neither slow the page nor hold up the next one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None
        self._lock = threading.Lock()
        self._closed = False

    def ask(self, name: str, *arguments: Any, unwanted: Callable[[], bool] = lambda: False) -> Any:
        with self._lock:
            try:
                return self._ask(name, arguments, unwanted)
            except (OSError, EOFError) as error:
                self._end()
                raise Unwanted if self._closed else Failed(f"the analysis process ended: {error}") from error

    def _ask(self, name: str, arguments: tuple, unwanted: Callable[[], bool]) -> Any:
        if unwanted():
            raise Unwanted
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        write_frame(process.stdin, (name, arguments))
        start = time.monotonic()
        while not select.select([process.stdout], [], [], POLL)[0]:
            if self._closed or (unwanted() and time.monotonic() - start > PATIENCE):
                self._end()
                raise Unwanted
        reply = read_frame(process.stdout)
        if reply is None:
            raise EOFError(f"exit code {process.wait()}")
        if unwanted():
            raise Unwanted
        kind, value = reply
        if kind == "problem":
            raise Failed(value)
        return value

    def _running(self) -> subprocess.Popen:
        if self._closed:
            raise Unwanted
        if self._process is None:
            # A session of its own: an interrupt meant for a notebook's kernel must not end it.
            command = [sys.executable, "-m", "warpdraft.app.analyst"]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with contextlib.suppress(OSError):
                process.communicate()

    def close(self) -> None:
        """End the process; what is being asked raises Unwanted."""
        self._closed = True
        if self._lock.acquire(timeout=5 * POLL):
            self._end()
            self._lock.release()
