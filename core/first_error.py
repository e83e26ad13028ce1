"""Tells of the first error of a check as soon as it is found: to find all of them takes up to twenty times as long."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .collect import Collector
from .document import Document
from .findings import Finding, Report, Scope, Severity

SEARCHING = "still looking for more"
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
