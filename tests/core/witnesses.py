"""Witnesses are short, and the stepper, which knows nothing of the verifier, follows them to the hazard that they name."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from warpdraft.app.debugger import Debugger
from warpdraft.core.document import Document
from warpdraft.core.findings import Finding, Report
from warpdraft.core.limits import too_large
from warpdraft.core.program import EventKind
from warpdraft.core.run import MAX_STEPS, MAX_SWITCHES
from warpdraft.core.stepper import Move
from warpdraft.core.tile_kinds import TEXTS
from warpdraft.core.verify import DECLARED

STUCK = ("WD301", "WD302")
RACES = ("WD401", "WD402", "WD403", "WD404", "WD408")
# Notes of findings that show under other conditions, or after a peek, than the stepper runs.
ELSEWHERE = ("with ", "where the peek", *TEXTS)


def switches(finding: Finding) -> int:
    """How often the witness goes on with another agent; a warp and its engines are one."""
    agents = [step.agent.partition("/")[0] for step in finding.witness]
    return sum(a != b for a, b in pairwise(agents))


def check_witnesses(document: Document, report: Report) -> int:
    """Asserts it of all errors of ``report``; gives how many witnesses were followed."""
    followed = 0
    for finding in report.errors:
        if finding.code in STUCK + RACES:
            assert finding.witness, f"{finding.code} has no witness"
        assert switches(finding) <= 20 == MAX_SWITCHES, (finding.code, switches(finding))
        if finding.code in STUCK:
            assert_named(finding)
        if followable(document, report, finding):
            _follow(document, finding)
            followed += 1
    return followed


def followable(document: Document, report: Report, finding: Finding) -> bool:
    """Whether it has a witness that is whole (how a longer one begins is left out, and must be guessed) and shows in the
    program that the stepper runs: not in one with other declared counts."""
    whole = 0 < len(finding.witness) < MAX_STEPS
    if finding.code not in STUCK + RACES and any(f.code in DECLARED for f in report.errors):
        return False
    return whole and not too_large(document) and not any(n.startswith(ELSEWHERE) for n in finding.notes)


def assert_named(finding: Finding) -> None:
    """A deadlock names its cycle, or the arrival that is missing."""
    if finding.code == "WD301":
        assert finding.message.startswith("a cycle of waits: ") and " owes" in finding.message
        assert any("owes" in note for note in finding.notes)
    else:
        assert "which " in finding.message and finding.actual


def _follow(document: Document, finding: Finding) -> None:
    walk = Debugger(document, dict(finding.case))
    walk.replay(finding)
    assert walk.note.startswith("after the") or walk.state.wrong, (finding.code, finding.message, walk.note)
    if walk.state.wrong:
        return  # an arrival too many on the way, which has a finding of its own
    if finding.code in STUCK:
        _stuck(walk, finding)
    if finding.code in RACES:
        _raced(walk, finding)
    if finding.code == "WD205" and "can complete the phase after it first" in finding.message:
        _lapped(walk, finding)


def _lapped(walk: Debugger, finding: Finding) -> None:
    """The wait at the end blocks once what flies has ended, though its phase is over and the next one, too."""
    *before, last = finding.witness
    walk.replay(replace(finding, witness=tuple(before)))
    while flights := [m for m in walk.stepper.moves(walk.state) if m.flight]:
        walk.take(flights[0])
    w = next(w for w in range(len(walk.streams)) if walk.name(w) == last.agent)
    while not walk.state.wrong and walk.stepper.next_event(walk.state, w).op != last.op:
        walk.take(Move(w))
    assert walk.state.wrong or walk.stepper.blocked(walk.state, w), finding.message


def _stuck(walk: Debugger, finding: Finding) -> None:
    """The last steps are waits that stay, however the others go on."""
    walk.to_end()
    assert walk.note.startswith("stuck") or walk.state.wrong, (finding.message, walk.note)
    waits = {(step.agent, step.op) for step in finding.witness if step.marked}
    blocked = {
        (walk.name(w), event.op)
        for w in range(len(walk.streams))
        if (event := walk.stepper.next_event(walk.state, w)) is not None
        and walk.stepper.blocked(walk.state, w)
    }
    assert walk.state.wrong or waits <= blocked, (waits, blocked)


def _raced(walk: Debugger, finding: Finding) -> None:
    """Both accesses have begun, and an asynchronous first one has not ended."""
    accesses = [step for step in finding.witness if step.marked]
    assert len(accesses) >= 2, finding.message
    first = accesses[0]
    events = [walk.stepper.event_of(f) for f in walk.state.flights]
    if "before the end of" in finding.message:
        assert any(e.kind is EventKind.ASYNC and e.op == first.op for e in events), finding.message
