"""Tells of the first error of a check as soon as it is found: to find all of them takes up to twenty times as long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from time import perf_counter

from .collect import Collector
from .document import Document
from .findings import Finding, Report, Scope, Severity
from .valuations import Patterns, Values, size

SEARCHING = "still looking for more"
MORE = 3.0  # seconds for what else is wrong: a report that comes late helps less than one that names a little more
ENOUGH = f"an error was found, and what else is wrong was looked for during {MORE:.0f} s more"
Told = Callable[[Report], None]


@dataclass
class FirstError:
    """Calls ``told`` once, if at all: a schedule that breaks a rule at one case is unsafe, whatever the other cases are."""

    document: Document
    told: Told | None = None

    def seen(
        self,
        known: Collector,
        found: Sequence[Finding] = (),
        case: Mapping[str, int] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """What is ``known`` of the document as such, and what was ``found`` at ``case``."""
        if self.told is None or not (known.errors or any(f.severity is Severity.ERROR for f in found)):
            return
        collector = Collector(self.document)
        for finding in known.rows():
            collector.add([finding], finding.case)
        collector.add(found, tuple(sorted((case or {}).items())), notes)
        told, self.told = self.told, None
        scope = Scope("incomplete", (), "warp", SEARCHING)
        told(Report(self.document.name, "unsafe", scope, collector.rows(), 0, 0.0))


def hurried(deadline: float) -> float:
    """The end of a check that has shown an error now."""
    return min(deadline, perf_counter() + MORE)


def smallest_first(
    cases: Iterable[tuple[Values, Patterns]], hurry: Callable[[], bool]
) -> Iterator[tuple[Values, Patterns]]:
    """``cases`` in their order; once there is a ``hurry``, those that are left by their size: there is to be time for the
    smallest case that fails."""
    left = iter(cases)
    for case in left:
        if hurry():
            yield from sorted(chain((case,), left), key=lambda c: size(c[0]))
            return
        yield case
