"""Executions that pause: at cuts, or at the end of each trip count where smaller programs are beginnings of larger ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

from . import meetings
from .clocks import Execution
from .cuts import Cut, Key, Mark, Uses, marked
from .frontier import Frontier
from .growth import Growth
from .machine import Machine
from .program import EventKind, Program, Stray, Stream
from .run import Run

REACH = 16  # trip counts of one sweep,
SPARE = 3  # or so many more than there are stages in a row
Matches = Callable[[Program, Execution, Frontier, Frontier], bool]


class Paused(Execution):
    """An execution that stops at cuts."""

    def run_to(self, limits: Sequence[int]) -> None:
        """Every stream as far as it can go, and not beyond its limit."""
        handlers, streams, at = self.handlers, self.program.streams, self.at
        parked = {w for waiting in self.parked for w in waiting} if any(self.parked) else ()
        ready = self.ready = deque(w for w in range(self.n) if at[w] < limits[w] and w not in parked)
        while ready and not self.stopped:
            w = ready.popleft()
            events, start, end = streams[w].events, at[w], limits[w]
            i = start
            while i < end and handlers[events[i][0]](self, w, i + 1, events[i]):
                i += 1
            at[w] = i
            if i == len(events) and self.cluster >= 0:
                meetings.exited(self)
            if i > start:
                self.order.append((w, start, i))
            if self.deadline is not None and perf_counter() > self.deadline:
                self.stopped = "time"

    def finish(self) -> None:
        """The rest, and the checks at the end."""
        self.run_to([len(s.events) for s in self.program.streams])
        if not self.stopped:
            self._finish()


def sweep(
    machine: Machine,
    growth: Growth,
    name: str,
    deadline: float,
    uses_of: Callable[[Program], Uses],
    matches: Matches,
) -> Iterator[tuple[int, Run, bool]]:
    """Values of the only symbol from its least, the run of each, and whether its last iteration changed nothing; none where
    a loop is not the end of its warp. Ends with the first match, or before a run that gets stuck: that one is for a run of
    its own."""
    least = growth.least[name]
    top = least + min(REACH, _stages_in_a_row(machine) + SPARE)
    program, marks, _ = marked(machine, growth, {name: top}, every=True)
    if not _ends_with_loops(growth, program, marks):
        return
    waiters, filled = uses_of(program).waiters, _waited_for(program)
    ends = [{key[3]: mark for key, mark in of.items()} for of in marks]
    slope = next(g.slope for g in growth.loops.values())
    head = max(g.head for g in growth.loops.values())
    execution = Paused(program, machine.judged, deadline)
    if execution.cluster >= 0:
        return  # a warp that pauses has not exited
    before: Frontier | None = None
    for value in range(least, top + 1):
        here = _places(ends, slope * (top - value))
        if here is None:
            return
        limits = [here[w][1].position if w in here else len(s.events) for w, s in enumerate(program.streams)]
        execution.run_to(limits)
        if execution.stopped or execution.incidents or list(execution.at) != limits:
            return
        now = None
        if all(execution.state[b].completed for b in filled):  # else they are when all has come round
            c = Cut((name, (), 0, 1), {w: mark for w, (_, mark) in here.items()}, tuple(limits))
            now = Frontier(execution, c, waiters)
        shorter = Program(
            tuple(
                Stream(s.task, s.warp, s.weight, s.warps, s.events[:limit], s.cta, _before(limit, s.strays))
                for s, limit in zip(program.streams, limits, strict=True)
            ),
            program.barriers,
            ((name, value),),
        )
        first = (
            min((number for number, _ in here.values()), default=0) - slope
        )  # the iteration where the other cut is
        matched = bool(before and now) and first >= head and matches(program, execution, before, now)
        execution.program = shorter
        execution._finish()
        yield value, Run(machine.document, machine, shorter, execution, shorter.values), matched
        execution.program = program
        if matched or execution.incidents:
            return
        before = now


def _stages_in_a_row(machine: Machine) -> int:
    """The stages of the pipelines that hand on one to the next, as far as they do: these fill one after the other."""
    rings = [(r.name, r.pipeline.stages) for r in machine.resources.values() if r.pipeline]
    tasks = [machine.pipeline_ops(t) for t in machine.document.tasks]
    far = [0] * len(tasks)  # of each task: the stages in front of it
    for _ in tasks:
        for name, stages in rings:
            filled = [n for n, ops in zip(far, tasks, strict=True) if (name, "commit") in ops]
            here = max(filled, default=0) + stages
            far = [max(n, here) if (name, "wait") in ops else n for n, ops in zip(far, tasks, strict=True)]
    return min(max(far, default=0), sum(stages for _, stages in rings))  # less where they hand on in a circle


def _waited_for(program: Program) -> set[int]:
    """The barriers some phase of which a wait needs."""
    return {
        e.barrier
        for s in program.streams
        for e in s.events
        if e[0] is EventKind.WAIT and e.number is not None and e.number >= 0
    }


def _before(limit: int, strays: Sequence[Stray]) -> list[Stray]:
    return [stray for stray in strays if stray.position < limit]


def _ends_with_loops(growth: Growth, program: Program, marks: list[dict[Key, Mark]]) -> bool:
    """Whether every warp runs at most one growing loop, once, as the last thing that it does, without special last turns."""
    if (
        any(g.tail or g.period != 1 for g in growth.loops.values())
        or len({g.slope for g in growth.loops.values()}) != 1
    ):
        return False
    for stream, of in zip(program.streams, marks, strict=True):
        if len({key[2] for key in of}) > 1 or any(key[1] for key in of):
            return False
        if of and max(mark.position for mark in of.values()) != len(stream.events):
            return False
    return True


def _places(ends: list[dict[int, Mark]], less: int) -> dict[int, tuple[int, Mark]] | None:
    """By stream, where its program with ``less`` iterations ends; None where it does not have so many."""
    here: dict[int, tuple[int, Mark]] = {}
    for w, of in enumerate(ends):
        if of:
            trips = max(of) - less
            if trips < 0:
                return None
            here[w] = trips, of[trips]
    return here
