"""What a piece of advice is tried out with: copies of one safe document are checked and simulated, within a time budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from time import perf_counter

from ..changes import new_findings, says_less
from ..document import Document, Resource
from ..edits import Edit, SetPipeline
from ..findings import Report
from ..limits import TimeUp
from ..pipeline_groups import group_of, members_of
from ..simulate import Timeline, default_values, simulate
from ..unseen import Unseen
from ..valuations import running

Check = Callable[..., Report]  # as `core.verify.verify`


class Study:
    """A ``document`` with its ``report``, which says that it is safe. What has been tried is remembered; past ``deadline``
    (of `perf_counter`) each further trial raises TimeUp. ``notes``: what a reader of the advice should know."""

    def __init__(self, document: Document, report: Report, check: Check, deadline: float) -> None:
        self.document, self.report, self.deadline = document, report, deadline
        self.notes: list[str] = []
        self._check = check
        self._strict: Report | None = None

    @cached_property
    def timeline(self) -> Timeline:
        """The predicted timeline of the document as it is."""
        return self.simulated(self.document)

    @cached_property
    def unseen(self) -> Unseen:
        """Its accesses to memory that is not modelled."""
        return Unseen(self.document, self.deadline)

    def left(self) -> float:
        """Seconds until the deadline. Raises TimeUp past it."""
        left = self.deadline - perf_counter()
        if left <= 0:
            raise TimeUp
        return left

    def simulated(self, document: Document, **values: int) -> Timeline:
        """The predicted timeline of ``document``, with its symbols as in the study's document unless given."""
        self.left()
        return simulate(document, {**default_values(self.document), **values})

    def verified(
        self, document: Document, trip_counts: Mapping[str, tuple[int, ...]] | None = None
    ) -> Report:
        """The report of a changed document, for ``trip_counts`` only if given."""
        report = self._check(document, trip_counts=trip_counts, budget=self.left())
        self.left()  # a check that ran out of time decides nothing
        return report

    def objection(self, document: Document, strict_lanes: bool = False) -> str:
        """What the verifier finds worse in a changed ``document``: a new finding, or a verdict that says less ("": nothing).
        ``strict_lanes``: also where lanes of a warp drift apart."""
        few = {name: (value,) for name, value in running(document).items()}
        for trip_counts in (few, None) if few else (None,):  # most objections show at once
            after = self.verified(document, trip_counts)
            if new := new_findings(self.report, after):
                return f"{new[0].code} {new[0].name}: {new[0].message}"
        less = says_less(self.report.scope, after.scope)
        if less or not strict_lanes:
            return less
        if self._strict is None:
            self._strict = self._check(self.document, strict_lanes=True, budget=self.left())
        after = self._check(document, strict_lanes=True, budget=self.left())
        if new := new_findings(self._strict, after):
            return f"{new[0].code} {new[0].name}: {new[0].message}"
        return says_less(self._strict.scope, after.scope)


def rings(document: Document) -> Iterator[tuple[Resource, ...]]:
    """The pipelines that have one number of stages: each by itself, those of a pipeline group together."""
    for resource in document.resources:
        group = group_of(document, resource.name)
        members = members_of(document, group) if group else (resource,)
        if resource.pipeline is not None and resource.name == members[0].name:
            yield members


def with_stages(document: Document, ring: Sequence[Resource], stages: int) -> tuple[SetPipeline, ...]:
    """The edits that give each of ``ring`` as many stages."""
    names = [r.name for r in ring]
    group = group_of(document, names[0])
    if group is not None and group.pipeline is not None:
        names.append(group.name)
    return tuple(SetPipeline(name, "stages", stages) for name in names)


def edited(document: Document, *edits: Edit) -> Document:
    """``document`` after ``edits``. Raises EditError where one does not fit."""
    for edit in edits:
        document = edit.apply(document)
    return document
