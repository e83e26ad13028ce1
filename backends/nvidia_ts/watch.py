"""Watches a script build managers: which lines schedules come from, what loops and bounds are called."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from warpdraft.core.authoring.frames import stored_as
from warpdraft.core.document import Source

from .opinion import Opinion, opinion_of
from .symbols import integer_of
from .trace import ScheduleTrace, Trace
from .version import task_scheduling

Take = Callable[[Any, Trace, Opinion | None], None]


@contextlib.contextmanager
def watching(take: Take, second_opinion: bool = False) -> Iterator[Trace]:
    """While it is open, every manager that is built is handed to ``take``, with the trace so far and Task Scheduling's own
    opinion of it, if that is wanted. Its check is left out else, and never stops a script; task bodies are not traced."""
    ts, watch = task_scheduling(), _Watch(take, second_opinion)
    hooks = [
        (ts.schedule_builder.ScheduleBuilder, "record_step", watch.step),
        (ts.schedule_builder.ScheduleBuilder, "open_scope", watch.block),
        (ts.task.Task, "__init__", watch.task),
        (type(ts.resources.MemoryResource), "__call__", watch.resource),
        (ts.task_manager.TaskManager, "print_and_verify", watch.check),
        (ts.task_manager.TaskManager, "__init__", watch.manager),
        (ts.task_manager.TaskManager, "run", lambda original: lambda self: None),
    ]
    with contextlib.ExitStack() as stack:
        for owner, name, hook in hooks:
            stack.enter_context(_replaced(owner, name, hook))
        yield watch.trace


@contextlib.contextmanager
def _replaced(owner: type, name: str, hook: Callable[[Any], Any]) -> Iterator[None]:
    own = vars(owner).get(name)
    setattr(owner, name, hook(getattr(owner, name)))
    try:
        yield
    finally:
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)


class _Watch:
    def __init__(self, take: Take, second_opinion: bool) -> None:
        self.take, self.second_opinion, self.trace = take, second_opinion, Trace()
        self.schedules: dict[int, ScheduleTrace] = {}
        self.opinions: dict[int, Opinion] = {}

    def _of(self, builder: Any) -> ScheduleTrace:
        schedule = builder._schedule
        if id(schedule) not in self.schedules:
            self.schedules[id(schedule)] = ScheduleTrace(str(schedule.name))
            self.trace.kept.append(schedule)
        return self.schedules[id(schedule)]

    def step(self, original: Any) -> Any:
        def record_step(builder: Any, *args: Any, **options: Any) -> Any:
            made = original(builder, *args, **options)
            self._of(builder).steps.append(_line(author()))
            return made

        return record_step

    def block(self, original: Any) -> Any:
        ts = task_scheduling().schedule_builder

        def open_scope(builder: Any, container: Any) -> Any:
            frame, of = author(), self._of(builder)
            if isinstance(container, ts.DomainLoop):
                of.loop, of.loop_source = stored_as(frame) or "", _line(frame)
                for bound in (container.start, container.end, container.step):
                    self._name(bound, frame)
            elif isinstance(container, ts.WorkTileLoop):
                of.tile, of.tile_source = stored_as(frame) or "", _line(frame)
            return original(builder, container)

        return open_scope

    def _name(self, bound: Any, frame: FrameType) -> None:
        """Notes the variable that a run-time bound is in."""
        if callable(bound) or integer_of(bound) is not None:
            return
        scopes = (frame.f_locals, frame.f_globals)
        name = next((n for scope in scopes for n, v in list(scope.items()) if v is bound), "")
        if name.isidentifier():
            self.trace.values.setdefault(id(bound), name)
            self.trace.kept.append(bound)

    def task(self, original: Any) -> Any:
        def init(task: Any, *args: Any, **options: Any) -> None:
            original(task, *args, **options)
            known = self.schedules.get(id(options.get("schedule")))
            if known is not None:
                self.trace.tasks[id(task)] = known
            self.trace.lines[id(task)] = _line(author())
            self.trace.kept.append(task)

        return init

    def resource(self, original: Any) -> Any:
        def call(cls: Any, *args: Any, **options: Any) -> Any:
            made = original(cls, *args, **options)
            self.trace.lines[id(made)] = _line(author())
            self.trace.kept.append(made)
            return made

        return call

    def check(self, original: Any) -> Any:
        def print_and_verify(manager: Any) -> None:
            if self.second_opinion:
                self.opinions[id(manager)] = opinion_of(manager, original)

        return print_and_verify

    def manager(self, original: Any) -> Any:
        def init(manager: Any, *args: Any, **options: Any) -> None:
            original(manager, *args, **options)
            self.trace.lines[id(manager)] = _line(author())
            self.trace.kept.append(manager)
            self.take(manager, self.trace, self.opinions.get(id(manager)))

        return init


def author() -> FrameType:
    """The innermost frame that is neither ours, nor the DSL's, nor Python's own."""
    frame: FrameType = sys._getframe(1)
    while frame.f_back is not None and _foreign(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _foreign(file: str) -> bool:
    return file.startswith(OURS) or file.endswith(PYTHON) or f"{os.sep}cutlass{os.sep}" in file


def _line(frame: FrameType) -> Source:
    return Source(os.path.abspath(frame.f_code.co_filename), frame.f_lineno)


OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
PYTHON = (f"{os.sep}contextlib.py", f"{os.sep}functools.py", f"{os.sep}dataclasses.py", "<string>")
