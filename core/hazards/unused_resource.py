"""WD104  unused-resource: a task declares a resource that its schedule does not use."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Loop, Op, Task
from ..edits import SetTask
from ..findings import Finding, Fix
from ..tree import walk
from .base import Hazard, warning
from .examples import acquire, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD104", "unused-resource"


def check(document: Document) -> Iterator[Finding]:
    """Sources and destinations without an op."""
    for t in document.tasks:
        used = set(_used(t))
        for name in dict.fromkeys((*t.src, *t.dst)):
            if name not in used:
                yield warning(
                    CODE,
                    NAME,
                    f"{t.name} declares {name}, but its schedule does not use it",
                    resources=(name,),
                    tasks=(t.name,),
                    expected=f"an op on {name}",
                    actual="none",
                )


def _used(t: Task) -> Iterator[str]:
    for node in walk(t.body):
        if isinstance(node, Op):
            yield node.target
            yield from (value for _, value in node.args if isinstance(value, str))  # a tensor map, a barrier
        elif isinstance(node, Loop):
            yield node.queue


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """Do not declare it."""
    for t in document.tasks:
        if t.name in finding.tasks:
            sides = (("src", t.src), ("dst", t.dst))
            edits = tuple(
                SetTask(t.name, side, tuple(n for n in names if n not in finding.resources))
                for side, names in sides
                if set(names) & set(finding.resources)
            )
            yield Fix(f"remove {finding.resources[0]} from {t.name}", edits)


def _copy(*src: str):
    return document(
        "a source that is never read" if src else "only what is used is declared",
        task("load", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x")), src=src, dst=("x",)),
        task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"))),
        resources=(channel("x"), channel("y")) if src else (channel("x"),),
        graph=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Every resource that a task declares is used by its schedule.",
    why="A forgotten wait or work looks just like this.",
    bad=_copy("y"),
    good=_copy(),
    check=check,
    repair=repair,
)
