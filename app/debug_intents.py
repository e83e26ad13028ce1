"""What the page may ask of the debugger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from warpdraft.core.findings import Finding
from warpdraft.core.stepper import Flight, Move

from .debugger import Debugger

Intent = Mapping[str, Any]


def carry_out(debugger: Debugger, intent: Intent, finding: Finding | None = None) -> None:
    """Do what the page asks; what makes no sense becomes the debugger's note."""
    action = ACTIONS.get(str(intent.get("do")))
    if action is None:
        return
    try:
        action(debugger, intent, finding)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        debugger.note = f"The page asked for something that makes no sense: {error!r}"


def _end(debugger: Debugger, intent: Intent, finding: Finding | None) -> None:
    flight = Flight(int(intent["stream"]), int(intent["event"]), bool(intent["read"]))
    debugger.take(Move(flight.stream, flight))


def _replay(debugger: Debugger, intent: Intent, finding: Finding | None) -> None:
    if finding is None or not finding.witness:
        debugger.note = "this finding has no steps to follow"
    else:
        debugger.replay(finding)


def _break(debugger: Debugger, intent: Intent, finding: Finding | None) -> None:
    debugger.breakpoints.toggle(str(intent["kind"]), str(intent["name"]))


ACTIONS: dict[str, Callable[[Debugger, Intent, Finding | None], None]] = {
    "open": lambda debugger, intent, finding: None,
    "start": lambda debugger, intent, finding: debugger.go(0),
    "back": lambda debugger, intent, finding: debugger.go(debugger.position - 1),
    "forward": lambda debugger, intent, finding: debugger.forward(),
    "go": lambda debugger, intent, finding: debugger.go(int(intent["position"])),
    "step": lambda debugger, intent, finding: debugger.take(Move(int(intent["stream"]))),
    "wait": lambda debugger, intent, finding: debugger.to_wait(int(intent["stream"])),
    "op": lambda debugger, intent, finding: debugger.to_op(str(intent["op"])),
    "run": lambda debugger, intent, finding: debugger.to_end(),
    "end": _end,
    "break": _break,
    "replay": _replay,
}
