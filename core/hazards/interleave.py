"""WD214  interleave: stages that cannot be dealt out to lanes in equal parts."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document
from ..findings import Finding
from .base import Hazard, error
from .examples import acquire, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD214", "interleave"
SIDES = ("acquire", "commit", "wait", "release")


def check(document: Document) -> Iterator[Finding]:
    """Strides that do not divide the number of stages."""
    for resource in document.resources:
        pipeline = resource.pipeline
        for side, stride in zip(SIDES, pipeline.interleave if pipeline else (), strict=False):
            if stride < 1 or pipeline.stages % stride:
                yield error(
                    CODE,
                    NAME,
                    f"{resource.name} has {pipeline.stages} stages, which its {side} stride {stride} does not divide",
                    resources=(resource.name,),
                    expected=f"a stride that divides {pipeline.stages}",
                    actual=f"{stride}",
                )


def _ring(stages: int):
    return document(
        f"{stages} stages for two lanes",
        task("load", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"))),
        task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"))),
        resources=(channel("x", stages=stages, interleave=(2, 2, 1, 1)),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="The number of stages is a multiple of each interleave stride.",
    why="The cursors of the lanes would meet in one stage: two would fill it at once, and another would stay empty.",
    bad=_ring(3),
    good=_ring(4),
    check=check,
)
