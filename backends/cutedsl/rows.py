"""Where rows of operations end in a profile build: those that run straight after each other share readings of the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .fixed import used_names
from .syntax import For, If, Statement, While, With, run


def in_rows(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """``statements`` with calls that end each row of operations: where a loop follows, or the block ends (``op.end_row``);
    and where a branch follows, which goes on with the row's last reading (``op.write_row``)."""
    found: list[Statement] = []
    row = False
    for statement in statements:
        inner = _within(statement)
        if row and inner is not statement:
            found.append(run("op.write_row" if isinstance(statement, If) else "op.end_row"))
            row = False
        found.append(inner)
        row = row or (inner is statement and _has_ops(statement))
    return (*found, *([run("op.end_row")] if row else []))


def _within(statement: Statement) -> Statement:
    """A statement with operations in its blocks, and the rows in them ended; else itself."""
    match statement:
        case For() | While() | With() if _has_ops(statement):
            return replace(statement, body=in_rows(statement.body))
        case If(arms) if _has_ops(statement):
            return replace(statement, arms=tuple((test, in_rows(body)) for test, body in arms))
    return statement


def _has_ops(statement: Statement) -> bool:
    return bool(used_names([statement])[1])
