"""Bounds of loops as Task Scheduling has them: numbers, run-time values, and what tasks are asked for in each tile."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace

from warpdraft.core.document import Document, Loop, Node, Op, Task
from warpdraft.core.expressions import Integer, Operation, Symbol, evaluate, symbols_of
from warpdraft.core.op_integers import symbols_used
from warpdraft.core.tree import walk

GETTER = "get_domain"  # Task Scheduling's own name


def stated_bounds(document: Document, left_out: list[str]) -> Document:
    """``document`` with loops whose bounds Task Scheduling can be told of."""
    getters = _getters(document)

    def bound(task: str, value: Integer, what: str) -> Integer:
        if isinstance(value, Symbol):
            return _plain_symbol(value, getters, left_out)
        if not isinstance(value, Operation):
            return value
        left_out.append(f"that {task}_{what} is {value}")
        return Symbol(f"{task}_{what}", int(what == "step"))  # Task Scheduling sees one run-time value

    return _with_bounds(document, bound)


def counted(document: Document) -> Document:
    """``document`` with a number for each value that tasks are asked for in each tile: the least with which their loops run.

    What a script's getters give is not known here; where Task Scheduling gets no numbers it tries one iteration of every
    loop, and a loop that runs once more than another then looks blocked.
    """
    used = {s for _, bound in bounds(document) for s in symbols_of(bound) if s.per_tile}
    numbers = {s.name: max(s.min, 1) for s in used}

    def bound(task: str, value: Integer, what: str) -> Integer:
        found = symbols_of(value)
        try:
            return evaluate(value, numbers) if found and all(s.name in numbers for s in found) else value
        except ArithmeticError:  # WD107 says so
            return value

    left = tuple(s for s in document.symbols if s.name not in numbers)
    return _with_bounds(replace(document, symbols=left), bound)


def bounds(document: Document) -> Iterator[tuple[Task, Integer]]:
    """The bounds of domain loops that are known only at run time."""
    for task in document.tasks:
        for node in walk(task.body):
            if isinstance(node, Loop) and node.kind == "domain":
                yield from ((task, b) for b in (node.start, node.stop, node.step) if symbols_of(b))


def _with_bounds(document: Document, bound: Callable[[str, Integer, str], Integer]) -> Document:
    """``document`` with what ``bound`` makes of the bounds of its domain loops: of a task, a bound, and which it is."""

    def nodes(of: Sequence[Node], task: str) -> tuple[Node, ...]:
        found: list[Node] = []
        for node in of:
            if isinstance(node, Loop) and node.kind == "domain":
                start, stop, step = (bound(task, getattr(node, w), w) for w in ("start", "stop", "step"))
                node = replace(node, start=start, stop=stop, step=step)
            if not isinstance(node, Op):
                node = replace(node, body=nodes(node.body, task))
            found.append(node)
        return tuple(found)

    return replace(document, tasks=tuple(replace(t, body=nodes(t.body, t.name)) for t in document.tasks))


def _plain_symbol(symbol: Symbol, getters: Container[str], left_out: list[str]) -> Symbol:
    """``symbol`` as an import reads it from a run-time value, or from a getter where it is another in each tile."""
    if symbol.per_cta:
        left_out.append(f"that {symbol.name} differs between the CTAs of a cluster")
    name = symbol.name
    if symbol.per_tile and name not in getters:
        name = "".join(w.capitalize() for w in name.split("_")) + f"Task_{GETTER}"
        left_out.append(f"that {name} is called {symbol.name}")
    return replace(symbol, name=name, per_cta=False)


def _getters(document: Document) -> set[str]:
    """The symbols that are called as an import calls what getters give: the second of a class is ..._2, and so on."""
    families: dict[str, list[str]] = defaultdict(list)
    for symbol in (s for t in document.tasks for s in symbols_used(t.body) if s.per_tile):
        family, _ = getter_of(symbol)
        if family and symbol.name not in families[family]:
            families[family].append(symbol.name)
    return {
        name
        for family, names in families.items()
        for place, name in enumerate(names, 1)
        if name == f"{family}_{GETTER}" + (f"_{place}" if place > 1 else "")
    }


def getter_of(symbol: Symbol) -> tuple[str, int]:
    """The class of the tasks whose ``get_domain`` gives ``symbol``, and which of its values that is; "" for no such name."""
    found = re.fullmatch(rf"(\w+)_{GETTER}(?:_(\d+))?", symbol.name)
    return (found[1], int(found[2] or 1)) if found else ("", 1)


def getter_class(symbol: Symbol) -> str:
    """The class that is written for the tasks that ask for ``symbol``."""
    family, place = getter_of(symbol)
    return family if place == 1 else f"{family}{place}"
