"""WD107  bad-domain: a loop without a usable domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from ..clusters import runs_in
from ..conditions import TESTS
from ..document import Document, Guard, GuardKind, Loop, Node, Op, Task
from ..expressions import Integer, Operation, Symbol, evaluate, symbols_of, variables_of
from ..findings import Finding, Severity
from ..tree import walk
from .base import Hazard
from .examples import acquire, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD107", "bad-domain"
SMALL, FEW = 32, 8  # values of a symbol that are tried from its least on, alone and with others
MOST = 4096  # choices of all symbols of a loop
KEYS = 6  # conditions around loops whose outcomes are all looked at


def check(document: Document) -> Iterator[Finding]:
    """Steps of 0, bounds that are unknown, divide by zero or are negative for values that the symbols may have, and loops
    that Task Scheduling has no place for."""
    least = {s.name: s.min for s in document.symbols}
    for t in document.tasks:
        loops = [n for n in walk(t.body) if isinstance(n, Loop)]
        for node in loops:
            yield from _domain(t, node, least)
        if len(loops) > 1:
            ways = list(_ways(t))
            tile = max(([n for n in way if n.kind == "tile"] for way in ways), key=len)
            if len(tile) > 1:
                yield _too_many(t, tile, "work-tile loop", "", Severity.ERROR)
            row = max((_in_a_row([n for n in way if n.kind != "tile"]) for way in ways), key=len)
            if len(row) > 1:
                yield _too_many(t, row, "domain loop", " one after the other", Severity.ADVICE)


def _ways(t: Task) -> Iterator[list[Loop]]:
    """The loops that one warp of ``t`` runs, for each CTA, warp and outcome of conditions that blocks with loops name: of
    blocks that exclude each other one runs."""
    guards = [
        n for n in walk(t.body) if isinstance(n, Guard) and any(isinstance(m, Loop) for m in walk(n.body))
    ]
    ctas = {g.cta for g in guards if g.kind is GuardKind.CTA_RANK} or {0}
    warps = {g.warp for g in guards if g.kind is GuardKind.ELECT_WARP} or {0}
    keys = list(dict.fromkeys(g.key for g in guards if g.kind in TESTS))[:KEYS]
    for cta, warp, *outcomes in product(ctas, warps, *((True, False) for _ in keys)):
        yield list(_run_by(t.body, cta, warp, dict(zip(keys, outcomes, strict=True))))


def _run_by(nodes: Sequence[Node], cta: int, warp: int, outcomes: Mapping[str, bool]) -> Iterator[Loop]:
    for node in nodes:
        if isinstance(node, Loop):
            yield node
        elif isinstance(node, Op) or not runs_in(node, cta):
            continue
        elif node.kind is GuardKind.ELECT_WARP and node.warp != warp:
            continue
        elif (
            node.kind in TESTS
            and outcomes.get(node.key, outcome := node.kind is GuardKind.WHEN_TRUE) != outcome
        ):
            continue
        yield from _run_by(node.body, cta, warp, outcomes)


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
        for name in variables_of(getattr(node, bound)):
            text = f"the {bound} of loop {node.id} of {t.name} depends on {name}, the variable of a loop"
            yield _finding(t, node, text, "a bound that is the same in every iteration of the loops around")
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
    if any(name not in least for name in names) or any(variables_of(e) for e in bounds):
        return
    if isinstance(node.step, int) and not any(isinstance(e, Operation) for e in bounds):
        yield {
            name: least[name] for name in names
        }  # nothing is divided, and only the least values may be too small
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


def _too_many(t: Task, loops: list[Loop], what: str, how: str, severity: Severity) -> Finding:
    return Finding(
        CODE,
        NAME,
        severity,
        f"{t.name} has {len(loops)} {what}s{how}; NVIDIA Task Scheduling takes one",
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
