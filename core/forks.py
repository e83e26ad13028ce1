"""Executions that branch: copies that go on independently, over programs that are made piece by piece."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence, Set
from copy import copy
from dataclasses import replace
from typing import Any

from .clocks import GROUPED, GROUPS, SCANNED, Execution
from .document import Engine
from .early_close import is_irregular
from .fencing import Judged
from .footprints import stage_bytes
from .machine import Machine
from .program import Event, EventKind, Program, Stream
from .stretches import EVENT
from .sweep import Paused

SHARED = frozenset(
    (
        *("weight", "channel", "program", "foreseen"),
        *("bounds", "owners", "places", "plans", "planned", "pieces", "gates", "crossed", "apart"),
    )
)  # settled
CONTAINERS = frozenset((list, dict, set, deque))
NESTING = (list, dict)  # that hold other containers
VALUES = (int, str, float, tuple, frozenset, type(None))
# most events: nothing to prepare
PLAIN = frozenset((EventKind.WORK, EventKind.WAIT, EventKind.ARRIVE, EventKind.SYNC, EventKind.FENCE))
MAX_STAGES = 64  # of one pipeline: accesses to all of them are prepared


class Unforeseen(Exception):
    """A piece does what the execution was not prepared for."""


def extended(program: Program) -> Program:
    """``program`` with streams of its own, to which events can be added."""
    streams = (
        Stream(s.task, s.warp, s.weight, s.warps, list(s.events), s.cta, list(s.strays))
        for s in program.streams
    )
    return Program(tuple(streams), program.barriers, program.values, program.noted)


def fork(execution: Paused, program: Program) -> Paused:
    """A copy of ``execution`` that goes on with ``program``, of which it has executed the beginning."""
    made = _linked(execution, _forked)
    made.program = program
    return made


def heir(execution: Paused) -> Paused:
    """Goes on from ``execution``, which is at its end: of that one only what is settled can still be asked for."""
    return _linked(execution, copy)


def dissolve(execution: Execution) -> None:
    """Takes its parts from an execution that nobody asks any more: they refer to it, and garbage would have to be found."""
    for name in execution.parts:
        setattr(execution, name, None)


def _linked(execution: Paused, copied: Callable[[Any], Any]) -> Paused:
    made = copied(execution)
    for name in execution.parts:
        part = copied(getattr(execution, name))
        part.execution = made
        setattr(made, name, part)
    return made


def _forked(state: Any) -> Any:
    """A copy of ``state`` with containers of its own. Raises Unforeseen where it holds something else that may change."""
    made = object.__new__(type(state))
    known = made.__dict__
    for name, value in state.__dict__.items():
        if name not in SHARED:
            kind = type(value)
            if kind in CONTAINERS:
                value = _copied(value, kind)
            elif not isinstance(value, VALUES) and name != "execution" and name not in Execution.parts:
                raise Unforeseen
        known[name] = value
    return made


def _copied(value: Any, kind: type) -> Any:
    """Containers are copied, what they hold in the end is not: events, records, clocks are values."""
    if not value or kind not in NESTING:
        return value.copy()
    if CONTAINERS.isdisjoint(map(type, value.values() if kind is dict else value)):
        return value.copy()
    if kind is dict:
        return {k: _copied(v, type(v)) if type(v) in CONTAINERS else v for k, v in value.items()}
    return [v if type(v) not in CONTAINERS else _copied(v, type(v)) if v else v.copy() for v in value]


def prepared(machine: Machine, programs: Iterable[Program], judged: Judged, deadline: float) -> Paused:
    """An execution before its first event of a program that may do whatever ``programs`` do, at any stage."""
    programs = list(programs)
    blank = programs[0]
    streams = []
    for w, stream in enumerate(blank.streams):
        events = {
            (*e[:2], (), *e[3:]): None
            for p in programs
            for e in p.streams[w].events
            if e[6] or e[5] or e[0] in SCANNED
        }
        streams.append(replace(stream, events=list(map(EVENT, events))))
    touched = {e.accesses for p in programs for s in p.streams for e in s.events if e.accesses}
    moved = [
        Event(EventKind.WORK, "", accesses=x) for accesses in touched for x in _everywhere(machine, accesses)
    ]
    streams[0].events += moved
    foreseen = Program(tuple(streams), blank.barriers, (), blank.noted)
    execution = Paused(foreseen, judged, deadline)
    empty = (replace(s, events=[]) for s in blank.streams)
    execution.program = Program(tuple(empty), blank.barriers, (), blank.noted)
    execution.foreseen = foreseen  # keeps alive whose accesses the race pass knows by identity
    return execution


def _everywhere(machine: Machine, accesses: tuple) -> Iterable[tuple]:
    """The bytes of ``accesses``, at each stage of their pipelines; as they are where they have none."""
    for a in accesses:
        owner = machine.resources.get(a.resource)  # none: an allocation of tensor memory
        if owner is None or owner.pipeline is None:
            yield (a,)
            continue
        pipeline, size = owner.pipeline, stage_bytes(owner)
        for stage in range(min(MAX_STAGES, pipeline.stages)):
            by = (stage - a.stage) * size
            yield (a._replace(low=a.low + by, high=a.high + by, stage=stage),)


def foresee(execution: Paused, events: Sequence[Event], w: int, ops: Set[str]) -> None:
    """Makes the accesses of new ``events`` of stream ``w`` known to the race pass. Raises Unforeseen where they are not of
    these ``ops``, touch ranges, or use engines, that nothing was prepared for."""
    races, cta = execution.races, execution.program.streams[w].cta
    if not {e[1] for e in events} <= ops:
        raise Unforeseen
    for accesses in {id(e[7]): e[7] for e in events if e[7]}.values():
        if id(accesses) not in races.plans and not races.plan(accesses, cta):
            raise Unforeseen
    special = {(e[0], e[3], e[5], e[6]) for e in events if e[6] is not None or e[0] not in PLAIN}
    for kind, barrier, nbytes, engine in special:
        free = engine is Engine.CP_ASYNC and kind not in GROUPS
        if engine in GROUPED and not free and (w, engine) not in execution.channel:
            raise Unforeseen
        if is_irregular(kind, barrier, nbytes, execution.program):
            execution.irregular.add(barrier)
