"""What an annotation file says of symbols: how small they are, which are one value, which follow from others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from warpdraft.core.document import Document, Loop, Node, Op
from warpdraft.core.expressions import Expression, Integer, Symbol, symbols_of

from .annotations import AnnotationError, Bound
from .formulas import FormulaError, names_in, value_of


def names_of(bound: Bound) -> tuple[str, ...]:
    """The symbols that ``bound`` speaks of beside its own."""
    return (*bound.same_as, *(names_in(bound.equals) if bound.equals is not None else ()))


def with_bounds(document: Document, bounds: dict[str, Bound]) -> Document:
    """``document`` with what ``bounds`` say of those symbols that it has. Raises AnnotationError for what contradicts
    itself."""
    known = {s.name for s in document.symbols}
    bounds = {n: b for n, b in bounds.items() if known.issuperset((n, *names_of(b)))}
    if not bounds:
        return document
    new = _stated({s.name: s for s in document.symbols}, bounds)

    def bound(value: Integer) -> Integer:
        if isinstance(value, Symbol):
            return new.get(value.name, value)
        if isinstance(value, Expression) and hasattr(value, "left"):
            return replace(value, left=bound(value.left), right=bound(value.right))
        return value

    def body(nodes: Iterable[Node]) -> tuple[Node, ...]:
        found = []
        for n in nodes:
            if isinstance(n, Loop):
                n = replace(n, start=bound(n.start), stop=bound(n.stop), step=bound(n.step))
            found.append(n if isinstance(n, Op) else replace(n, body=body(n.body)))
        return tuple(found)

    tasks = tuple(replace(t, body=body(t.body)) for t in document.tasks)
    left = {s.name: s for old in document.symbols for s in symbols_of(new[old.name])}
    return replace(document, tasks=tasks, symbols=tuple(left.values()))


def _stated(known: dict[str, Symbol], bounds: dict[str, Bound]) -> dict[str, Integer]:
    """What each symbol becomes."""
    found: dict[str, Integer] = dict(known)
    for name, bound in bounds.items():
        kept = known[name] if bound.min is None else replace(known[name], min=bound.min)
        found |= dict.fromkeys((name, *bound.same_as), kept)
    for name, bound in bounds.items():
        if bound.equals is None:
            continue
        for used in names_in(bound.equals):
            if used == name or (used in bounds and bounds[used].equals is not None):
                raise AnnotationError(
                    f"symbols.{name}: equals names {used}, which must not follow from others itself"
                )
            if known[used].per_tile != known[name].per_tile:
                raise AnnotationError(
                    f"symbols.{name}: only one of {name} and {used} has a value for each tile"
                )
        if bound.min is not None or bound.same_as:
            raise AnnotationError(f"symbols.{name}: equals says all; leave min and same_as out")
        try:
            found[name] = value_of(bound.equals, {used: found[used] for used in names_in(bound.equals)})
        except FormulaError as error:
            raise AnnotationError(f"symbols.{name}: {error}") from None
    return found


def taken_apart(document: Document, case: dict[str, int]) -> str:
    """Which symbols of one name have different values in ``case``, in words; "" if none. Task Scheduling's objects don't
    tell whether one follows from the other."""
    for symbol in document.symbols:
        base, _, number = symbol.name.rpartition("_")
        if number.isdigit() and base in case and case.get(symbol.name, case[base]) != case[base]:
            return (
                f"{base} and {symbol.name} are taken as independent; if one follows from the other, an annotation "
                f'file says so: [symbols.{symbol.name}] equals = "{base} + 1"'
            )
    return ""
