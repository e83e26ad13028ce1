"""What a peek can do to later waits: a try_wait that said yes lets every wait pass until the next peek."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .program import Barrier, Event, EventKind, Program

if TYPE_CHECKING:
    from .clocks import Execution
    from .cuts import Mark
    from .frontier import Frontier
    from .machine import Machine


ASKING = (EventKind.TRY, EventKind.WAIT)


def peek(run: Execution, w: int, j: int, e: Event) -> bool:
    """A try_wait, which does not block. Like the wait that it stands for, it must not pass a phase early (R2a)."""
    b, g = e.barrier, e.number
    if g is None or g < 1 or run.base[w][run.n + b] >= g:
        return True
    done = run.state[b].completed
    if done >= g:
        late = run._unknown(w, j, run.last[b] if done == g else run.before[b]) if done <= g + 1 else None
    elif (g - done) % 2:
        late = w, j  # the parity says yes now
    else:  # it would once one more phase is over, or before the last one was
        late = run._unknown(w, j, run.last[b]) if run.base[w][run.n + b] < done else None
        if late is None:
            run.ahead.append((b, g, w, j, run.base[w]))
    if late is not None:
        run.report("early_pass", b, g, w, j, late)
    return True


def behind_peeks(run: Execution, b: int, clock: Sequence[int]) -> None:
    """A phase of ``b`` is over, whose contributions know ``clock``: peeks far ahead of it that these do not wait for may say
    yes now."""
    for _, g, w, j, base in (x for x in run.ahead if x[0] == b):
        if clock[w] < j:
            run.report("early_pass", b, g, w, j, (w, j), base)
    run.ahead = [x for x in run.ahead if x[0] != b]


def with_true_peeks(machine: Machine, program: Program) -> Program | None:
    """The program in which every peek succeeds and the waits that rely on it are gone; None where each of these is for the
    very phase that its peek looked at."""
    peeking = [s for s in program.streams if machine.peeked[s.task]]
    if not any(_stale(stream.events, program.barriers) for stream in peeking):
        return None
    streams = (replace(s, events=list(_skipping(s.events, program.barriers))) for s in program.streams)
    return replace(program, streams=tuple(streams))


def _stale(events: Sequence[Event], barriers: Sequence[Barrier]) -> bool:
    """Whether a wait relies on a peek at another phase than its own."""
    seen: dict[tuple[str, str], tuple] = {}  # (resource, side) -> the phase that a peek looked at
    for event in [e for e in events if e[0] in ASKING]:
        kind = event[0]
        if kind is EventKind.WAIT and (not seen or event.drain):
            continue
        barrier = barriers[event.barrier]
        side, phase = (barrier.resource, barrier.side), (event.barrier, event.number)
        if kind is EventKind.TRY:
            if barrier.side != "raw":  # no wait relies on a peek at a raw mbarrier
                seen[side] = phase
        elif seen.get(side, phase) != phase:
            return True
    return False


def _skipping(events: Iterable[Event], barriers: Sequence[Barrier]) -> Iterator[Event]:
    seen: set[tuple[str, str]] = set()  # (resource, side) that a peek has looked at
    for event in events:
        peeks = event.kind is EventKind.TRY
        if (
            not (peeks or event.kind is EventKind.WAIT)
            or event.drain
            or barriers[event.barrier].side == "raw"
        ):
            yield event
            continue
        side = barriers[event.barrier].resource, barriers[event.barrier].side
        if peeks:
            seen.add(side)
            yield event._replace(kind=EventKind.WAIT)  # it says yes once the phase is over
        elif side not in seen:
            yield event


def peeked(machine: Machine, program: Program, w: int, mark: Mark) -> dict[tuple[str, str], tuple]:
    """By (resource, side), the use of its pipeline that stream ``w`` looked at with its last peek before ``mark``, counted
    from each of its cursors there."""
    sides = machine.peeked[program.streams[w].task]
    last: dict[tuple[str, str], Event] = {}
    events, place = program.streams[w].events, mark.position
    while place and len(last) < sides:
        place -= 1
        event = events[place]
        if event[0] is EventKind.TRY and program.barriers[event.barrier].side != "raw":
            barrier = program.barriers[event.barrier]
            last.setdefault((barrier.resource, barrier.side), event)
    found = {}
    for (name, side), event in last.items():
        stages = max(1, machine.resources[name].pipeline.stages)
        use = (event.number or 0) * stages + program.barriers[event.barrier].stage
        cursors = ((cursor, use - uses) for (of, cursor), uses in mark.cursors.items() if of == name)
        found[name, side] = tuple(sorted(cursors))
    return found


def peeked_alike(machine: Machine, program: Program, one: Frontier, two: Frontier, other: Program) -> bool:
    """Whether old peeks stand for the same waits to come at both cuts, and none is ahead of its phase; ``other`` is the
    program of ``two``."""
    if one.ahead or two.ahead:
        return False
    if not one.cut.marks.keys() <= two.cut.marks.keys():
        return False
    peeking = [w for w in one.cut.marks if machine.peeked[program.streams[w].task]]
    return all(
        peeked(machine, program, w, one.cut.marks[w]) == peeked(machine, other, w, two.cut.marks[w])
        for w in peeking
    )
