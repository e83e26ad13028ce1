"""The decorator that captures a schedule function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..document import Source
from .errors import refuse
from .frames import caller
from .recording import CapturedNode, Recorder, Recording
from .synchronisation import Named


@dataclass(eq=False)
class Schedule:
    """A captured schedule: what a task does, with the objects that it does it on."""

    name: str
    body: list[CapturedNode]
    source: Source


def schedule(function: Callable[..., Any]) -> Callable[..., Schedule]:
    """Make ``function`` capture its ops: calling it with resources, barriers and groups returns a `Schedule`.

    The function runs once, as plain Python: its own ``for`` and ``if`` are unrolled and decided then; `domain_loop` and the
    guards become run-time blocks.
    """
    if not callable(function):
        raise refuse(f"@schedule decorates a function, not {function!r:.60}")
    signature = inspect.signature(function)

    @functools.wraps(function)
    def capture(*args: Any, **keywords: Any) -> Schedule:
        source = caller().source
        bound = signature.bind(*args, **keywords)
        for parameter, value in bound.arguments.items():
            if isinstance(value, Named) and value.name is None and value.parameter is None:
                value.parameter = parameter
        recorder = Recorder(function.__name__)
        with Recording(recorder):
            function(*args, **keywords)
        recorder.finish()
        return Schedule(function.__name__, recorder.body, source)

    return capture
