"""WD215  cta-layout: pipelines take the cluster apart in different ways."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ..document import Document
from ..findings import Finding
from .base import Hazard, error, listed
from .examples import acquire, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD215", "cta-layout"


def check(document: Document) -> Iterator[Finding]:
    """Layouts that differ, or that are not of the cluster's size."""
    layouts = {
        r.name: r.pipeline.cta_layout for r in document.resources if r.pipeline and r.pipeline.cta_layout
    }
    size = prod(document.cluster)
    for name, layout in layouts.items():
        if prod(layout) != size:
            yield _finding(
                (name,),
                f"{name} divides a cluster of {prod(layout)} CTAs, but it has {size}",
                f"{size} CTAs",
                layout,
            )
    if len(set(layouts.values())) > 1:
        words = listed(f"{name} as {layout}" for name, layout in layouts.items())
        yield _finding(
            tuple(layouts), f"the cluster is divided in different ways: {words}", "one layout", words
        )


def _finding(names: tuple[str, ...], message: str, expected: str, actual) -> Finding:
    return error(CODE, NAME, message, resources=names, expected=expected, actual=f"{actual}")


def _chain(*layouts: tuple[int, ...]):
    same = len(set(layouts)) == 1
    return document(
        "two pipelines that agree on the cluster"
        if same
        else "two pipelines that divide the cluster differently",
        task("first", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"))),
        task("second", 4, 1, loop(wait("x"), acquire("y"), work("y", "fill"), commit("y"), release("x"))),
        task("last", 8, 1, loop(wait("y"), work("y", "read"), release("y"))),
        resources=[channel(n, cta_layout=layout) for n, layout in zip("xy", layouts, strict=True)],
        cluster=(2, 1, 1),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="All pipelines divide the cluster in the same way, into as many CTAs as it has.",
    why="The masks of multicast copies and of arrivals would name other CTAs than those that wait for them.",
    bad=_chain((1, 2, 1, 1), (1, 1, 2, 1)),
    good=_chain((1, 2, 1, 1), (1, 2, 1, 1)),
    check=check,
)
