"""WD102  not-in-graph: a task uses a pipelined resource that the dependency graph does not name."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Space
from ..findings import Finding
from .base import Hazard, error
from .examples import acquire, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD102", "not-in-graph"


def check(document: Document) -> Iterator[Finding]:
    """Used resources with a pipeline that are on no edge of a graph that has edges."""
    named = {name for edge in document.graph for name in (edge.upstream, edge.downstream)}
    if not named:
        return
    for resource in document.resources:
        users = [t.name for t in document.tasks if resource.name in (*t.src, *t.dst)]
        missing = resource.pipeline and resource.space not in (Space.QUEUE, Space.PDL)
        if users and missing and resource.name not in named:
            yield error(
                CODE,
                NAME,
                f"{resource.name} is used by {', '.join(users)}, but is not in the dependency graph",
                resources=(resource.name,),
                tasks=tuple(users),
                expected="an edge to or from it",
                actual="none",
            )


def _chain(*graph: tuple[str, str]):
    return document(
        "a chain of two channels" if len(graph) > 1 else "a channel that the graph does not name",
        task("first", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"))),
        task("second", 4, 1, loop(wait("x"), acquire("y"), work("y", "fill"), commit("y"), release("x"))),
        task("third", 8, 1, loop(wait("y"), acquire("z"), work("z", "fill"), commit("z"), release("y"))),
        task("last", 12, 1, loop(wait("z"), work("z", "read"), release("z"))),
        resources=(channel("x"), channel("y"), channel("z")),
        graph=graph,
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Every resource that a task uses appears in the dependency graph.",
    why="The graph says what is made from what; what it leaves out cannot be checked, drawn or released in order.",
    bad=_chain(("x", "y")),
    good=_chain(("x", "y"), ("y", "z")),
    check=check,
)
