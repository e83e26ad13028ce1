"""One background thread that runs the newest job, so that the page never waits for a check."""

from __future__ import annotations

import threading
from collections.abc import Callable

Stale = Callable[[], bool]


class Worker:
    """Runs jobs one at a time. A job that has not started when a newer one comes is dropped; a running one can ask
    whether it is stale and stop early. The thread starts with the first job and ends when idle for ``linger`` seconds."""

    def __init__(self, name: str, linger: float = 30.0) -> None:
        self._name = name
        self._linger = linger
        self._changed = threading.Condition()
        self._job: Callable[[Stale], None] | None = None
        self._number = 0
        self._busy = False
        self._running = False

    def submit(self, job: Callable[[Stale], None]) -> None:
        """Run ``job(stale)`` as soon as the present one ends, unless a newer one comes before."""
        with self._changed:
            self._job = job
            self._number += 1
            if not self._running:
                self._running = True
                threading.Thread(target=self._work, name=self._name, daemon=True).start()
            self._changed.notify_all()

    def wait(self, timeout: float = 10.0) -> bool:
        """Wait until nothing is left to do; False where that takes longer than ``timeout`` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._job is None and not self._busy, timeout)

    def drop(self) -> None:
        """Drop what has not started; what runs becomes stale."""
        with self._changed:
            self._job = None
            self._number += 1
            self._changed.notify_all()

    def close(self) -> None:
        """Drop everything, and end the thread."""
        self._linger = 0.0
        self.drop()

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._changed.wait_for(lambda: self._job is not None, self._linger):
                    self._running = False
                    return
                job, self._job, number, self._busy = self._job, None, self._number, True
            try:
                job(lambda number=number: number != self._number)
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()
