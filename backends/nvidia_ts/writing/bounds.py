"""Bounds of loops as Task Scheduling has them: numbers, run-time values, and what tasks are asked for in each tile."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from warpdraft.core.document import Document, Loop, Node, Op, Task
from warpdraft.core.expressions import Integer, Operation, Symbol, symbols_of
from warpdraft.core.op_integers import symbols_used
from warpdraft.core.tree import walk

GETTER = "get_domain"  # Task Scheduling's own name


def stated_bounds(document: Document, left_out: list[str]) -> Document:
    """``document`` with loops whose bounds Task Scheduling can be told of."""
    getters = _getters(document)
    tasks = tuple(replace(t, body=_nodes(t.body, t.name, getters, left_out)) for t in document.tasks)
    return replace(document, tasks=tasks)


def bounds(document: Document) -> Iterator[tuple[Task, Integer]]:
    """The bounds of domain loops that are known only at run time."""
    for task in document.tasks:
        for node in walk(task.body):
            if isinstance(node, Loop) and node.kind == "domain":
                yield from ((task, b) for b in (node.start, node.stop, node.step) if symbols_of(b))


def _nodes(
    nodes: Sequence[Node], task: str, getters: Container[str], left_out: list[str]
) -> tuple[Node, ...]:
    """``nodes`` with a symbol for each bound that is computed from symbols: Task Scheduling sees one run-time value."""

    def bound(value: Integer, what: str) -> Integer:
        if isinstance(value, Symbol):
            return _plain_symbol(value, getters, left_out)
        if not isinstance(value, Operation):
            return value
        left_out.append(f"that {task}_{what} is {value}")
        return Symbol(f"{task}_{what}", int(what == "step"))

    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop) and node.kind == "domain":
            start, stop, step = (bound(getattr(node, w), w) for w in ("start", "stop", "step"))
            node = replace(node, start=start, stop=stop, step=step)
        if not isinstance(node, Op):
            node = replace(node, body=_nodes(node.body, task, getters, left_out))
        found.append(node)
    return tuple(found)


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
