"""The integers of ops that may be expressions: the stage, and the parity of a wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from .document import Loop, Node, Op
from .expressions import Expression, Integer, Operation, Symbol, evaluate, leaves, substitute, symbols_of

ITERATION = "iteration of "


def chosen(stage: Integer | None) -> Integer:
    """The stage that an op names; the first where it names none."""
    return 0 if stage is None else stage


def expressions_of(op: Op) -> tuple[tuple[str, Integer], ...]:
    """The fields of ``op`` that are expressions: (field, expression) pairs."""
    return tuple((f, e) for f in ("stage", "count") if isinstance(e := getattr(op, f), Expression))


def computed(value: Integer, values: Mapping[str, int], loops: Iterable[tuple[Loop, int]]) -> int | None:
    """``value`` in these iterations of the ``loops`` around; None where it cannot be computed."""
    try:
        here = {loop.var: evaluate(loop.start, values) + i * evaluate(loop.step, values) for loop, i in loops}
        return evaluate(value, values, here)
    except (KeyError, ArithmeticError):
        return None


def rewritten(op: Op, change: Callable[[Integer], Integer]) -> Op:
    """``op`` with ``change`` made to each of its expressions; the very same where none changes."""
    changed = {f: new for f, e in expressions_of(op) if (new := change(e)) != e}
    return replace(op, **changed) if changed else op


def symbols_used(nodes: Iterable[Node]) -> Iterator[Symbol]:
    """The symbols of loop bounds and op expressions below ``nodes``, in order, repeated as they are."""
    for node in nodes:
        if isinstance(node, Op):
            for _, expression in expressions_of(node):
                yield from symbols_of(expression)
            continue
        if isinstance(node, Loop):
            for bound in (node.start, node.stop, node.step):
                yield from symbols_of(bound)
        yield from symbols_used(node.body)


def unknown_names(op: Op, around: Iterable[Loop], symbols: Iterable[Symbol]) -> Iterator[tuple[str, str]]:
    """(field, name) of what the expressions of ``op`` speak of and neither a loop around nor a symbol gives."""
    known = {False: {loop.var for loop in around}, True: {s.name for s in symbols}}
    for field, expression in expressions_of(op):
        for leaf in leaves(expression):
            if leaf.name not in known[isinstance(leaf, Symbol)]:
                yield field, leaf.name


def by_iterations(expression: Integer, around: Iterable[Loop]) -> Integer:
    """``expression`` over the iterations of the loops ``around``, outermost first: symbols named by `iteration_of`."""
    for loop in reversed(list(around)):
        value = Operation("+", loop.start, Operation("*", Symbol(iteration_of(loop)), loop.step))
        expression = substitute(expression, loop.var, value)
    return expression


def iteration_of(loop: Loop) -> str:
    """What `by_iterations` calls the iteration of ``loop``."""
    return ITERATION + loop.id
