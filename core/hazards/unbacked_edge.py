"""WD103  unbacked-edge: no task makes the downstream resource from the upstream one."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Space, Task
from ..edits import RemoveEdge
from ..findings import Finding, Fix
from ..tree import ops_of
from .base import Hazard, error
from .examples import acquire, channel, commit, document, loop, release, task, wait, work
from .places import side_of

CODE, NAME = "WD103", "unbacked-edge"


def check(document: Document) -> Iterator[Finding]:
    """Edges whose ends no task has as source and destination, or uses so without saying it (WD101).

    A ping-pong resource (one with an edge to itself) is handed back and forth inside its stages, and a resource without
    bytes and works is no more than a barrier: an edge at one of these is backed by a task that has both ends, on whatever
    sides; the edge to itself by one task that reads and one that writes.
    """
    queues = {r.name for r in document.resources if r.space is Space.QUEUE}
    ordering = {r.name for r in document.resources if r.space is Space.PDL}
    barriers = {r.name for r in document.resources if not r.works and r.storage is None}
    ping_pong = {e.upstream for e in document.graph if e.upstream == e.downstream} - queues
    sides = [_sides(document, t) for t in document.tasks]
    for edge in document.graph:
        up, down = edge.upstream, edge.downstream
        if up in ordering:
            continue  # an edge from a dependent launch says what is ordered after it
        if up == down and up in ping_pong:
            backed = any(up in src for src, _ in sides) and any(up in dst for _, dst in sides)
        else:
            loose = {up, down} & (ping_pong | barriers)
            backed = any(
                (up in src and down in dst) or (loose and {up, down} <= src | dst) for src, dst in sides
            )
        if not backed:
            yield error(
                CODE,
                NAME,
                f"{edge.downstream} is said to be made from {edge.upstream}, but no task reads the one and writes the other",
                resources=(edge.downstream, edge.upstream),
                expected=f"a task with {edge.upstream} in src_resources and {edge.downstream} in dst_resources",
                actual="none",
            )


def _sides(document: Document, t: Task) -> tuple[set[str], set[str]]:
    """What ``t`` declares to read and to write, and what it does."""
    src, dst = {*t.src}, {*t.dst}
    for op in ops_of(t):
        side = side_of(document, op)
        if side:
            (src if side == "src" else dst).add(op.target)
    return src, dst


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """Drop the edge."""
    downstream, upstream = finding.resources
    yield Fix(f"remove the edge from {upstream} to {downstream}", (RemoveEdge(upstream, downstream),))


def _chain(*graph: tuple[str, str]):
    return document(
        "an edge that no task backs" if ("y", "x") in graph else "an edge that a task backs",
        task("first", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"))),
        task("second", 4, 1, loop(wait("x"), acquire("y"), work("y", "fill"), commit("y"), release("x"))),
        task("last", 8, 1, loop(wait("y"), work("y", "read"), release("y"))),
        resources=(channel("x"), channel("y")),
        graph=graph,
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Every edge of the graph has a task that reads the upstream and writes the downstream resource.",
    why="A dependency that no task carries out is a mistake in the graph or a task that is missing.",
    bad=_chain(("x", "y"), ("y", "x")),
    good=_chain(("x", "y")),
    check=check,
    repair=repair,
)
