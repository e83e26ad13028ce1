"""Checks a schedule: rules on its structure, then one execution for each choice of trip counts and conditions.

One execution decides deadlocks and races of all interleavings exactly (`core.clocks`); a choice of trip counts is one case.
Where a fixed point shows that a few cases decide all (`core.periodic`), the verdict is for all trip counts.
A time budget that runs out gives "incomplete", never "safe".
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from math import prod
from time import perf_counter

from .assumptions import assumed, by_default
from .clusters import for_each_cta
from .collect import Collector, Shown, consequences
from .conditions import condition_keys, condition_words
from .document import Document
from .findings import Finding, Report, Scope, Severity
from .first_error import ENOUGH, FirstError, Told, hurried, smallest_first
from .forks import dissolve
from .garbage import seldom_collected
from .hazards import HAZARDS
from .hazards.arrival_count import OPEN
from .hazards.base import no_run_check
from .hazards.counts import corrected, mismatches, not_taken, reported
from .hazards.trace import Trace
from .limits import OUT_OF_TIME, TimeUp, too_large
from .long_loops import Meant, generalised
from .machine import Machine
from .peeks import with_true_peeks
from .periodic import Prover, Unproved
from .pipeline_groups import spelled_out
from .program import Program
from .provable import check_provable, not_compared, varies
from .register_requests import undecided
from .run import Run, execute, execute_program
from .tile_graph import TileProver
from .tile_kinds import LONGEST, TEXTS, TileSequence
from .tree import walked_once
from .unmodelled import unmodelled
from .valuations import (
    MAX_CHOICES,
    MAX_EVENTS,
    PATTERN,
    Patterns,
    Values,
    cases,
    combinations,
    condition_patterns,
    cost,
    size,
    symbol_ranges,
    too_thin,
)

BUDGET = 60.0  # seconds
MAX_RUN = 1_500_000  # events of one case: more would not fit comfortably in memory
REORDERED = 4  # cases that are looked at in other orders too, once their interleavings differ
SIZES = ("WD601", "WD602", "WD605")  # rules that look at no more than the sizes, however large
EXAMINE = [h.examine for h in HAZARDS if h.examine is not no_run_check]
DECLARED = ("WD201", "WD203")  # rules about declarations whose consequences fill the rest of a report


def verify(
    document: Document,
    *,
    trip_counts: Mapping[str, Iterable[int]] | None = None,
    strict_lanes: bool = False,
    budget: float = BUDGET,
    early: Told | None = None,
) -> Report:
    """Everything that is wrong with ``document``; prints nothing and raises for no schedule.

    ``trip_counts`` gives the values of some symbols instead of the default ones. ``strict_lanes``: lanes of a warp may drift
    apart. ``budget`` is in seconds. ``early`` is called with what is known when the first error is found, if that is before
    the end: the schedule is unsafe then, and what the final report says of it may be more, or in other words.
    """
    with seldom_collected(), walked_once():
        return _verify(document, trip_counts, strict_lanes, budget, early)


def _verify(
    document: Document,
    trip_counts: Mapping[str, Iterable[int]] | None,
    strict_lanes: bool,
    budget: float,
    early: Told | None,
) -> Report:
    start, document = perf_counter(), spelled_out(document)
    search = _Search(document, trip_counts, start + budget, early)
    search.reason = too_large(document)
    rules = [h for h in HAZARDS if h.code in SIZES] if search.reason else HAZARDS
    search.collector.add(finding for h in rules for finding in h.check(document))
    if not search.reason:
        trace = Trace(search.machine, search.deadline, strict_lanes)
        search.collector.add(finding for h in HAZARDS for finding in h.follow(trace))
        search.reason = "" if trace.finished else OUT_OF_TIME
        search.first.seen(search.collector)
        search.explore()
    search.reason = search.reason or "; ".join(unmodelled(document))
    rows = _without_consequences(search)
    verdict = "safe"
    if any(f.severity is Severity.ERROR for f in rows):
        verdict = "unsafe"
    elif search.reason:
        verdict = "incomplete"
    lanes = "lane" if strict_lanes else "warp"
    scope = replace(search.scope(), lanes=lanes, assumed=assumed(document), defaults=by_default(document))
    return Report(document.name, verdict, scope, rows, search.events, perf_counter() - start)


@dataclass
class _Search:
    """Runs one document at all its cases and collects what goes wrong."""

    document: Document
    given: Mapping[str, Iterable[int]] | None
    deadline: float
    early: Told | None = None
    first: FirstError = field(init=False)
    collector: Collector = field(init=False)
    tried: dict[str, dict[int, None]] = field(default_factory=dict)
    events: int = 0
    reason: str = ""
    reordered: int = 0
    hurried: bool = False  # an error was shown: there is little time for what else is wrong
    clean: bool = True  # nothing at all was wrong in any run

    proof: str | None = None  # where the fixed point was reached
    unproved: str = ""
    found: Shown = field(init=False)
    # from runs that stand for others: a deadlock may be put down to other arrivals there
    carried: Shown = field(init=False)
    late: Shown = field(init=False)  # from long sequences of tiles
    # choices of trip counts run under the usual conditions; other patterns of these, and at how many choices
    usual: dict[tuple, None] = field(default_factory=dict)
    unusual: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = symbol_ranges(self.document) if self.given else {}
        given = {n: tuple(values) for n, values in (self.given or {}).items() if n in known}
        self.given = for_each_cta(self.document, given)
        self.collector = Collector(self.document)
        self.first = FirstError(self.document, self.early)
        self.found, self.carried, self.late = (Shown(self.collector.key) for _ in range(3))

    @cached_property
    def machine(self) -> Machine:
        """That of the document as it is declared."""
        return Machine(self.document, terse=True)

    @cached_property
    def mended(self) -> _Search:
        """That of the document with the counts and bytes that its tasks make."""
        search = _Search(corrected(self.document, mismatches(self.document)), self.given, self.deadline)
        search.explore()
        return search

    def _mends(self) -> bool:
        """Whether those make every case right."""
        of = self.mended
        return of.clean and not of.reason and (of.proof is not None or bool(self.given))

    def explore(self) -> None:
        """As few trip counts as decide all; where that fails, or some are given, the listed ones, smallest first, under
        all patterns of conditions."""
        wrong = not_taken(self.document)
        machine = Machine(corrected(self.document, wrong), terse=True) if wrong else self.machine
        machine.mends = self._mends
        if not self.given and not self.reason:
            if machine.tile_kinds:
                self._prove_tiles(machine)
            if self.proof is None and not machine.tile_kinds.symbols and not self.late.wrong:
                self._prove(machine)
        if self.proof is None:
            self._listed(machine)
        found = [self.found] if self.proof is not None or self.found.wrong else [self.found, self.late]
        if self.proof is not None or not any(of.wrong for of in found):
            found.append(self.carried)
        per_tile = machine.tile_kinds.symbols
        for values, findings, notes in sorted(
            chain(*(of.runs for of in found)), key=lambda item: size(item[0])
        ):
            case = {n: v for n, v in values.items() if n not in per_tile or not notes}
            self.collector.add(findings, tuple(sorted(case.items())), notes)
        del machine.mends  # each would keep the other from being freed at once

    def _prove(self, machine: Machine) -> None:
        """Long loops of constant length from short ones, if that can be; else as they are. Where a rule on structure is
        broken there is nothing to prove, but running long loops would still take long."""
        document, exact = generalised(machine.document)
        if exact:
            self._prove_one(Machine(document, terse=True), exact)
        if self.proof is None and not self.carried.wrong and not self.collector.errors:
            self._prove_one(machine, {})

    def _prove_tiles(self, machine: Machine) -> None:
        """All sequences of tiles. What goes wrong on the way is for the listed sequences to show, which are shorter."""
        if self.collector.errors:
            return
        if why := not_compared(machine.document):
            self.unproved = why
            return

        def visit(run: Run, patterns: TileSequence) -> bool:
            check_provable(run, self._look(run, machine, patterns, (patterns.text,), dict(run.case)))
            return not self.reason and not self.found.wrong

        try:
            self.proof = TileProver(machine, visit, self._accept, self.deadline).prove()
        except Unproved as why:
            self.unproved = str(why)
            self.late, self.found = self.found, Shown(self.collector.key)
            self.tried, self.unusual, self.reordered = {}, {}, 0

    def _prove_one(self, machine: Machine, exact: dict[str, Meant]) -> None:
        def take(run: Run, case: Values) -> bool:
            patterns = dict(run.conditions)
            notes = (f"with {condition_words(patterns)}",) if patterns else ()
            peeked = self._look(run, machine, patterns, notes, case, listed=False)
            if self.reason or self.found.wrong or self.carried.wrong:
                return False
            check_provable(run, peeked)
            return True

        try:
            if (why := not_compared(machine.document)) and varies(machine.document):
                raise Unproved(why)
            self.proof = Prover(machine, take, self._accept, self.deadline, exact).prove()
        except Unproved as why:
            self.unproved = str(why)

    def _accept(self, run: Run) -> bool:
        """Whether a run that stands for no meant one shows no error."""
        self.events += run.program.events
        self.clean = self.clean and run.clean
        check_provable(run, with_true_peeks(run.machine, run.program))
        found = (finding for examine in EXAMINE for finding in examine(run))
        return not run.wrong and all(f.severity is not Severity.ERROR for f in found)

    def _listed(self, machine: Machine) -> None:
        usual = condition_patterns(self.document)[0]
        for values, patterns in smallest_first(cases(self.document, self.given), lambda: self.hurried):
            if patterns == usual and tuple(sorted(values.items())) in self.usual:
                continue
            if (self.carried.wrong and cost(self.document, values) > MAX_EVENTS) or not self._affordable(
                values
            ):
                return
            self._case(machine, values, patterns, usual=patterns == usual)
        self.reason = self.reason or too_thin(self.document, self.given)
        if self.given and combinations(self.document, self.given) > MAX_CHOICES:
            self.reason = f"more than {MAX_CHOICES:,} combinations of trip counts are given"

    def _affordable(self, values: Values) -> bool:
        if perf_counter() > self.deadline:
            self.reason = self._no_time
        elif cost(self.document, values) > MAX_RUN:
            self.reason = f"{_words(values)} makes more than {MAX_RUN} events"
        return not self.reason

    @property
    def _no_time(self) -> str:
        return ENOUGH if self.hurried else OUT_OF_TIME

    def _case(self, machine: Machine, values: Values, patterns: Patterns, usual: bool) -> None:
        try:
            run = execute(machine, values, patterns, self.deadline)
        except TimeUp:
            self.reason = self._no_time
            return
        notes = () if usual else (getattr(patterns, "text", "") or f"with {condition_words(patterns)}",)
        self._look(run, machine, patterns, notes, values)
        dissolve(run.execution)

    def _look(
        self,
        run: Run,
        machine: Machine,
        patterns: Patterns,
        notes: tuple[str, ...],
        case: Values,
        listed: bool = True,
    ) -> Program | None:
        """Takes what is wrong in ``run``; gives the program whose waits rely on its peeks, if that is another."""
        self.events += run.program.events
        for name, value in sorted(case.items()):
            self.tried.setdefault(name, {})[value] = None
        if notes and listed:
            self.unusual[notes[0]] = self.unusual.get(notes[0], 0) + 1
        elif not notes and case == dict(run.case):
            self.usual[run.case] = None
        self._in_all_orders(run, machine, patterns, case, notes)
        peeked = with_true_peeks(machine, run.program)
        if peeked is not None:
            run = execute_program(machine, peeked, patterns, self.deadline)
            self._in_all_orders(run, machine, patterns, case, (*notes, "where the peek before has said yes"))
        return peeked

    def _in_all_orders(
        self, run: Run, machine: Machine, patterns: Patterns, case: Values, notes: tuple[str, ...]
    ) -> None:
        """A program whose interleavings differ may go wrong in more ways than one execution shows: look at a few more.

        A waiter that others can lap looks there as if it asked for the wrong parity: that is left out. Not where it would
        be ahead of the first phase, which may be the mistake."""
        self._collect(run, case, notes)
        lapped = {(run.event(i.stream, i.index).op,) for i in run.incidents("overrun") if i.generation >= 0}
        if not run.execution.incidents or self.reordered >= REORDERED:
            return
        self.reordered += 1
        streams = run.program.streams
        for task in dict.fromkeys(s.task for s in streams):
            hurried = [w for w, s in enumerate(streams) if s.task == task]
            other = execute_program(machine, run.program, patterns, self.deadline, hurried)
            ahead = (*notes, f"in an execution where {task} runs ahead of the others")
            self._collect(other, case, ahead, lapped)
            dissolve(other.execution)

    def _collect(self, run: Run, case: Values, notes: tuple[str, ...], lapped: Container[tuple] = ()) -> None:
        if run.execution.stopped == "time":  # who has not gone on is not stuck
            self.reason = self._no_time
            return
        self.clean = self.clean and run.clean
        shown = self.found if case == dict(run.case) else self.carried
        found = (f for examine in EXAMINE for f in examine(run))
        found = shown.add(case, (f for f in found if f.code != "WD204" or f.ops[:1] not in lapped), notes)
        if shown is self.found:
            self.first.seen(self.collector, found, case, notes)
        explained = any(f.severity is Severity.ERROR for f in found)
        if explained and shown is self.found and not self.hurried:
            self.hurried, self.deadline = True, hurried(self.deadline)
        if run.wrong and not explained and not self.reason:
            self.reason = f"at {_words(case)} something goes wrong that no rule explains"
        self.reason = self.reason or undecided(run)

    def scope(self) -> Scope:
        """What the verdict speaks of."""
        counts = tuple((name, tuple(sorted(values))) for name, values in self.tried.items())
        if self.reason:
            return Scope("incomplete", counts, "warp", self.reason)
        if self.proof is not None:
            idle = "" if self.events else "nothing was executed: no task has an op that acts"
            return Scope("all", counts, "warp", self.proof or idle)
        return Scope("listed", counts, "warp", "; ".join(self._limits()))

    def _limits(self) -> Iterator[str]:
        """What a listed verdict does not cover, though the listed values might suggest it, and why there is no proof."""
        possible = prod(len(values) for values in self.tried.values())
        if len(self.usual) < possible:
            yield f"{len(self.usual):,} of {possible:,} combinations"
        if self.unusual:
            if tiles := sum(note.startswith(TEXTS) for note in self.unusual):
                yield f"{tiles:,} sequences of up to {LONGEST} tiles or iterations"
            keys, least = ", ".join(condition_keys(self.document)), min(self.unusual.values())
            at = f", each at {least:,} of them or more" if least < len(self.usual) else ""
            if len(self.unusual) > tiles:
                yield f"{len(self.unusual) - tiles + 1} patterns of up to {PATTERN} outcomes of {keys}{at}"
        if self.unproved and not self.collector.errors:
            yield f"not proved for all: {self.unproved}"


def _without_consequences(search: _Search) -> tuple[Finding, ...]:
    """The rows; behind a wrong declaration only what also breaks without it, and one row for each rule that does not."""
    rows = search.collector.rows()
    declared = [f for f in rows if f.code in DECLARED and OPEN not in f.notes]
    wrong = reported(declared, mismatches(search.document)) if declared else ()
    if not wrong or too_large(search.document):
        return rows
    if wrong == mismatches(search.document):
        repaired = search.mended
    else:
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
