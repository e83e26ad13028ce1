"""WD115  self-edge: a resource that is made from itself lacks what hands it back and forth."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Engine
from ..findings import Finding
from ..footprints import engine_of
from ..tree import find_resource, ops_of
from .base import Hazard, error
from .examples import acquire, buffer, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD115", "self-edge"
ENDS = (
    Engine.WARP,
    Engine.TCGEN05_LD,
)  # reads of the warps themselves: a load from tensor memory ends with their wait


def check(document: Document) -> Iterator[Finding]:
    """Edges from a resource to itself without a pipeline, without one of its sides, or with a consumer that runs on."""
    for name in dict.fromkeys(e.upstream for e in document.graph if e.upstream == e.downstream):
        problem = _problem(document, name)
        if problem:
            yield error(
                CODE,
                NAME,
                f"{name} is made from itself, but {problem}",
                resources=(name,),
                tasks=tuple(t.name for t in document.tasks if name in (*t.src, *t.dst)),
                expected="a pipeline, a task that fills it and one that reads it, and reads that end with their op",
                actual=problem,
            )


def _problem(document: Document, name: str) -> str:
    resource = find_resource(document, name)
    if resource is None or resource.pipeline is None:
        return "has no pipeline"
    if not any(name in t.src for t in document.tasks):
        return "no task reads it"
    if not any(name in t.dst for t in document.tasks):
        return "no task writes it"
    called = {op.work for t in document.tasks for op in ops_of(t) if op.target == name}
    late = [
        w.name
        for w in resource.works
        if w.role == "consumer"
        and w.name in called
        and not w.auxiliary
        and engine_of(resource, w) not in ENDS
    ]
    return f"its consumer {late[0]} runs on behind its op" if late else ""


def _pingpong(pipelined: bool):
    x = channel("x") if pipelined else buffer("x")
    fill, read = work("x", "fill"), work("x", "read")
    body = (acquire("x"), fill, commit("x"), wait("x"), read, release("x")) if pipelined else (fill, read)
    return document(
        "a buffer of one task that goes back and forth" + ("" if pipelined else " without a pipeline"),
        task("both", 0, 1, loop(*body)),
        resources=(x,),
        graph=(("x", "x"),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="A resource that is made from itself has a pipeline, both sides, and a synchronous consumer.",
    why="Nothing else says which of its states is read and which is written: each would overwrite the other.",
    bad=_pingpong(False),
    good=_pingpong(True),
    check=check,
)
