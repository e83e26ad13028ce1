"""Garbage collection while a check runs.

What a check makes lives until it ends. Python looks through new objects every 700 allocations, and now and then through all
that a process holds (an application, too); during a check that finds next to nothing, and takes a tenth of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

ALLOCATIONS = 500_000
_lock = Lock()
_checks: list[
    tuple[int, int, int]
] = []  # of each that runs now, in any thread, the thresholds before the first


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Garbage is collected less often inside, and as before once nobody is inside any more."""
    with _lock:
        usual = _checks[0] if _checks else gc.get_threshold()
        _checks.append(usual)
        if 0 < usual[0] < ALLOCATIONS:  # 0: it is switched off
            gc.set_threshold(ALLOCATIONS, *usual[1:])
    try:
        yield
    finally:
        with _lock:
            _checks.pop()
            if not _checks:
                gc.set_threshold(*usual)
