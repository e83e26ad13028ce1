"""Pieces of Python source: names, literals, expressions, calls that wrap, indented lines."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from .document import Value
from .expressions import Expression, Integer, LoopVariable, Operation, Symbol

WIDTH = 110
BINDS = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}  # infix operators, by how strongly they bind


class Names:
    """Identifiers that are in use; `new` makes one that is not."""

    def __init__(self, outer: Names | None = None) -> None:
        self._outer = outer
        self._used: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._used or (self._outer is not None and name in self._outer)

    def new(self, wanted: str) -> str:
        """``wanted`` as an identifier, changed where it is none or taken."""
        base = re.sub(r"\W", "_", wanted, flags=re.ASCII) or "_"
        if base[0].isdigit() or keyword.iskeyword(base) or hasattr(builtins, base):
            base = f"{base}_" if not base[0].isdigit() else f"_{base}"
        name, count = base, 1
        while name in self:
            count += 1
            name = f"{base}_{count}"
        self._used.add(name)
        return name


class Imports:
    """The names that the source needs from the framework; asking for one imports it."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def __call__(self, name: str) -> str:
        self.used.add(name)
        return name


class Lines:
    """Source lines with an indentation."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 0

    def add(self, text: str = "") -> None:
        """Append ``text``, which may have lines of its own."""
        for line in text.split("\n"):
            self.lines.append("    " * self._depth + line if line else "")

    def add_call(self, head: str, arguments: Iterable[str], tail: str = "") -> None:
        """Append ``head(arguments)tail``, an argument a line if it is long."""
        self.add(call(head, arguments, tail, self.room))

    @property
    def room(self) -> int:
        """Columns left of the present line."""
        return WIDTH - 4 * self._depth

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """``head`` with what is added meanwhile below it; ``pass`` if nothing is."""
        self.add(head)
        self._depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.add("pass")
        self._depth -= 1


def call(head: str, arguments: Iterable[str], tail: str = "", width: int = WIDTH) -> str:
    """``head(arguments)tail`` on one line if it fits."""
    items = list(arguments)
    line = f"{head}({', '.join(items)}){tail}"
    if (len(line) <= width and "\n" not in line) or not items:
        return line
    inner = "".join(f"    {item.replace(chr(10), chr(10) + '    ')},\n" for item in items)
    return f"{head}(\n{inner}){tail}"


def literal(value: Value) -> str:
    """``value`` as Python, with double quotes as the house style has them."""
    if isinstance(value, tuple):
        inner = ", ".join(literal(v) for v in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, str):
        text = repr(str(value))
        return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text
    return repr(value)


def is_keyword(name: str) -> bool:
    """Whether ``name=`` can be written in a call and keeps its letters: Python normalises identifiers (PEP 3131)."""
    return name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name


def keywords(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """``name=text`` for each pair; names that cannot be written so go into one ``**{...}`` at the end."""
    items = list(pairs)
    plain = [f"{k}={v}" for k, v in items if is_keyword(k)]
    odd = ", ".join(f"{literal(k)}: {v}" for k, v in items if not is_keyword(k))
    return [*plain, f"**{{{odd}}}"] if odd else plain


class Expressions:
    """Writes expressions; ``variables`` maps the symbols that have a variable to it."""

    def __init__(self, imports: Imports, variables: dict[Symbol, str]) -> None:
        self.imports = imports
        self.variables = variables

    def __call__(self, value: Integer, loops: Mapping[str, str] = MappingProxyType({})) -> str:
        """``value`` such that Python builds the same tree; ``loops`` maps loop variables to the handles of their loops."""
        return self._inner(value, loops, 0)

    def _inner(self, value: Integer, loops: Mapping[str, str], around: int) -> str:
        """``around``: how strongly the operator binds that ``value`` is a side of."""
        if isinstance(value, Symbol):
            return self.variables.get(value) or self.definition(value)
        if isinstance(value, LoopVariable):
            return loops.get(value.name) or f"{self.imports('LoopVariable')}({literal(value.name)})"
        if not isinstance(value, Operation):
            return repr(value)
        folds = not isinstance(value.left, Expression) and not isinstance(value.right, Expression)
        if not folds and value.operator in BINDS:
            binds = BINDS[value.operator]
            left, right = self._inner(value.left, loops, binds), self._inner(value.right, loops, binds + 1)
            text = f"{left} {value.operator} {right}"
            return f"({text})" if binds < around else text
        if not folds and value.operator == "ceil_div":
            return f"{self.imports('ceil_div')}({self(value.left)}, {self(value.right)})"
        return (
            f"{self.imports('Operation')}({literal(value.operator)}, {self(value.left)}, {self(value.right)})"
        )

    def definition(self, symbol: Symbol) -> str:
        """A call that makes ``symbol``."""
        minimum = [f"min={symbol.min}"] if symbol.min else []
        own = [f"{field}=True" for field in ("per_cta", "per_tile") if getattr(symbol, field)]
        function = "symbol" if symbol.name.isidentifier() else "Symbol"
        return call(self.imports(function), [literal(symbol.name), *minimum, *own])
