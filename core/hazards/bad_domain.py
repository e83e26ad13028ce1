"""WD107  bad-domain: a loop without a usable domain."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Loop, Task
from ..expressions import Symbol, evaluate, symbols_of
from ..findings import Finding, Severity
from ..tree import walk
from .base import Hazard, error
from .examples import acquire, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD107", "bad-domain"


def check(document: Document) -> Iterator[Finding]:
    """Steps of 0, bounds over unknown symbols, and loops that Task Scheduling has no place for."""
    known = {s.name for s in document.symbols}
    for t in document.tasks:
        loops = [n for n in walk(t.body) if isinstance(n, Loop)]
        for node in loops:
            yield from _domain(t, node, known)
        tile = [n for n in loops if n.kind == "tile"]
        if len(tile) > 1:
            yield _too_many(t, tile, "work-tile loop", Severity.ERROR)
        one_by_one = _in_a_row([n for n in loops if n.kind != "tile"])
        if len(one_by_one) > 1:
            yield _too_many(t, one_by_one, "domain loop", Severity.ADVICE)


def _in_a_row(loops: list[Loop]) -> list[Loop]:
    """The loops that are inside none of the others: one that runs another is its tile loop by another name."""
    inner = {n.id for node in loops for n in walk(node.body) if isinstance(n, Loop)}
    return [n for n in loops if n.id not in inner]


def _domain(t: Task, node: Loop, known: set[str]) -> Iterator[Finding]:
    if not symbols_of(node.step) and _value(node.step) == 0:
        yield _finding(
            t, node, f"the loop {node.id} of {t.name} has step 0 and never ends", "a step that is not 0"
        )
    for bound in ("start", "stop", "step"):
        expression = getattr(node, bound)
        for symbol in symbols_of(expression):
            if symbol.name not in known:
                text = f"the {bound} of loop {node.id} of {t.name} depends on {symbol.name}, which is not declared"
                yield _finding(t, node, text, "a known bound, or a declared symbol")
        if not symbols_of(expression) and _value(expression) is None:
            yield _finding(
                t, node, f"the {bound} of loop {node.id} of {t.name} cannot be computed", "a number"
            )


def _value(expression) -> int | None:
    try:
        return evaluate(expression, {})
    except ArithmeticError:
        return None


def _finding(t: Task, node: Loop, message: str, expected: str) -> Finding:
    actual = f"{node.start}, {node.stop}, {node.step}"
    return error(CODE, NAME, message, ops=(node.id,), tasks=(t.name,), expected=expected, actual=actual)


def _too_many(t: Task, loops: list[Loop], what: str, severity: Severity) -> Finding:
    return Finding(
        CODE,
        NAME,
        severity,
        f"{t.name} has {len(loops)} {what}s one after the other; NVIDIA Task Scheduling takes one",
        ops=tuple(n.id for n in loops),
        tasks=(t.name,),
        expected=f"1 {what}",
        actual=str(len(loops)),
    )


def _ring(step: int):
    n = Symbol("n")
    return document(
        f"a loop with step {step}",
        task("load", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"), stop=n, step=step)),
        task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"), stop=n, step=step)),
        resources=(channel("x"),),
        symbols=(n,),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="A loop has a step that is not 0 and bounds that are known or symbolic; a task has at most one work-tile loop.",
    why="Nobody can say how often such a loop runs: neither this checker nor the warps that must agree on it.",
    bad=_ring(0),
    good=_ring(2),
    check=check,
)
