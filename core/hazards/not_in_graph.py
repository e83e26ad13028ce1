"""WD102  not-in-graph: a task uses a resource that the dependency graph does not name."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Space
from ..findings import Finding
from ..tree import ops_of
from .base import Hazard, error
from .examples import acquire, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD102", "not-in-graph"


def check(document: Document) -> Iterator[Finding]:
    """Resources that the graph does not name, though some task reads them and writes another, or the other way round.

    What is made from nothing is named without an upstream. A work queue is no part of it, nor is the order of dependent
    launches; what only one task ever uses and no task hands on has nothing to be on an edge with.
    """
    named = {name for edge in document.graph for name in (edge.upstream, edge.downstream)} | {*document.roots}
    data = {r.name for r in document.resources if r.space not in (Space.QUEUE, Space.PDL)}
    missing: dict[str, dict[str, None]] = {}  # resource -> what an edge could join it with
    for t in document.tasks:
        used = data & {op.target for op in ops_of(t)}  # what it does not use: WD104
        for downstream in t.dst:
            for upstream in t.src:
                if upstream != downstream and {upstream, downstream} <= used:
                    missing.setdefault(upstream, {})[downstream] = None
                    missing.setdefault(downstream, {})[upstream] = None
    for name in (n for n in missing if n not in named):
        users = [t.name for t in document.tasks if name in (*t.src, *t.dst)]
        yield error(
            CODE,
            NAME,
            f"{name} is used by {', '.join(users)}, but is not in the dependency graph",
            resources=(name,),
            tasks=tuple(users),
            expected=f"an edge to or from it, by its tasks one with {' or '.join(missing[name])}, or it alone",
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
