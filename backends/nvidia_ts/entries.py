"""The schedule lists of a task of Task Scheduling, with where each call stands."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from warpdraft.core.document import Source, Value

from .resources import plain_or_name
from .tokens import Place
from .trace import ScheduleTrace
from .version import task_scheduling

HOOKS = {  # the work that an entry without a label calls
    "ConsumerAuxWork": "consumer_aux_work",
    "ConsumerWork": "consumer_work",
    "ProducerAuxWork": "producer_aux_work",
    "ProducerWork": "producer_work",
}
NOWHERE = Place(0)
TILE, SKIP, DOMAIN = ("loop", -1), ("guard", -2), ("loop", -3)


@dataclass(eq=False)
class Entry:
    """One call. ``slot`` is how routes and arguments name it; ``skips``: skipped tiles leave it out; ``once``: it stands
    outside the loop over work tiles."""

    resource: Any
    stage: str
    work: str
    slot: tuple
    source: Source | None
    place: Place = NOWHERE
    skips: bool = False
    once: bool = False


class Entries:
    """The calls of ``task`` in schedule order: ``head``, ``loop`` (runs of one guard, None: always) and ``tail``."""

    def __init__(self, task: Any, trace: ScheduleTrace) -> None:
        sections, lines = task_scheduling().enums.ScheduleStageType, iter(trace.steps)
        always = task_scheduling().enums.LoopGuard.Always

        def entry(resource: Any, stage: Any, call: int, label: Any, section: Any) -> Entry:
            work = str(label) if label is not None else HOOKS.get(stage.name, "")
            return Entry(resource, stage.name, work, (id(resource), stage, section, call), next(lines, None))

        self.head = [entry(*e, sections.Head) for e in task.head_schedule_list]
        self.loop = [
            (None if guard is always else guard, [entry(*e, sections.Loop) for e in entries])
            for guard, entries in task._loop_exec_groups
        ]
        self.tail = [entry(*e, sections.Tail) for e in task.tail_schedule_list]
        self._mark(self.head, task.skippable_head_slots, task.pre_work_loop_head_slots)
        self._mark(self.tail, task.skippable_tail_slots, task.post_work_loop_tail_slots)
        self._place(task)
        self.by_slot = {e.slot: e for e in self}

    def __iter__(self) -> Iterator[Entry]:
        yield from self.head
        for _, entries in self.loop:
            yield from entries
        yield from self.tail

    @staticmethod
    def _mark(entries: list[Entry], skippable: Any, outside: Any) -> None:
        for e in entries:
            resource, stage, _, call = e.slot
            e.skips, e.once = (resource, stage, call) in skippable, (resource, stage, call) in outside

    def _place(self, task: Any) -> None:
        tile = (TILE,) if task.is_persistent else ()
        for e in (*self.head, *self.tail):
            e.place = Place(0, () if e.once else (*tile, *((SKIP,) if e.skips else ())))
        skip = (SKIP,) if task.skip_if is not None else ()
        for run, (guard, entries) in enumerate(self.loop):
            inside = () if guard is None else (("guard", run),)
            for e in entries:
                e.place = Place(0, (*tile, *skip, DOMAIN, *inside))
        for number, e in enumerate(self):
            e.place = Place(number, e.place.blocks)


def _method(e: Entry) -> Any:
    return getattr(type(e.resource), e.work, None) if e.work else None


def returned_by(e: Entry) -> tuple[str, ...]:
    """The variables that a call returns."""
    names = getattr(_method(e), "_consumer_return_var_names", None)
    return tuple(names()) if names is not None else ()


def parameters_of(e: Entry) -> list[tuple[str, Value | None]]:
    """The parameters of a call's work beside the resource and the stage info, with their defaults (None: none)."""
    method = _method(e)
    if method is None:
        return []
    found = list(inspect.signature(inspect.unwrap(method)).parameters.values())[1:]
    return [
        (p.name, None if p.default is p.empty else plain_or_name(p.default))
        for p in found
        if p.name != "stage_info" and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
