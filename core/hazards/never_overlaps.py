"""WD802  never-overlaps: stages of a pipeline that are never in use together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..document import Resource
from ..findings import Finding, Fix
from ..simulate import Timeline, default_values
from .base import Hazard, advice, listed, plural
from .examples import acquire, channel, commit, document, loop, release, task, wait, work
from .study import Study, edited, rings, with_stages

CODE, NAME = "WD802", "never-overlaps"
ROUNDS = 3  # of all stages that the longer of the two timelines runs, so that each stage comes round


def advise(study: Study) -> Iterator[Finding]:
    """Pipelines that never have all stages in use in the predicted timeline, and with fewer verify again with the same
    predicted timeline, also at longer trip counts."""
    for ring in rings(study.document):
        if ring[0].pipeline.stages > 1:
            yield from _fewer(study, ring)


def _fewer(study: Study, ring: Sequence[Resource]) -> Iterator[Finding]:
    stages, names = ring[0].pipeline.stages, listed(r.name for r in ring)
    choices = [{}, _longer(study, stages)]
    timelines = [study.simulated(study.document, **values) for values in choices]
    needed = max(in_use(timeline, r.name) for timeline in timelines for r in ring)
    if not 0 < needed < stages or not all(t.ended for t in timelines):
        return
    edits = with_stages(study.document, ring, needed)
    smaller = edited(study.document, *edits)
    again = [study.simulated(smaller, **values) for values in choices]
    if any(a.total > t.total or not a.ended for a, t in zip(again, timelines, strict=True)):
        return
    if study.objection(smaller):
        return
    totals = " and ".join(f"{t.total} cycles{_at(t)}" for t in timelines)
    yield advice(
        CODE,
        NAME,
        f"at most {needed} of the {stages} stages of {names} are in use at a time",
        resources=tuple(r.name for r in ring),
        expected=plural(needed, "stage"),
        actual=plural(stages, "stage"),
        notes=(
            f"with {plural(needed, 'stage')} the document verifies again, and the predicted timeline is no longer: {totals}",
        ),
        fixes=(Fix(f"give {names} {plural(needed, 'stage')}", edits),),
    )


def _longer(study: Study, stages: int) -> dict[str, int]:
    """Trip counts at which every stage comes round a few times."""
    return {name: max(value, ROUNDS * stages + 1) for name, value in default_values(study.document).items()}


def _at(timeline: Timeline) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in timeline.values)
    return f" at {values}" if values else ""


def in_use(timeline: Timeline, name: str) -> int:
    """The most stages of pipeline ``name`` that are in use at a time: being filled, full, or being read."""
    changes: list[tuple[int, int]] = []
    for s in timeline.stages:
        if s.resource == name and s.state != "empty" and s.end > s.start:
            changes += [(s.start, 1), (s.end, -1)]
    most = now = 0
    for _, change in sorted(changes):  # ends before starts at one cycle
        now += change
        most = max(most, now)
    return most


def _turns(stages: int):
    """A task that hands a stage on, and goes on only when it is answered."""
    ask, answer = channel("ask", stages), channel("answer", 1)
    return document(
        f"each question is answered before the next: {plural(stages, 'stage')}",
        task(
            "left",
            0,
            1,
            loop(
                acquire("ask"),
                work("ask", "fill"),
                commit("ask"),
                wait("answer"),
                work("answer", "read"),
                release("answer"),
            ),
        ),
        task(
            "right",
            4,
            1,
            loop(
                wait("ask"),
                work("ask", "read"),
                release("ask"),
                acquire("answer"),
                work("answer", "fill"),
                commit("answer"),
            ),
        ),
        resources=(ask, answer),
        graph=(("ask", "answer"),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="A pipeline has no more stages than are in use at a time.",
    why="Each stage takes shared or tensor memory that another pipeline could use, and one that never overlaps with another "
    "hides no latency.",
    bad=_turns(3),
    good=_turns(1),
    advise=advise,
)
