"""Why nothing moves: what each blocked warp waits for, what is owed there, and who would bring it."""

from __future__ import annotations

from collections.abc import Sequence

from warpdraft.core import phases
from warpdraft.core.program import Event, EventKind, Program, Stream

from .outcome import Blocked

BRINGS = (
    EventKind.ARRIVE,
    EventKind.ARRIVE_EXPECT,
    EventKind.ASYNC,
    EventKind.SYNC,
    EventKind.BAR_ARRIVE,
    EventKind.CLUSTER_ARRIVE,
    EventKind.REGISTERS,
)
State = phases.Phase | phases.Meeting | phases.Pool


def explain(
    first: int, program: Program, states: Sequence[State], warps: Sequence[tuple[Stream, int]]
) -> tuple[Blocked, ...]:
    """One entry a blocked warp. ``first`` is the number of the cluster's first CTA, ``warps`` are
    the streams with the position that each has reached."""
    found = []
    for stream, position in warps:
        if position == len(stream.events):
            continue
        event, cta = stream.events[position], first + stream.cta
        if event.barrier < 0:
            found.append(
                Blocked(cta, stream.name, event.op, event.at, "its asynchronous group", "its completion")
            )
            continue
        state, barrier = states[event.barrier], program.barriers[event.barrier]
        what = barrier.name
        if isinstance(state, phases.Phase):
            what += f" phase {event.parity if event.number is None else phases.parity_of(event.number)}"
        by = _bringers(event.barrier, stream, program, warps)
        found.append(Blocked(cta, stream.name, event.op, event.at, what, _owed(state, barrier.count), by))
    return tuple(found)


def _owed(state: State, count: int) -> str:
    if isinstance(state, phases.Pool):
        return f"registers: {state.spare} are spare"
    if isinstance(state, phases.Meeting):
        return f"{count - state.inside} of {count} warps"
    parts = [f"{state.pending} of {count} arrivals"] if state.pending else []
    return " and ".join(parts + ([f"{state.tx} bytes"] if state.tx else [])) or "another phase"


def _bringers(
    barrier: int, waiter: Stream, program: Program, warps: Sequence[tuple[Stream, int]]
) -> tuple[str, ...]:
    """The other warps that have something for ``barrier`` still to do, and where they are stuck; alike ones together."""
    alike: dict[tuple[str, str, str], list[int]] = {}
    for stream, position in warps:
        if stream is waiter or position == len(stream.events):
            continue
        owed = next(
            (e for e in stream.events[position + 1 :] if e.barrier == barrier and e.kind in BRINGS), None
        )
        if owed is not None:
            key = (stream.task, owed.op, _stuck(stream.events[position], program))
            alike.setdefault(key, []).append(stream.warp)
    return tuple(f"{task}.{_span(w)} by {op}, stuck at {stuck}" for (task, op, stuck), w in alike.items())


def _span(warps: list[int]) -> str:
    """ "w3", "w0-w7" or "w0, w2"."""
    if len(warps) > 1 and warps == list(range(warps[0], warps[-1] + 1)):
        return f"w{warps[0]}-w{warps[-1]}"
    return ", ".join(f"w{w}" for w in warps)


def _stuck(event: Event, program: Program) -> str:
    return f"{event.op}" + (f" ({program.barriers[event.barrier].name})" if event.barrier >= 0 else "")
