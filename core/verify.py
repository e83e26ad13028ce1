"""Checks a schedule: rules on its structure, then one execution for each choice of trip counts and conditions.

One execution decides deadlocks and races of all interleavings exactly (`core.clocks`); a choice of trip counts is one case.
A time budget that runs out gives "incomplete", never "safe".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter

from .collect import Collector, consequences
from .document import Document
from .findings import Finding, Report, Scope, Severity
from .hazards import HAZARDS
from .hazards.counts import corrected, mismatches
from .hazards.trace import Trace
from .limits import OUT_OF_TIME, TimeUp, too_large
from .machine import Machine
from .peeks import with_true_peeks
from .run import Run, execute, execute_program
from .unmodelled import unmodelled
from .valuations import Patterns, Values, cases, condition_patterns, cost

BUDGET = 60.0  # seconds
MAX_RUN = 1_500_000  # events of one case: more would not fit comfortably in memory
REORDERED = 4  # cases that are looked at in other orders too, once their interleavings differ
DECLARED = ("WD201", "WD203")  # rules about declarations whose consequences fill the rest of a report


def verify(
    document: Document,
    *,
    trip_counts: Mapping[str, Iterable[int]] | None = None,
    strict_lanes: bool = False,
    budget: float = BUDGET,
) -> Report:
    """Everything that is wrong with ``document``; prints nothing and raises for no schedule.

    ``trip_counts`` gives the values of some symbols instead of the default ones. ``strict_lanes``: lanes of a warp may drift
    apart. ``budget`` is in seconds.
    """
    start = perf_counter()
    search = _Search(document, trip_counts, start + budget)
    search.collector.add(finding for h in HAZARDS for finding in h.check(document))
    search.reason = too_large(document)
    if not search.reason:
        trace = Trace(document, search.deadline, strict_lanes)
        search.collector.add(finding for h in HAZARDS for finding in h.follow(trace))
        search.reason = "" if trace.finished else OUT_OF_TIME
        search.explore()
    search.reason = search.reason or "; ".join(unmodelled(document))
    rows = _without_consequences(search)
    verdict = "safe"
    if any(f.severity is Severity.ERROR for f in rows):
        verdict = "unsafe"
    elif search.reason:
        verdict = "incomplete"
    scope = replace(search.scope(), lanes="lane" if strict_lanes else "warp")
    return Report(document.name, verdict, scope, rows, search.events, perf_counter() - start)


@dataclass
class _Search:
    """Runs one document at all its cases and collects what goes wrong."""

    document: Document
    given: Mapping[str, Iterable[int]] | None
    deadline: float
    collector: Collector = field(init=False)
    tried: dict[str, dict[int, None]] = field(default_factory=dict)
    events: int = 0
    reason: str = ""
    reordered: int = 0

    def __post_init__(self) -> None:
        self.given = {name: tuple(values) for name, values in (self.given or {}).items()}
        self.collector = Collector(self.document)

    def explore(self) -> None:
        """All choices of trip counts, smallest first, under all patterns of conditions."""
        machine = Machine(_runnable(self.document))
        usual = condition_patterns(self.document)[0]
        for values, patterns in cases(self.document, self.given):
            if not self._affordable(values):
                return
            self._case(machine, values, patterns, usual=patterns == usual)

    def _affordable(self, values: Values) -> bool:
        if perf_counter() > self.deadline:
            self.reason = OUT_OF_TIME
        elif cost(self.document, values) > MAX_RUN:
            self.reason = f"{_words(values)} makes more than {MAX_RUN} events"
        return not self.reason

    def _case(self, machine: Machine, values: Values, patterns: Patterns, usual: bool) -> None:
        try:
            run = execute(machine, values, patterns, self.deadline)
        except TimeUp:
            self.reason = OUT_OF_TIME
            return
        self.events += run.program.events
        for name, value in values.items():
            self.tried.setdefault(name, {})[value] = None
        if run.execution.stopped == "time":
            self.reason = OUT_OF_TIME
        notes = () if usual else (_condition_words(patterns),)
        self._collect(run, notes)
        self._other_orders(run, machine, patterns, notes)
        peeked = with_true_peeks(run.program) if machine.peeks else None
        if peeked is not None:
            run = execute_program(machine, peeked, patterns, self.deadline)
            notes = (*notes, "where the peek before has said yes")
            self._collect(run, notes)
            self._other_orders(run, machine, patterns, notes)

    def _other_orders(self, run: Run, machine: Machine, patterns: Patterns, notes: tuple[str, ...]) -> None:
        """A program whose interleavings differ may go wrong in more ways than one execution shows: look at a few more."""
        if not run.execution.incidents or self.reordered >= REORDERED:
            return
        self.reordered += 1
        streams = run.program.streams
        for task in dict.fromkeys(s.task for s in streams):
            hurried = [w for w, s in enumerate(streams) if s.task == task]
            other = execute_program(machine, run.program, patterns, self.deadline, hurried)
            self._collect(other, (*notes, f"in an execution where {task} runs ahead of the others"))

    def _collect(self, run: Run, notes: tuple[str, ...]) -> None:
        found = [finding for h in HAZARDS for finding in h.examine(run)]
        self.collector.add(found, run.case, notes)
        explained = any(f.severity is Severity.ERROR for f in found)
        if run.wrong and not explained and not self.reason:
            self.reason = f"at {_words(dict(run.case))} something goes wrong that no rule explains"

    def scope(self) -> Scope:
        """What the verdict speaks of."""
        counts = tuple((name, tuple(sorted(values))) for name, values in self.tried.items())
        return Scope("incomplete" if self.reason else "listed", counts, "warp", self.reason)


def _runnable(document: Document) -> Document:
    """``document`` with counts that no mbarrier takes left to be derived: WD202 has reported them."""
    wrong = [m for m in mismatches(document) if m.side != "bytes" and not 1 <= m.declared < 1 << 20]
    return corrected(document, tuple(wrong)) if wrong else document


def _without_consequences(search: _Search) -> tuple[Finding, ...]:
    """The rows; behind a wrong declaration only what also breaks without it, and one row for each rule that does not."""
    rows = search.collector.rows()
    declared = [f for f in rows if f.code in DECLARED]
    wrong = mismatches(search.document)
    if not declared or not wrong or too_large(search.document):
        return rows
    repaired = _Search(corrected(search.document, wrong), search.given, search.deadline)
    repaired.explore()
    search.events += repaired.events
    independent = repaired.collector.rows()
    static = [f for f in rows if not f.case and not f.witness and f.code not in DECLARED]
    follow = consequences((f for f in rows if f not in declared and f not in static), independent)
    final = Collector(search.document)
    for finding in (*declared, *static, *independent, *follow):
        final.add([finding], finding.case)
    return final.rows()


def _words(values: Values) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items()) or "the schedule"


def _condition_words(patterns: Patterns) -> str:
    said = []
    for key, pattern in patterns.items():
        outcomes = (
            "always " + str(pattern[0]).lower()
            if len(pattern) == 1
            else "alternating, first " + str(pattern[0]).lower()
        )
        said.append(f"{key} {outcomes}")
    return "with " + ", ".join(said)
