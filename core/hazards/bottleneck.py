"""WD803  bottleneck: what bounds the predicted timeline, where one more stage would shorten it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..document import Resource
from ..findings import Finding, Fix
from ..simulate import Timeline, bound
from .base import Hazard, advice, listed
from .examples import acquire, commit, document, fence, loop, release, task, wait, work
from .examples import ring as ring_of
from .study import Study, edited, rings, with_stages

CODE, NAME = "WD803", "bottleneck"
LEAST = 0.02  # of the timeline that a stage must buy; less is within the error of the cost table


def advise(study: Study) -> Iterator[Finding]:
    """The pipelines of which one more stage shortens the predicted timeline by 2 % or more, and what bounds it; a fix where
    the document with that stage verifies."""
    timeline = study.timeline
    if not timeline.ended or not timeline.total:
        return
    study.notes.append(f"predicted timeline: {bound(timeline)}")
    for ring in rings(study.document):
        yield from _deeper(study, timeline, ring)


def _deeper(study: Study, timeline: Timeline, ring: Sequence[Resource]) -> Iterator[Finding]:
    more = ring[0].pipeline.stages + 1
    edits, names = with_stages(study.document, ring, more), listed(r.name for r in ring)
    larger = edited(study.document, *edits)
    after = study.simulated(larger)
    if not after.ended or after.total > timeline.total * (1 - LEAST):
        return
    objection = study.objection(larger)
    gain = f"{timeline.total} to {after.total} cycles (-{100 - 100 * after.total // timeline.total} %)"
    yield advice(
        CODE,
        NAME,
        f"one more stage of {names} would shorten the predicted timeline from {gain}",
        resources=tuple(r.name for r in ring),
        expected=f"{more} stages: {bound(after)}",
        actual=f"{bound(timeline)}",
        notes=(
            f"as it is, it does not verify with {more} stages: {objection}"
            if objection
            else f"with {more} stages the document verifies again",
        ),
        fixes=() if objection else (Fix(f"give {names} {more} stages", edits),),
    )


def _copies(stages: int):
    return document(
        f"copies of 48 KiB, {stages} stages",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab"))),
        resources=(ring_of("ab", stages, 49152),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="No pipeline holds up the predicted timeline for want of one stage.",
    why="With too few stages producer and consumer take turns: the latency of each copy, or of each product, is waited for "
    "instead of hidden behind the others.",
    bad=_copies(2),
    good=_copies(3),
    advise=advise,
)
