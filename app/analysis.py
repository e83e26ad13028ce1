"""Where analyses run: in a process of their own, which can be ended when its answer is no longer wanted, or right here."""

from __future__ import annotations

import contextlib
import os
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
BUDGET = 120.0  # seconds of one question; what takes longer is ended, and said so
REST = 2.0  # seconds after which a spare process is replaced: not while a page is being opened


Early = Callable[[Any], None]


class Unwanted(Exception):
    """A newer question has come; this one was given up."""


class Failed(Exception):
    """The analysis could not be done; the message says why, for the person."""


class Analyst(Protocol):
    """Answers questions, one at a time."""

    def ask(
        self,
        name: str,
        *arguments: Any,
        unwanted: Callable[[], bool] = lambda: False,
        early: Early | None = None,
    ) -> Any:
        """What function ``name`` of `Tools` gives; it tells what it knows before to ``early``, where it can. Raises Unwanted
        when ``unwanted()`` turns true, and Failed."""

    def close(self) -> None:
        """End what runs."""


class Here:
    """Answers in the calling thread: for tests, with ``tools`` of their own."""

    def __init__(self, tools: Tools = TOOLS) -> None:
        self._tools = tools

    def ask(
        self,
        name: str,
        *arguments: Any,
        unwanted: Callable[[], bool] = lambda: False,
        early: Early | None = None,
    ) -> Any:
        try:
            value = getattr(self._tools, name)(*arguments, **({"early": early} if early else {}))
        except Exception as error:
            raise Failed(problem_of(error)) from error
        if unwanted():
            raise Unwanted
        return value

    def close(self) -> None:
        pass


class Spares:
    """Started processes in reserve, so that a new session need not wait for imports. They end with this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0
        self._ready: list[subprocess.Popen] = []

    def keep(self, number: int) -> None:
        """Have ``number`` of them from now on."""
        self._number = number
        self._fill()

    def take(self) -> subprocess.Popen:
        """One of them, or a new one."""
        with self._lock:
            alive = [process for process in self._ready if process.poll() is None]
            process = alive.pop(0) if alive else None
            self._ready = alive
        if self._number:
            timer = threading.Timer(REST, self._fill)
            timer.daemon = True
            timer.start()
        return process or _start()

    def _fill(self) -> None:
        with self._lock:
            while len(self._ready) < self._number:
                self._ready.append(_start())

    def close(self) -> None:
        """End them."""
        self._number = 0
        with self._lock:
            ready, self._ready = self._ready, []
        for process in ready:
            process.kill()
            process.communicate()


SPARES = Spares()


def _start() -> subprocess.Popen:
    # A session of its own: an interrupt meant for a notebook's kernel must not end it.
    command = [sys.executable, "-m", "warpdraft.app.analyst", str(os.getpid())]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)


class Child:
    """Answers in another process, so that long checks neither slow the page nor hold up the next one."""

    def __init__(self, budget: float = BUDGET) -> None:
        self._budget = budget
        self._process: subprocess.Popen | None = None
        self._lock = threading.Lock()
        self._closed = False

    def ask(
        self,
        name: str,
        *arguments: Any,
        unwanted: Callable[[], bool] = lambda: False,
        early: Early | None = None,
    ) -> Any:
        with self._lock:
            try:
                return self._ask(name, arguments, unwanted, early)
            except (OSError, EOFError) as error:
                self._end()
                raise Unwanted if self._closed else Failed(f"the analysis process ended: {error}") from error

    def _ask(self, name: str, arguments: tuple, unwanted: Callable[[], bool], early: Early | None) -> Any:
        if unwanted():
            raise Unwanted
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        write_frame(process.stdin, (name, arguments, early is not None))
        start = time.monotonic()
        kind, value = self._reply(process, start, unwanted)
        while kind == "early":
            if early is not None:
                early(value)
            kind, value = self._reply(process, start, unwanted)
        if unwanted():
            raise Unwanted
        if kind == "problem":
            raise Failed(value)
        return value

    def _reply(self, process: subprocess.Popen, start: float, unwanted: Callable[[], bool]) -> tuple[str, Any]:
        """The next frame of an answer to what was asked at ``start``."""
        assert process.stdout is not None
        while not select.select([process.stdout], [], [], POLL)[0]:
            if self._closed or (unwanted() and time.monotonic() - start > PATIENCE):
                self._end()
                raise Unwanted
            if time.monotonic() - start > self._budget:
                self._end()
                raise Failed(f"ended: it took more than {self._budget:g} s")
        reply = read_frame(process.stdout)
        if reply is None:
            raise EOFError(f"exit code {process.wait()}")
        return reply

    def _running(self) -> subprocess.Popen:
        if self._closed:
            raise Unwanted
        if self._process is None:
            self._process = SPARES.take()
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
