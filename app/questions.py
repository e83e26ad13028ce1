"""Questions beside the verdict, each answered in a process of its own: a fix, advice, an export, a comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .analysis import Analyst, Failed, Unwanted
from .worker import Stale, Worker

LINGER = 2.0  # seconds that a thread waits for the next question


class Questions:
    """Asks one question of each kind at a time: a newer one replaces it, one of another kind does not."""

    def __init__(self, analyst: Callable[[], Analyst]) -> None:
        self._analyst = analyst
        self._workers: dict[str, Worker] = {}

    def ask(
        self, kind: str, arguments: tuple, answer: Callable[[Any, str], None], unwanted: Callable[[], bool]
    ) -> None:
        """Ask function ``kind`` of `Tools`; ``answer(value, problem)`` is called in the background, unless the question was
        replaced or ``unwanted()``."""

        def job(stale: Stale) -> None:
            analyst = self._analyst()
            try:
                value, problem = analyst.ask(kind, *arguments, unwanted=lambda: stale() or unwanted()), ""
            except Failed as failure:
                value, problem = None, str(failure)
            except Unwanted:
                return
            finally:
                analyst.close()
            answer(value, problem)

        if kind not in self._workers:
            self._workers[kind] = Worker(f"warpdraft-{kind}", LINGER)
        self._workers[kind].submit(job)

    def wait(self, timeout: float = 10.0) -> bool:
        """Wait until nothing is left to answer; False where that takes longer than ``timeout`` seconds for one kind."""
        return all(worker.wait(timeout) for worker in self._workers.values())

    def close(self) -> None:
        """Drop what has not started; what runs is replaced by nothing."""
        for worker in self._workers.values():
            worker.close()
