"""Python files as syntax trees: what their names stand for, found without running anything."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

# Libraries whose functions are known by name (`instructions`) and not read.
NOT_READ = frozenset({"cutlass", "torch", "numpy", "cuda", "jax", "triton"}) | sys.stdlib_module_names
DEEP = 8  # re-exports and base classes that are followed before giving up
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False)
class Module:
    """One file. ``names``: imported name -> dotted name; ``assigned``: name -> every value that the file gives it;
    ``constants``: what is assigned once, at the top."""

    path: Path
    dotted: str
    tree: ast.Module
    names: dict[str, str] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    assigned: dict[str, list[ast.expr]] = field(default_factory=lambda: defaultdict(list))
    constants: dict[str, ast.expr] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Defined:
    """A function or class with the file that defines it."""

    module: Module
    node: Function | ast.ClassDef


class Unreadable(ValueError):
    """A file that is no Python source; the message is one line."""


class Sources:
    """The files that a script consists of, as far as they are found beside it or on the import path."""

    def __init__(self, script: str | Path, folders: Iterable[str | Path] = ()) -> None:
        path = Path(script).resolve()
        self.folders = [path.parent, *(Path(f) for f in folders)]
        self._modules: dict[Path, Module] = {}
        self._found: dict[str, Module | None] = {}
        self.script = self.read(path)

    @property
    def modules(self) -> list[Module]:
        """The files read so far."""
        return list(self._modules.values())

    def read(self, path: Path) -> Module:
        """The file ``path``. Raises Unreadable."""
        found = self._modules.get(path)
        if found is not None:
            return found
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        except SyntaxError as error:
            raise Unreadable(f"{path}:{error.lineno}: {error.msg}") from None
        except (OSError, ValueError) as error:
            raise Unreadable(f"{path}: cannot be read: {error}") from None
        module = self._modules[path] = Module(path, self._dotted(path), tree)
        _fill(module)
        return module

    # -- names ----------------------------------------------------------------------------------------------------------
    def meaning(self, module: Module, expression: ast.expr) -> Defined | str:
        """What ``a.b.c`` or ``a`` stands for in ``module``: what a file defines, else its dotted name ("" if unknown)."""
        parts = dotted_parts(expression)
        if not parts:
            return ""
        return self.named(module, parts)

    def named(self, module: Module, parts: list[str], depth: int = DEEP) -> Defined | str:
        """`meaning` of a name given by its parts."""
        first, rest = parts[0], parts[1:]
        if not rest and (node := module.functions.get(first) or module.classes.get(first)) is not None:
            return Defined(module, node)
        if first in module.names:
            return self._looked_up(module.names[first].split(".") + rest, depth)
        values = module.assigned.get(first, [])
        if len(values) == 1 and depth and (alias := dotted_parts(values[0])) and alias[0] != first:
            return self.named(module, alias + rest, depth - 1)  # copy = cute.copy
        return ".".join(parts)

    def bases(self, of: Defined) -> Iterator[Defined | str]:
        """The class and its bases, in the order in which methods are looked up (depth first, as with one base each)."""
        todo: list[Defined | str] = [of]
        seen: set[int] = set()
        while todo:
            found = todo.pop(0)
            if isinstance(found, Defined):
                if id(found.node) in seen or not isinstance(found.node, ast.ClassDef):
                    continue
                seen.add(id(found.node))
                todo = [self.meaning(found.module, b) for b in found.node.bases] + todo
            yield found

    def method(self, cls: Defined, name: str) -> Defined | None:
        """The method ``name`` of class ``cls`` or of a base."""
        for base in self.bases(cls):
            if isinstance(base, Defined):
                for node in base.node.body:
                    if isinstance(node, Function) and node.name == name:
                        return Defined(base.module, node)
        return None

    def constant(self, module: Module, name: str, depth: int = DEEP) -> tuple[Module, ast.expr] | None:
        """What ``name`` is given, once and at the top of ``module`` or of the file that it is imported from."""
        if name in module.constants and name not in module.names:
            return module, module.constants[name]
        where, _, imported = module.names.get(name, "").rpartition(".")
        found = self._imported(where) if where and depth else None
        return None if found is None else self.constant(found, imported, depth - 1)

    # -- files ----------------------------------------------------------------------------------------------------------
    def _looked_up(self, parts: list[str], depth: int) -> Defined | str:
        for cut in range(len(parts) - 1, 0, -1):
            module = self._imported(".".join(parts[:cut]))
            if module is not None and depth:
                found = self.named(module, parts[cut:], depth - 1)
                return found or ".".join(parts)
        return ".".join(parts)

    def _imported(self, dotted: str) -> Module | None:
        if dotted not in self._found:
            self._found[dotted] = self._read_dotted(dotted)
        return self._found[dotted]

    def _read_dotted(self, dotted: str) -> Module | None:
        if dotted.partition(".")[0] in NOT_READ:
            return None
        for folder in (*self.folders, *map(Path, filter(None, sys.path))):
            base = folder.joinpath(*dotted.split("."))
            for path in (base.with_suffix(".py"), base / "__init__.py"):
                if path.is_file():
                    try:
                        return self.read(path.resolve())
                    except Unreadable:
                        return None
        return None

    def _dotted(self, path: Path) -> str:
        parts = [] if path.name == "__init__.py" else [path.stem]
        folder = path.parent
        while (folder / "__init__.py").is_file():
            parts.insert(0, folder.name)
            folder = folder.parent
        if folder not in self.folders:
            self.folders.append(folder)  # where absolute imports of this package begin
        return ".".join(parts)


def dotted_parts(expression: ast.expr) -> list[str]:
    """``a.b.c`` as its parts; [] for anything else."""
    parts: list[str] = []
    while isinstance(expression, ast.Attribute):
        parts.insert(0, expression.attr)
        expression = expression.value
    return [expression.id, *parts] if isinstance(expression, ast.Name) else []


def targets(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each (target, value) of an assignment; the targets of an unpacking all get the whole value, or their own part."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value
    if isinstance(node, ast.AugAssign):
        yield node.target, ast.BinOp(node.target, node.op, node.value)
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if not isinstance(target, ast.Tuple | ast.List):
                yield target, node.value
            elif isinstance(node.value, ast.Tuple) and len(node.value.elts) == len(target.elts):
                yield from zip(target.elts, node.value.elts, strict=True)
            else:
                yield from ((t, node.value) for t in target.elts)


def _fill(module: Module) -> None:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                module.names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            prefix = _package(module, node.level, node.module or "")
            for alias in node.names:
                module.names[alias.asname or alias.name] = f"{prefix}.{alias.name}" if prefix else alias.name
        elif isinstance(node, ast.stmt):
            for target, value in targets(node):
                if isinstance(target, ast.Name):
                    module.assigned[target.id].append(value)
    for node in module.tree.body:
        for target, value in targets(node):
            if isinstance(target, ast.Name) and len(module.assigned[target.id]) == 1:
                module.constants[target.id] = value
    for node in _outermost(module.tree.body):
        if isinstance(node, Function):
            module.functions[node.name] = node
        elif isinstance(node, ast.ClassDef):
            module.classes[node.name] = node
    for node in ast.walk(module.tree):  # classes inside functions: found by their names too
        if isinstance(node, ast.ClassDef):
            module.classes.setdefault(node.name, node)


def _outermost(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements at the top, also inside ``if`` and ``try``."""
    for node in body:
        yield node
        for inner in ("body", "orelse", "finalbody"):
            if isinstance(node, ast.If | ast.Try):
                yield from _outermost(getattr(node, inner, []))


def _package(module: Module, level: int, name: str) -> str:
    if not level:
        return name
    parts = module.dotted.split(".") if module.dotted else []
    if module.path.name != "__init__.py":
        parts = parts[:-1]
    parts = parts[: len(parts) - (level - 1)]
    return ".".join([*parts, *([name] if name else [])])
