"""Gathers findings of many runs: one row for each thing that is wrong, at its smallest case, root causes first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from .document import Document
from .findings import Finding, Severity
from .folding import folded
from .hazards import HAZARDS
from .raw_counts import derived_raw_count
from .tree import ops_of
from .valuations import Values, size

ORDER = {hazard.code: place for place, hazard in enumerate(HAZARDS)}
SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.ADVICE)
# Of these rules one mistake breaks many pairs of ops: one row for each pair of tasks and resources.
PAIRWISE = frozenset(("WD401", "WD402", "WD403", "WD404", "WD408", "WD410", "WD411", "WD501", "WD504"))
# One row for each barrier, or ring of barriers, that loses count.
BY_BARRIER = frozenset(("WD205", "WD206", "WD208", "WD209"))
# Rules whose findings may come from the count of an mbarrier.
COUNTED = frozenset(("WD205", "WD206", "WD207", "WD219", "WD301", "WD302"))
MAX_ALSO = 4  # further places that a row names


class Shown:
    """What many runs have shown, in the order in which they were made. Of the findings that are one row only the one at the
    smallest case can be kept: its witness alone is written."""

    def __init__(self, key: Callable[[Finding], tuple]) -> None:
        self._key = key
        self._least: dict[tuple, tuple] = {}  # by row: the smallest case so far
        self.runs: list[tuple[Values, list[Finding], tuple[str, ...]]] = []

    def add(self, case: Values, findings: Iterable[Finding], notes: tuple[str, ...]) -> list[Finding]:
        """Takes the ``findings`` of a run at ``case``, which are given back as they are kept."""
        found, here = [], size(case)
        for finding in findings:
            steps, key = finding.witness, self._key(finding)
            if key not in self._least or here < self._least[key]:
                self._least[key] = here
                steps = finding.write() if finding.write else steps
            found.append(replace(finding, witness=steps, write=None))
        self.runs.append((case, found, notes))
        return found

    @property
    def wrong(self) -> bool:
        """Whether any of it makes the schedule unsafe."""
        return any(f.severity is Severity.ERROR for _, findings, _ in self.runs for f in findings)


class Collector:
    """``add`` findings in the order of the cases, smallest first; then `rows`."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._origin = {op.id: op.copy_of or op.id for task in document.tasks for op in ops_of(task)}
        self._found: dict[tuple, Finding] = {}
        self._also: dict[tuple, dict[tuple[str, ...], None]] = {}

    def add(
        self, findings: Iterable[Finding], case: tuple[tuple[str, int], ...] = (), notes: Sequence[str] = ()
    ) -> None:
        """Takes what is new in ``findings``, which show at ``case``."""
        for finding in findings:
            key = self.key(finding)
            if key not in self._found:
                self._found[key] = replace(finding, case=case, notes=(*finding.notes, *notes))
            elif finding.ops != self._found[key].ops:
                self._also.setdefault(key, {})[finding.ops] = None

    def key(self, finding: Finding) -> tuple:
        """Findings with the same one are one row."""
        if finding.code in PAIRWISE:
            return finding.code, finding.severity, frozenset(finding.resources), frozenset(finding.tasks)
        if finding.code in BY_BARRIER and finding.ops:
            return finding.code, finding.severity, frozenset(finding.resources)
        first = self._origin.get(finding.ops[0], finding.ops[0]) if finding.ops else ""
        wanted = "" if first else finding.expected  # a declaration can be wrong in several ways
        return finding.code, finding.severity, first, finding.resources, wanted

    @property
    def errors(self) -> bool:
        """Whether anything found makes the schedule unsafe."""
        return any(f.severity is Severity.ERROR for f in self._found.values())

    def has(self, *codes: str) -> bool:
        """Whether a rule with one of these codes was broken."""
        return any(key[0] in codes for key in self._found)

    def rows(self) -> tuple[Finding, ...]:
        """All findings, errors first, causes before consequences."""
        rows = folded(self._document, [self._row(key, finding) for key, finding in self._found.items()])
        rows = [self._noted(f) for f in rows]
        return tuple(sorted(rows, key=lambda f: (SEVERITIES.index(f.severity), ORDER.get(f.code, 0))))

    def _noted(self, finding: Finding) -> Finding:
        """``finding``, with the derived count of the mbarrier whose phases go wrong."""
        derived = [m for m in self._document.mbarriers if m.count is None and m.name in finding.resources]
        if finding.code not in COUNTED or not derived:
            return finding
        notes = (
            f"{m.name} states no count; {derived_raw_count(self._document, m.name)} is derived, from what each task arrives "
            "before its next wait: declare count= if a phase takes another number"
            for m in derived
        )
        return replace(finding, notes=(*finding.notes, *notes))

    def _row(self, key: tuple, finding: Finding) -> Finding:
        others = [ops for ops in self._also.get(key, ()) if ops != finding.ops]
        if not others:
            return finding
        places = "; ".join(" and ".join(ops) for ops in others[:MAX_ALSO])
        more = len(others) - MAX_ALSO
        text = f"the same at {places}" + (f" and {more} more" if more > 0 else "")
        return replace(finding, notes=(*finding.notes, text))


def consequences(rows: Iterable[Finding], independent: Iterable[Finding]) -> list[Finding]:
    """Of what follows from a wrong declaration: one row for each rule that does not also break without it."""
    alone = {f.code for f in independent}
    kept: dict[str, Finding] = {}
    for finding in rows:
        if finding.code not in alone:
            kept.setdefault(finding.code, finding)
    return list(kept.values())
