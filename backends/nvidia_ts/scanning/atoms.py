"""What an expression of a body stands for: the operation of a copy's atom, a constant, a helper that is called."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from warpdraft.core.document import Engine

from .instructions import operation
from .sources import Defined, Function, Module, Sources, dotted_parts, targets

DEEP = 10  # names that stand for names
CONVERSIONS = ("Int32", "Int64", "Uint32", "Boolean", "int", "bool", "const_expr")


UNKNOWN = ast.Name("")  # stands for a value that is known at run time only


@dataclass
class Scope:
    """The names of a function that is being read: what each may stand for, and where that is to be read."""

    module: Module
    cls: Defined | None = None
    bound: dict[str, list[tuple[ast.expr, Scope]]] = field(default_factory=dict)
    local: dict[str, Function] = field(default_factory=dict)

    def bind(self, name: str, value: ast.expr, scope: Scope | None = None, surely: bool = True) -> None:
        """``name`` stands for ``value``, read in ``scope`` (this one as it is now), or may do so."""
        before = [] if surely else self.bound.get(name, [])
        now = scope or Scope(self.module, self.cls, dict(self.bound), self.local)
        self.bound[name] = [*before, (value, now)]


class Atoms:
    """Answers questions on expressions, by what names are given in the files."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._made_of: dict[tuple[int, str], list[tuple[ast.expr, Scope]]] = {}  # attributes of classes
        self._calls: dict[int, list[ast.Call]] = {}  # of each file

    # -- calls ----------------------------------------------------------------------------------------------------------
    def called(self, function: ast.expr, scope: Scope) -> tuple[Defined, Scope] | str:
        """The helper that is called, with the scope to read it in; else the dotted name of what is called."""
        parts = dotted_parts(function)
        if not parts:
            if isinstance(function, ast.Attribute):
                if isinstance(function.value, ast.Call) and getattr(function.value.func, "id", "") == "super":
                    return self._super(function.attr, scope)
                made = self._made(function.value, scope)
                return f"{made}.{function.attr}"
            return ""
        if len(parts) == 1 and parts[0] in scope.local:
            return Defined(scope.module, scope.local[parts[0]]), Scope(scope.module, None, dict(scope.bound))
        if parts[0] == "self" and scope.cls is not None:
            if len(parts) == 2:
                method = self.sources.method(scope.cls, parts[1])
                return (method, Scope(method.module, scope.cls)) if method else ".".join(parts)
            return f"{self._made(function.value, scope)}.{parts[-1]}"
        if parts[0] in scope.bound and len(parts) > 1:
            return f"{self._made(function.value, scope)}.{parts[-1]}"
        if parts[0] in scope.bound:
            value, inner = scope.bound[parts[0]][-1]
            return self.called(value, inner) if dotted_parts(value) else ".".join(parts)
        found = self.sources.meaning(scope.module, function)
        if isinstance(found, Defined):
            if isinstance(found.node, ast.ClassDef):
                return found.node.name
            return found, Scope(found.module)
        if len(parts) > 1 and (made := self._made(function.value, scope)):
            return f"{made}.{parts[-1]}"
        return found

    def _super(self, name: str, scope: Scope) -> tuple[Defined, Scope] | str:
        bases = list(self.sources.bases(scope.cls))[1:] if scope.cls else []
        for base in bases:
            if isinstance(base, Defined) and (method := self.sources.method(base, name)):
                return method, Scope(method.module, scope.cls)
        return f"super.{name}"

    def _made(self, expression: ast.expr, scope: Scope) -> str:
        """The class (or function) whose call made ``expression``; "" if it is not found."""
        for value, inner in self._values(expression, scope):
            if isinstance(value, ast.Call):
                found = self.sources.meaning(inner.module, value.func)
                name = found.node.name if isinstance(found, Defined) else found
                return name.removesuffix(".create") if name else ""
        found = self.sources.meaning(scope.module, expression)
        return found if isinstance(found, str) else found.node.name

    # -- engines --------------------------------------------------------------------------------------------------------
    def engines(self, call: ast.Call, scope: Scope) -> set[Engine]:
        """The engines that may execute a ``cute.copy`` or ``cute.gemm``."""
        if any(k.arg == "tma_bar_ptr" for k in call.keywords):
            return {Engine.TMA}  # the mbarrier that a bulk load completes on
        atom = (
            call.args[0]
            if call.args
            else next((k.value for k in call.keywords if k.arg in ("atom", "tiled_mma")), None)
        )
        return set() if atom is None else self._operations(atom, scope, DEEP, set())

    def _operations(self, expression: ast.expr, scope: Scope, depth: int, seen: set[int]) -> set[Engine]:
        if not depth or id(expression) in seen:
            return set()
        seen.add(id(expression))
        found: set[Engine] = set()
        for node in ast.walk(expression):
            if isinstance(node, ast.Name | ast.Attribute):
                meaning = self.sources.meaning(scope.module, node)
                engine = operation(meaning) if isinstance(meaning, str) else None
                if engine is not None:
                    found.add(engine)
        if found:
            return found
        for node in _parts(expression):
            for value, inner in self._values(node, scope):
                found |= self._operations(value, inner, depth - 1, seen)
        if not found and isinstance(expression, ast.Call):
            called = self.called(expression.func, scope)
            if isinstance(called, tuple):
                helper, inner = called
                for node in ast.walk(helper.node):
                    if isinstance(node, ast.Return) and node.value is not None:
                        found |= self._operations(node.value, inner, depth - 1, seen)
        return found

    # -- values ---------------------------------------------------------------------------------------------------------
    def _values(self, expression: ast.expr, scope: Scope) -> list[tuple[ast.expr, Scope]]:
        """What a name or an attribute was given, wherever that is."""
        if isinstance(expression, ast.Name):
            if expression.id in scope.bound:
                return scope.bound[expression.id]
            return [(v, Scope(m)) for m in self.sources.modules for v in m.assigned.get(expression.id, [])]
        if isinstance(expression, ast.Attribute) and isinstance(expression.value, ast.Name):
            if expression.value.id == "self" and scope.cls is not None:
                return self._attribute(expression.attr, scope.cls)
        return []

    def _attribute(self, name: str, cls: Defined) -> list[tuple[ast.expr, Scope]]:
        key = id(cls.node), name
        if key not in self._made_of:
            self._made_of[key] = self._assigned(name, cls)
        return self._made_of[key]

    def _assigned(self, name: str, cls: Defined) -> list[tuple[ast.expr, Scope]]:
        found: list[tuple[ast.expr, Scope]] = []
        for base in self.sources.bases(cls):
            if not isinstance(base, Defined):
                continue
            for node in ast.walk(base.node):
                for target, value in targets(node) if isinstance(node, ast.stmt) else ():
                    own = isinstance(target, ast.Attribute) and getattr(target.value, "id", "") == "self"
                    if own and target.attr == name and not _empty(value):
                        found.append((value, Scope(base.module, cls)))
            for node in base.node.body:
                for target, value in targets(node):
                    if isinstance(target, ast.Name) and target.id == name and not _empty(value):
                        found.append((value, Scope(base.module, cls)))
        for module in self.sources.modules:  # ``Class(..., name=value)``
            for node in self._constructors(cls, module):
                found += [(k.value, Scope(module)) for k in node.keywords if k.arg == name]
        return found

    def _constructors(self, cls: Defined, module: Module | None = None) -> list[ast.Call]:
        """The calls that make a ``cls``, in one file or all."""
        modules = self.sources.modules if module is None else [module]
        calls = (c for m in modules for c in self._calls_in(m))
        return [c for c in calls if dotted_parts(c.func)[-1:] == [cls.node.name]]

    def _calls_in(self, module: Module) -> list[ast.Call]:
        if id(module) not in self._calls:
            self._calls[id(module)] = [n for n in ast.walk(module.tree) if isinstance(n, ast.Call)]
        return self._calls[id(module)]

    def constant(self, expression: ast.expr, scope: Scope, depth: int = DEEP) -> Any:
        """The value of ``expression`` if it is a constant of the source; else None."""
        if isinstance(expression, ast.Constant):
            return expression.value
        if not depth:
            return None
        if isinstance(expression, ast.Call) and len(expression.args) == 1 and not expression.keywords:
            parts = dotted_parts(expression.func)
            if parts and parts[-1] in CONVERSIONS:
                return self.constant(expression.args[0], scope, depth - 1)
        if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.Not):
            value = self.constant(expression.operand, scope, depth - 1)
            return None if value is None else not value
        if isinstance(expression, ast.BinOp):
            return _computed(
                expression.op,
                self.constant(expression.left, scope, depth - 1),
                self.constant(expression.right, scope, depth - 1),
            )
        found = [self.constant(v, s, depth - 1) for v, s in self._certain(expression, scope)]
        return found[0] if found and all(f == found[0] and type(f) is type(found[0]) for f in found) else None

    def _certain(self, expression: ast.expr, scope: Scope) -> list[tuple[ast.expr, Scope]]:
        """All that a name or an attribute can stand for; [] where there may be more than the files show."""
        if isinstance(expression, ast.Name):
            if expression.id in scope.bound:
                return scope.bound[expression.id]
            found = self.sources.constant(scope.module, expression.id)
            return [(found[1], Scope(found[0]))] if found else []
        values = self._values(expression, scope) if isinstance(expression, ast.Attribute) else []
        if not values or scope.cls is None:
            return []
        made = self._constructors(scope.cls)
        told = all(not c.args and all(k.arg for k in c.keywords) for c in made)
        return values if made and told else []

    def named_barrier(self, function: ast.expr, scope: Scope) -> tuple[int | None, int | None]:
        """Id and threads of the ``NamedBarrier`` whose method is called (PTX barrier 0 and all threads otherwise)."""
        if not isinstance(function, ast.Attribute):
            return 0, None
        for value, inner in self._values(function.value, scope) or [(function.value, scope)]:
            if isinstance(value, ast.Call) and dotted_parts(value.func)[-1:] == ["NamedBarrier"]:
                given = {k.arg: k.value for k in value.keywords} | dict(
                    zip(("barrier_id", "num_threads"), value.args, strict=False)
                )
                numbers = [
                    self.constant(given[k], inner) if k in given else None
                    for k in ("barrier_id", "num_threads")
                ]
                return numbers[0], numbers[1]
        return (0, None) if function.attr == "sync_threads" else (None, None)


def _parts(expression: ast.expr) -> list[ast.expr]:
    """The names and attributes in ``expression`` that may hold an atom: itself, what the call that made it was given."""
    if isinstance(expression, ast.Name | ast.Attribute):
        return [expression]
    if isinstance(expression, ast.Call):
        own = [*expression.args, *(k.value for k in expression.keywords)]
        made_of = [expression.func.value] if isinstance(expression.func, ast.Attribute) else []
        return [p for part in (*own, *made_of) for p in _parts(part)]
    if isinstance(expression, ast.Subscript):
        return _parts(expression.value)
    if isinstance(expression, ast.IfExp):
        return [*_parts(expression.body), *_parts(expression.orelse)]
    return []


def _empty(value: ast.expr) -> bool:
    """Whether a field's default says nothing: None, or a call that makes a field."""
    if isinstance(value, ast.Constant):
        return value.value is None
    return isinstance(value, ast.Call) and dotted_parts(value.func)[-1:] in (["field"], ["uninitialized"])


def _computed(operator: ast.operator, left: Any, right: Any) -> Any:
    if not isinstance(left, int) or not isinstance(right, int):
        return None
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv() if right:
            return left // right
    return None
