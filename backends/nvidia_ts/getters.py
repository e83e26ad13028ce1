"""Functions that a schedule refers to: when two of them are one value, what they are called, and how small it can be.

A getter (``get_domain``) gives one value in two tasks if it is the same code with the same enclosed values, and the fields
of the task that it reads are the same. Nothing is called: code objects and source text are read.
"""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
from collections.abc import Callable, Hashable
from types import CodeType
from typing import Any

DEPTH = 8  # helpers of helpers that are followed; beyond, all fields count


def identity_of(function: Callable[..., Any], owner: Any = None) -> Hashable:
    """Equal for functions that give one value at one time; ``owner``: the object whose method it is."""
    bound = getattr(function, "__self__", owner)
    plain = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(plain, "__code__", None)
    if code is None:
        return id(function)
    cells = tuple(_value(_content(c)) for c in plain.__closure__ or ())
    defaults = tuple(_value(v) for v in (plain.__defaults__ or ()))
    if bound is None:
        return code, cells, defaults
    fields = _fields_read(code, type(bound), DEPTH)
    names = sorted(vars(bound)) if fields is None else sorted(fields)
    read = tuple((n, _value(_field(bound, n))) for n in names)
    return code, cells, defaults, read


def name_of(function: Callable[..., Any], what: str) -> str:
    """A name for a symbol or predicate: the function's, with its class; for one without a name, what and where it is."""
    plain = getattr(function, "__func__", function)
    name = getattr(plain, "__qualname__", type(plain).__name__).rsplit("<locals>.", 1)[-1]
    return f"{what}_at_line_{plain.__code__.co_firstlineno}" if "<lambda>" in name else name


def least(function: Callable[..., Any], owner: Any = None) -> int:
    """A number that the function never falls below, as its source says: 0 where it does not."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    except (OSError, TypeError, SyntaxError):
        return 0
    body = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)), None)
    if body is None:
        return 0
    returned = [_least(n.value, owner) for n in ast.walk(body) if isinstance(n, ast.Return)]
    return max(0, min(returned)) if returned else 0


def _least(node: ast.expr | None, owner: Any) -> int:
    """What an expression is at least: literal, a plain integer field, max() of such, a conversion of one."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        value = _field(owner, node.attr)
        return value if type(value) is int else 0
    if isinstance(node, ast.IfExp):
        return min(_least(node.body, owner), _least(node.orelse, owner))
    if isinstance(node, ast.Call) and node.args and not node.keywords:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        inner = [_least(a, owner) for a in node.args]
        if called in ("max", "maximum"):
            return max(inner)
        if called in ("min", "minimum"):
            return min(inner)
        if called in ("Int32", "Int64", "Uint32", "int") and len(inner) == 1:
            return inner[0]
    return 0


def _fields_read(code: CodeType, cls: type, depth: int) -> set[str] | None:
    """The attributes of ``self`` that ``code`` reads, through its methods too; None: it may read any."""
    me = code.co_varnames[0] if code.co_argcount else ""
    found: set[str] = set()
    if depth == 0 or (me and me in code.co_cellvars):
        return None
    steps = list(dis.get_instructions(code))
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if step.argval != me or not step.opname.startswith("LOAD_FAST"):
            continue
        if following is not None and following.opname == "STORE_ATTR":
            continue  # what it notes for others
        if following is None or following.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            return None
        found.add(following.argval)
    for name in list(found):
        member = inspect.getattr_static(cls, name, None)
        member = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
        inner = getattr(inspect.unwrap(member), "__code__", None) if callable(member) else None
        if inner is not None:
            below = _fields_read(inner, cls, depth - 1)
            if below is None:
                return None
            found |= below
    return found


def _field(owner: Any, name: str) -> Any:
    try:
        return inspect.getattr_static(owner, name)
    except AttributeError:
        return None


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _value(value: Any) -> Hashable:
    """Plain values by what they are, anything else by which it is."""
    if value is None or isinstance(value, bool | int | float | str | CodeType):
        return type(value), value
    inner = getattr(value, "value", None)
    if type(inner) in (bool, int, float):  # a DSL number, or a member of an enumeration
        return type(value), inner
    if isinstance(value, tuple | list):
        return type(value), tuple(_value(v) for v in value)
    plain = getattr(inspect.unwrap(value), "__code__", None) if callable(value) else None
    return plain if plain is not None else id(value)
