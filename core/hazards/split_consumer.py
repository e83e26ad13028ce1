"""WD217  split-consumer: one task waits and another releases, and nothing hands the stage from one to the other."""

from __future__ import annotations

from collections.abc import Iterator

from ..cursors import pipeline_ops
from ..document import Document, OpKind, Task
from ..findings import Finding
from ..tree import ops_of
from .base import Hazard, error
from .examples import acquire, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD217", "split-consumer"
HALVES = ((OpKind.WAIT, OpKind.RELEASE), (OpKind.ACQUIRE, OpKind.COMMIT))
# Who does one of these tells those who do one of the others, on the same barrier.
TELLS = (
    OpKind.BARRIER_SYNC,
    OpKind.BARRIER_ARRIVE,
    OpKind.MBARRIER_ARRIVE,
    OpKind.MBARRIER_ARRIVE_EXPECT,
    OpKind.TCGEN05_COMMIT,
    OpKind.CP_ASYNC_ARRIVE_NOINC,
    OpKind.CLUSTER_SYNC,
    OpKind.CLUSTER_ARRIVE,
)
HEARS = (OpKind.BARRIER_SYNC, OpKind.MBARRIER_WAIT, OpKind.CLUSTER_SYNC, OpKind.CLUSTER_WAIT)


def check(document: Document) -> Iterator[Finding]:
    """Tasks that close what another opens, with neither a resource nor a barrier on the way from one to the other."""
    used = [(t, pipeline_ops(t)) for t in document.tasks]
    for name in (r.name for r in document.resources if r.pipeline):
        for opens, closes in HALVES:
            first = [t for t, of in used if (name, opens) in of and (name, closes) not in of]
            then = [t for t, of in used if (name, closes) in of and (name, opens) not in of]
            for t in then if first else ():
                if not any(_hands_on(document, f, t, name) for f in first):
                    yield _finding(name, opens, closes, first[0], t)


def _hands_on(document: Document, first: Task, then: Task, name: str) -> bool:
    """Whether something other than ``name`` leads from ``first`` to ``then``, over any tasks in between."""
    reached, grown = {first.name}, True
    while grown:
        more = {
            t.name
            for t in document.tasks
            for f in document.tasks
            if f.name in reached and t.name not in reached and _meet(f, t, name)
        }
        grown = bool(more)
        reached |= more
    return then.name in reached


def _meet(f: Task, t: Task, name: str) -> bool:
    if any(r != name and r in t.src for r in f.dst):
        return True
    told = {o.target for o in ops_of(f) if o.kind in TELLS}
    return any(o.kind in HEARS and o.target in told for o in ops_of(t))


def _finding(name: str, opens: OpKind, closes: OpKind, first: Task, then: Task) -> Finding:
    ops = [
        o.id
        for t, kind in ((then, closes), (first, opens))
        for o in ops_of(t)
        if o.target == name and o.kind is kind
    ]
    return error(
        CODE,
        NAME,
        f"{first.name} has the {opens.value} of {name} and {then.name} its {closes.value}, but nothing goes from "
        f"{first.name} to {then.name}",
        ops=tuple(ops),
        resources=(name,),
        tasks=(first.name, then.name),
        expected=f"a resource or barrier by which {then.name} knows that {first.name} is there",
        actual="none",
    )


def _split(proxy: bool):
    fill, token = loop(acquire("x"), work("x", "fill"), commit("x")), channel("token", stages=3)
    first = (wait("x"), acquire("token"), commit("token")) if proxy else (wait("x"),)
    second = (wait("token"), work("x", "read"), release("x"), release("token")) if proxy else (release("x"),)
    return document(
        "a token goes from the task that waits to the one that releases"
        if proxy
        else "one task waits, another releases",
        task("load", 0, 1, fill),
        task("watch", 4, 1, loop(*first), src=("x",), dst=("token",) if proxy else ()),
        task("use", 8, 1, loop(*second), src=("x", "token") if proxy else ("x",)),
        resources=(channel("x", stages=3, advance_on_wait=True), token)
        if proxy
        else (channel("x", stages=3, advance_on_wait=True),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Wait and release (acquire and commit) are in different tasks only where something orders them.",
    why="The release does not know of the wait: the stage is given back while, or before, it is looked at.",
    bad=_split(False),
    good=_split(True),
    check=check,
)
