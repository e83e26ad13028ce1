"""Copies the parts of `prelude`, `selfcheck` and `references` that a module uses, as text.

A build other than the plain one has a file of its own ("watchdog", "profile", "jitter"), whose definitions take the place of
the others'.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from .syntax import Blank, Expression, For, Function, If, Line, Return, Statement, Verbatim, While, With

IMPORTS = (
    (("argparse",), "import argparse"),
    (("functools",), "import functools"),
    (("itertools",), "import itertools"),
    (("json",), "import json"),
    (("math",), "import math"),
    (("os",), "import os"),
    (("sys",), "import sys"),
    (("tempfile",), "import tempfile"),
    (("warnings",), "import warnings"),
    (("dataclass",), "from dataclasses import dataclass"),
    ((), ""),
    (("cuda",), "import cuda.bindings.driver as cuda"),
    (("cutlass",), "import cutlass"),
    (("Int32", "Int64", "Uint32", "cute"), "from cutlass import {}"),
    (("OperandMajorMode", "cpasync", "tcgen05", "warp", "warpgroup"), "from cutlass.cute.nvgpu import {}"),
    (("PipelineUserType", "make_pipeline_state"), "from cutlass.pipeline import {}"),
)

PRELUDES = ("prelude", "prelude_sm100")
FILES = (*PRELUDES, "selfcheck", "references", "watchdog", "profile", "jitter")
WRAPPERS = {
    "profile": "stamped",
    "jitter": "delayed",
}  # the decorator that a build puts on every operation
UNDELAYED = {"arm"}  # belongs to the operation before it


@cache
def _source(name: str) -> tuple[str, ast.Module]:
    text = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    return text, ast.parse(text)


# Variables that the lowering itself writes into every kernel and its launch.
VARIABLES = frozenset(
    "barriers block blocks op rank records seed smem sms stage started stream tile_count turns warp_idx".split()
)


@cache
def reserved() -> frozenset[str]:
    """Every name that the fixed parts define or import, and `VARIABLES`."""
    names: set[str] = set(VARIABLES)
    for file in FILES:
        for node in _source(file)[1].body:
            if isinstance(node, ast.Assign):
                names |= {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    return frozenset(names.union(*(_defined(file) for file in FILES), *(wanted for wanted, _ in IMPORTS)))


def functions(file: str, build: str = "") -> tuple[str, ...]:
    """The functions and classes at the top level of ``file``, then those that only ``build`` has."""
    own = _defined(file)
    return (*own, *(name for name in (_defined(build) if build else ()) if name not in own))


def _defined(file: str) -> tuple[str, ...]:
    return tuple(n.name for n in _source(file)[1].body if isinstance(n, ast.FunctionDef | ast.ClassDef))


def definition(file: str, name: str, build: str = "") -> str:
    """The text of a function or class, its decorators included; that of ``build`` where it has one."""
    source = build if build and name in _defined(build) else file
    text, tree = _source(source)
    return _segment(text, next(n for n in tree.body if getattr(n, "name", "") == name))


def assignment(file: str, name: str) -> str:
    """The text of the assignment to ``name`` at the top level of ``file``."""
    text, tree = _source(file)
    found = next(
        n for n in tree.body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == name
    )
    return ast.get_source_segment(text, found) or ""


def operations(used: set[str], build: str = "") -> str:
    """The class of operations with only the methods ``used``, and what else ``build`` puts into it."""
    every = {m.name: _segment(text, m) for text, ops in map(_operations, PRELUDES) for m in _methods(ops)}
    methods = {name: source for name, source in every.items() if name in used}
    text, ops = _operations(PRELUDES[0])
    if build in WRAPPERS:
        wrapper, bare = f"    @{WRAPPERS[build]}\n", UNDELAYED if build == "jitter" else ()
        methods = {n: source if n in bare else wrapper + source for n, source in methods.items()}
    if build:
        text, ops = _operations(build)
        own = {m.name: _segment(text, m) for m in _methods(ops)}
        extra = own.keys() - every.keys()
        methods |= {name: source for name, source in own.items() if name in used or name in extra}
    first = _methods(ops)[0]
    start = min([first.lineno, *(d.lineno for d in first.decorator_list)])
    head = text.splitlines()[ops.decorator_list[0].lineno - 1 : start - 1]
    while head[-1].strip() == "" or head[-1].strip().startswith("#"):
        head.pop()
    return "\n\n".join(["\n".join(head), *methods.values()])


def _operations(file: str) -> tuple[str, ast.ClassDef]:
    text, tree = _source(file)
    return text, next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Ops")


def _methods(ops: ast.ClassDef) -> list[ast.FunctionDef]:
    return [m for m in ops.body if isinstance(m, ast.FunctionDef)]


def _segment(text: str, node: ast.FunctionDef | ast.ClassDef) -> str:
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno])


def used_names(statements: Sequence[Statement]) -> tuple[set[str], set[str]]:
    """The plain names that statements use, and the methods of ``op`` that they call."""
    names: set[str] = set()
    methods: set[str] = set()
    for node in (n for e in _expressions(statements) for n in ast.walk(e)):
        if isinstance(node, ast.Name):
            names.add(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "op":
            methods.add(node.attr)
    return names, methods


def names_in(text: str) -> set[str]:
    """The plain names in Python text."""
    return {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}


def _expressions(statements: Sequence[Statement]) -> Iterator[Expression]:
    for statement in statements:
        match statement:
            case Line(value, targets):
                yield value
                yield from targets
            case Return(value):
                yield value
            case For(target, iterable, body):
                yield from (target, iterable)
                yield from _expressions(body)
            case While(test, body):
                yield test
                yield from _expressions(body)
            case If(arms):
                for test, body in arms:
                    if test is not None:
                        yield test
                    yield from _expressions(body)
            case With(context, body):
                yield context
                yield from _expressions(body)
            case Function(_, parameters, body, decorator):
                yield from (a for _, a in parameters if a is not None)
                if decorator is not None:
                    yield decorator
                yield from _expressions(body)


def imports(names: set[str]) -> tuple[Statement, ...]:
    """The import lines for ``names``, in two blocks as linters sort them."""
    lines: list[Statement] = []
    for wanted, template in IMPORTS:
        present = sorted((w for w in wanted if w in names), key=lambda w: (not w[0].isupper(), w))
        if present:
            lines.append(Verbatim(template.format(", ".join(present))))
        elif not wanted:
            lines.append(Blank())
    return tuple(lines)
