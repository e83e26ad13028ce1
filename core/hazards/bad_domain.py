"""WD107  bad-domain: a loop without a usable domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product

from ..clusters import looked_at, runs_in
from ..document import Document, Loop, Node, Op, Task
from ..expressions import Integer, Operation, Symbol, evaluate, symbols_of
from ..findings import Finding, Severity
from ..tree import walk
from .base import Hazard
from .examples import acquire, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD107", "bad-domain"
SMALL, FEW = 32, 8  # values of a symbol that are tried from its least on, alone and with others
MOST = 4096  # choices of all symbols of a loop


def check(document: Document) -> Iterator[Finding]:
    """Steps of 0, bounds that are unknown, divide by zero or are negative for values that the symbols may have, and loops
    that Task Scheduling has no place for."""
    least = {s.name: s.min for s in document.symbols}
    for t in document.tasks:
        loops = [n for n in walk(t.body) if isinstance(n, Loop)]
        for node in loops:
            yield from _domain(t, node, least)
        tile = [n for n in loops if n.kind == "tile"]
        if len(tile) > 1:
            yield _too_many(t, tile, "work-tile loop", Severity.ERROR)
        ctas = range(looked_at(document))
        rows = (_in_a_row([n for n in _run_in(t.body, c) if n.kind != "tile"]) for c in ctas)
        one_by_one = max(rows, key=len)
        if len(one_by_one) > 1:
            yield _too_many(t, one_by_one, "domain loop", Severity.ADVICE)


def _run_in(nodes: Sequence[Node], cta: int) -> Iterator[Loop]:
    """The loops that CTA ``cta`` of the cluster runs."""
    for node in nodes:
        if not isinstance(node, Op) and runs_in(node, cta):
            if isinstance(node, Loop):
                yield node
            yield from _run_in(node.body, cta)


def _in_a_row(loops: list[Loop]) -> list[Loop]:
    """The loops that are inside none of the others: one that runs another is its tile loop by another name."""
    inner = {n.id for node in loops for n in walk(node.body) if isinstance(n, Loop)}
    return [n for n in loops if n.id not in inner]


def _domain(t: Task, node: Loop, least: dict[str, int]) -> Iterator[Finding]:
    for bound in ("start", "stop", "step"):
        for symbol in symbols_of(getattr(node, bound)):
            if symbol.name not in least:
                text = f"the {bound} of loop {node.id} of {t.name} depends on {symbol.name}, which is not declared"
                yield _finding(t, node, text, "a known bound, or a declared symbol")
    found: dict[tuple[str, str], Finding] = {}
    for number, values in enumerate(_samples(node, least)):
        for bound, what, severity in _wrong(node, values, first=number == 0):
            names = [s.name for s in symbols_of(getattr(node, bound))]
            at = ", ".join(f"{name} = {values[name]}" for name in names)
            text = f"the {bound} of loop {node.id} of {t.name}" + (f" ({at})" if at else "") + f" {what}"
            expected = (
                f"a higher min of {' or '.join(names)}, or another {bound}" if at else f"another {bound}"
            )
            found.setdefault((bound, what), _finding(t, node, text, expected, severity))
    yield from found.values()


def _wrong(node: Loop, values: dict[str, int], first: bool) -> Iterator[tuple[str, str, Severity]]:
    """Bounds without a value, a step that leads nowhere, an end before 0 where the symbols are at their least.

    That a loop starts at or behind its end is no mistake: it runs no iterations.
    """
    found = {}
    for bound in ("start", "stop", "step"):
        try:
            found[bound] = evaluate(getattr(node, bound), values)
        except ArithmeticError:
            yield bound, "divides by zero", Severity.ERROR
    if found.get("step") == 0:
        yield "step", "is 0: it never ends", Severity.ERROR
    elif first and len(found) == 3 and found["step"] > 0 and found["stop"] < min(0, found["start"]):
        yield "stop", "is negative: it runs no iterations", Severity.WARNING


def _samples(node: Loop, least: dict[str, int]) -> Iterator[dict[str, int]]:
    """Values of the loop's symbols at which a bound may be 0: from their least on, and around its constants."""
    bounds = (node.start, node.stop, node.step)
    names = list(dict.fromkeys(s.name for e in bounds for s in symbols_of(e)))
    if any(name not in least for name in names):
        return
    if isinstance(node.step, int) and not any(isinstance(e, Operation) for e in bounds):
        yield {name: least[name] for name in names}  # nothing is divided, and only the least values may be too small
        return
    special = {c + d for e in bounds for c in _constants(e) for d in (-1, 0, 1)}
    tried = []
    for name in names:
        low = least[name]
        tried.append(
            sorted(
                {*range(low, low + (SMALL if len(names) == 1 else FEW)), *(v for v in special if v >= low)}
            )
        )
    for choice in islice(product(*tried), MOST):
        yield dict(zip(names, choice, strict=True))


def _constants(expression: Integer) -> Iterator[int]:
    if isinstance(expression, int):
        yield expression
    elif isinstance(expression, Operation):
        yield from _constants(expression.left)
        yield from _constants(expression.right)


def _finding(
    t: Task, node: Loop, message: str, expected: str, severity: Severity = Severity.ERROR
) -> Finding:
    actual = f"{node.start}, {node.stop}, {node.step}"
    return Finding(
        CODE, NAME, severity, message, ops=(node.id,), tasks=(t.name,), expected=expected, actual=actual
    )


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
    rule="A loop has a step that is not 0 and bounds that can be computed and do not go below 0, for all values that its "
    "symbols may have; a task has at most one work-tile loop.",
    why="Nobody can say how often such a loop runs: neither this checker nor the warps that must agree on it.",
    bad=_ring(0),
    good=_ring(2),
    check=check,
)
