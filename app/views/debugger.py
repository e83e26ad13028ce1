"""The debugger's pane: what each warp does next or why it waits, what is in flight, and every barrier."""

from __future__ import annotations

from typing import Any

from warpdraft.core.phases import Meeting, Pool
from warpdraft.core.program import Event, EventKind
from warpdraft.core.stepper import Flight, Move

from ..breakpoints import Breakpoints
from ..debugger import Debugger

HISTORY = 60  # moves listed
GROUP_WAITS = (EventKind.GROUP_WAIT, EventKind.GROUP_WAIT_READ, EventKind.DRAIN)


def debugger_view(debugger: Debugger | None, breakpoints: Breakpoints) -> dict[str, Any]:
    """The shown state; without a debugger, only that there is none, and where one would stop."""
    breaks = {"ops": sorted(breakpoints.ops), "barriers": sorted(breakpoints.barriers)}
    if debugger is None:
        return {"open": False, "cursors": {}, "breaks": breaks}
    state, stepper = debugger.state, debugger.stepper
    possible = set(stepper.moves(state))
    warps = [_warp(debugger, w, Move(w) in possible) for w in range(len(debugger.streams))]
    cursors: dict[str, list[str]] = {}
    for warp in warps:
        if warp["op"]:
            cursors.setdefault(warp["op"], []).append(warp["short"])
    return {
        "open": True,
        "breaks": breaks,
        "hit": debugger.hit,
        "values": ", ".join(f"{name} = {value}" for name, value in stepper.program.values),
        "position": debugger.position,
        "length": len(debugger.moves),
        "note": debugger.note,
        "wrong": state.wrong,
        "ended": stepper.ended(state),
        "stuck": not possible and not stepper.ended(state) and not state.wrong,
        "warps": warps,
        "flights": [_flight(debugger, f, Move(f.stream, f) in possible) for f in state.flights],
        "barriers": [_barrier(debugger, b) for b in range(len(state.barriers))],
        "history": [list(entry) for entry in debugger.history(HISTORY)],
        "cursors": cursors,
    }


def _warp(debugger: Debugger, w: int, ready: bool) -> dict[str, Any]:
    stepper, state, stream = debugger.stepper, debugger.state, debugger.streams[w]
    event = stepper.next_event(state, w)
    name = debugger.name(w)
    warp = {
        "index": w,
        "name": name,
        "short": name.rpartition(".")[2],
        "task": stream.task,
        "state": "ended" if event is None else "ready" if ready else "blocked",
        "op": event.op if event else "",
        "text": "",
        "at": "",
        "why": [],
    }
    if event is not None:
        _, warp["text"], _, warp["at"] = debugger.text(Move(w))
        warp["why"] = [] if ready else _reasons(debugger, w, event)
    return warp


def _reasons(debugger: Debugger, w: int, event: Event) -> list[str]:
    """Why ``w`` cannot go on: who owes what at its barrier, and where each of those is."""
    state, stepper = debugger.state, debugger.stepper
    if event.kind in GROUP_WAITS:
        mine = [f for f in state.flights if f.stream == w and stepper.event_of(f).engine is event.engine]
        return [f"{stepper.event_of(f).op} is in flight" for f in mine]
    reasons = [
        f"{stepper.event_of(f).op} is in flight"
        for f in state.flights
        if stepper.event_of(f).barrier == event.barrier
    ]
    lacking = getattr(state.barriers[event.barrier], "pending", None)  # of an mbarrier's open phase
    for owed in stepper.owed(state, event.barrier):
        if owed.stream == w:
            continue
        number = owed.arrivals if lacking is None else min(owed.arrivals, lacking)
        what = f"owes {number} arrival{'s' if number != 1 else ''}" if number else "owes bytes"
        reasons.append(f"{debugger.name(owed.stream)} {what}, {_where(debugger, owed.stream)}")
    return reasons or ["nobody is left to arrive"]


def _where(debugger: Debugger, w: int) -> str:
    event = debugger.stepper.next_event(debugger.state, w)
    if event is None:
        return "ended"
    if not debugger.stepper.blocked(debugger.state, w):
        return f"at {event.op}"
    barrier = debugger.stepper.program.barriers[event.barrier].name if event.barrier >= 0 else "a group wait"
    return f"blocked at {event.op} by {barrier}"


def _flight(debugger: Debugger, flight: Flight, ready: bool) -> dict[str, Any]:
    event = debugger.stepper.event_of(flight)
    agent, _, op, at = debugger.text(Move(flight.stream, flight))
    return {
        "stream": flight.stream,
        "event": flight.event,
        "read": flight.read,
        "agent": agent,
        "op": op,
        "text": "source read" if flight.read else "",
        "at": at,
        "ready": ready,
        "bytes": event.bytes,
    }


def _barrier(debugger: Debugger, b: int) -> dict[str, Any]:
    state, stepper = debugger.state, debugger.stepper
    barrier, phase = stepper.program.barriers[b], state.barriers[b]
    waiting = [
        debugger.name(w)
        for w in range(len(debugger.streams))
        if stepper.blocked(state, w) and (event := stepper.next_event(state, w)) and event.barrier == b
    ]
    if isinstance(phase, Meeting):
        pending = f"{phase.inside} of {phase.expects} warps in" if phase.inside else "nobody in"
        tx = ""
    elif isinstance(phase, Pool):
        pending, tx = f"{phase.spare:,} registers to spare", ""
    else:
        pending = f"{phase.pending} of {phase.count}"
        tx = f"{phase.tx:,}" if phase.tx else ""
    return {
        "name": barrier.name,
        "phase": phase.completed,
        "pending": pending,
        "tx": tx,
        "waiting": waiting,
        "resource": barrier.resource,
    }
