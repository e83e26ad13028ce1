"""Prints statements as Python source: four spaces, at most `WIDTH` columns, long brackets opened up."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from .syntax import (
    Blank,
    Comment,
    Expression,
    For,
    Function,
    If,
    Line,
    Return,
    Statement,
    Verbatim,
    While,
    With,
)

WIDTH = 110
INDENT = "    "
TAG = re.compile(r"# op ([\w.\-]+)")


def print_source(statements: Sequence[Statement]) -> str:
    """The module's text, ending in one newline."""
    return "\n".join(line.rstrip() for line in _block(statements, "")).rstrip() + "\n"


def op_lines(source: str) -> dict[str, tuple[int, ...]]:
    """The line numbers (from 1) that carry each op's tag ``# op ID``."""
    found: dict[str, list[int]] = {}
    for number, line in enumerate(source.splitlines(), 1):
        for match in TAG.finditer(line):
            found.setdefault(match[1], []).append(number)
    return {op: tuple(lines) for op, lines in found.items()}


def _block(statements: Sequence[Statement], indent: str) -> Iterator[str]:
    for statement in statements:
        yield from _statement(statement, indent)


def _statement(statement: Statement, indent: str) -> Iterator[str]:
    match statement:
        case Line(value, targets, op, note):
            head = "".join(f"{_target(t)} = " for t in targets)
            if isinstance(value, ast.Tuple) and len(value.elts) > 1:
                value = ast.Name(
                    ", ".join(_text(e) for e in value.elts), ast.Load()
                )  # no brackets around a tuple on its own
            yield from _tagged(indent, head, value, "", _tag(op, note))
        case Comment(words):
            yield f"{indent}# {words}"
        case Blank(count):
            yield from [""] * count
        case Verbatim(words):
            yield from (indent + line if line else "" for line in words.splitlines())
        case For(target, iterable, body, note):
            yield from _tagged(indent, f"for {_target(target)} in ", iterable, ":", _tag("", note))
            yield from _body(body, indent)
        case While(test, body, note):
            yield from _tagged(indent, "while ", test, ":", _tag("", note))
            yield from _body(body, indent)
        case With(context, body):
            yield from _tagged(indent, "with ", context, ":", "")
            yield from _body(body, indent)
        case If(arms, note):
            for position, (test, body) in enumerate(arms):
                comment = _tag("", note) if position == 0 else ""
                if test is None:
                    yield f"{indent}else:"
                else:
                    word = "elif " if position else "if "
                    yield from _tagged(indent, word, test, ":", comment)
                yield from _body(body, indent)
        case Function():
            yield from _function(statement, indent)
        case Return(value):
            yield from _tagged(indent, "return ", value, "", "")


def _body(body: Sequence[Statement], indent: str) -> Iterator[str]:
    lines = list(_block(body, indent + INDENT))
    if not any(line.strip() and not line.strip().startswith("#") for line in lines):
        lines.append(f"{indent}{INDENT}pass")
    yield from lines


def _tag(op: str, note: str) -> str:
    if op and note:
        return f"  # op {op}: {note}"
    if op:
        return f"  # op {op}"
    return f"  # {note}" if note else ""


def _target(target: Expression) -> str:
    if isinstance(target, ast.Tuple):
        return ", ".join(ast.unparse(e) for e in target.elts)
    return ast.unparse(target)


def _tagged(indent: str, head: str, value: Expression, tail: str, tag: str) -> Iterator[str]:
    """One statement with its comment behind the first line."""
    lines = _wrapped(value, len(indent) + len(head), len(tail), indent, len(tag))
    first, *rest = lines
    if not rest:
        yield f"{indent}{head}{first}{tail}{tag}"
        return
    yield f"{indent}{head}{first}{tag}"
    yield from rest[:-1]
    yield rest[-1] + tail


def _wrapped(value: Expression, before: int, after: int, indent: str, tag: int = 0) -> list[str]:
    """The lines of ``value``: as one, else with its last call's arguments on a line of their own, else one a line; the items
    of a dictionary are always one a line."""
    flat, inner = _text(value), indent + INDENT
    if before + len(flat) + after + tag <= WIDTH:
        return [flat]
    if isinstance(value, ast.Dict) and value.keys:
        lines = ["{"]
        for key, item in zip(value.keys, value.values, strict=True):
            lead = f"{_text(key)}: "
            first, *rest = _wrapped(item, len(inner) + len(lead), 1, inner)
            lines += [f"{inner}{lead}{first}", *rest]
            lines[-1] += ","
        return [*lines, indent + "}"]
    if not isinstance(value, ast.Call) or not (value.args or value.keywords):
        return [flat]
    opening = f"{_text(value.func)}("
    parts = [*value.args, *value.keywords]
    joined = ", ".join(_part(p) for p in parts)
    if len(inner) + len(joined) <= WIDTH:
        return [opening, inner + joined, indent + ")"]
    lines = [opening]
    for part in parts:
        lead = f"{part.arg}=" if isinstance(part, ast.keyword) and part.arg else ""
        own = part.value if isinstance(part, ast.keyword) else part
        first, *rest = _wrapped(own, len(inner) + len(lead), 1, inner)
        lines += [f"{inner}{lead}{first}", *rest]
        lines[-1] += ","
    return [*lines, indent + ")"]


def _part(part: ast.expr | ast.keyword) -> str:
    return f"{part.arg}={_text(part.value)}" if isinstance(part, ast.keyword) else _text(part)


def _text(value: Expression) -> str:
    """``ast.unparse`` with double quotes, as the formatter likes them."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return '"' + value.value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, ast.Call):
        return f"{_text(value.func)}({', '.join(_part(p) for p in (*value.args, *value.keywords))})"
    if isinstance(value, ast.Subscript):
        inside = value.slice
        items = inside.elts if isinstance(inside, ast.Tuple) and len(inside.elts) > 1 else [inside]
        return f"{_text(value.value)}[{', '.join(_text(i) for i in items)}]"
    if isinstance(value, ast.Tuple):
        comma = "," if len(value.elts) == 1 else ""
        return f"({', '.join(_text(e) for e in value.elts)}{comma})"
    if isinstance(value, ast.Dict):
        return (
            "{"
            + ", ".join(f"{_text(k)}: {_text(v)}" for k, v in zip(value.keys, value.values, strict=True))
            + "}"
        )
    return ast.unparse(value)


def _function(function: Function, indent: str) -> Iterator[str]:
    if function.decorator is not None:
        yield f"{indent}@{_text(function.decorator)}"
    parameters = [f"{n}: {_text(a)}" if a is not None else n for n, a in function.parameters]
    flat = f"{indent}def {function.name}({', '.join(parameters)}):"
    if len(flat) <= WIDTH:
        yield flat
    else:
        yield f"{indent}def {function.name}("
        yield from (f"{indent}{INDENT}{p}," for p in parameters)
        yield f"{indent}):"
    doc = [Verbatim(f'"""{function.doc}"""')] if function.doc else []
    yield from _body((*doc, *function.body), indent)
