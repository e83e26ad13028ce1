"""What the bodies of works do besides computing: asynchronous copies, group commits and waits, barriers, fences.

The scan is static: it reads syntax trees and runs nothing. It follows methods of the class and functions whose source is
found, with what they are called with. What it cannot decide it says.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from warpdraft.core.document import Engine, OpKind, Source

from .atoms import UNKNOWN, Atoms, Scope
from .instructions import INLINE, Access, Instruction, Raw, Sync, in_ptx, instruction
from .sources import Defined, Function, Sources, dotted_parts, targets

DECORATORS = {"producer_work": "producer", "consumer_work": "consumer"}
DEEPEST = 12  # helpers that call helpers
TEXT = 80  # characters of a call that are shown
ELECTED = ("elect_one", "elect_sync")
TELLING = re.compile(  # a call by such a name that is not followed may matter
    r"copy|gemm|mma|commit|wait|barrier|fence|arrive|tma|bulk|async|sync|acquire|release", re.IGNORECASE
)
HARMLESS = re.compile(
    r"make_|partition|prefetch|retile|layout|_mask$|find_|get_|init_|elect_|is_|has_", re.IGNORECASE
)


@dataclass(frozen=True)
class Seen:
    """One instruction of a body: ``at`` its line, ``via`` the lines that lead there, ``under`` the conditions around it.

    ``count`` is the number of a group wait or the id of a barrier, ``threads`` those of a barrier; None: not a constant.
    ``elected``: one lane executes it. ``looped``: inside a loop of the body.
    """

    what: Access | Sync | Raw
    at: Source
    via: tuple[Source, ...] = ()
    under: tuple[str, ...] = ()
    elected: bool = False
    looped: bool = False
    count: int | None = None
    threads: int | None = None
    text: str = ""


@dataclass(frozen=True)
class Undecided:
    """Something that may matter and that the scan could not decide."""

    at: Source
    why: str


@dataclass
class BodyScan:
    """What the scan found in one work: ``seen`` in the order of the body."""

    cls: str
    work: str
    role: str
    auxiliary: bool
    at: Source
    parameters: tuple[str, ...] = ()
    seen: list[Seen] = field(default_factory=list)
    undecided: list[Undecided] = field(default_factory=list)


def scan(sources: Sources) -> list[BodyScan]:
    """Every work of every class in ``sources``' script, and of the classes that it imports by name."""
    found: list[BodyScan] = []
    module = sources.script
    named = [*module.classes, *(n for n in module.names if n not in module.classes)]
    done: set[int] = set()
    atoms = Atoms(sources)
    for name in named:
        meaning = sources.named(module, [name])
        if (
            isinstance(meaning, Defined)
            and isinstance(meaning.node, ast.ClassDef)
            and id(meaning.node) not in done
        ):
            done.add(id(meaning.node))
            found += _scan_class(atoms, meaning)
    return found


def _scan_class(atoms: Atoms, cls: Defined) -> list[BodyScan]:
    """The works of class ``cls``, its own and those of its bases."""
    sources, found, names = atoms.sources, [], set()
    for base in sources.bases(cls):
        if not isinstance(base, Defined):
            continue
        for node in base.node.body:
            if not isinstance(node, Function) or node.name in names:
                continue
            names.add(node.name)
            role, auxiliary = _work(node)
            if role:
                at = Source(str(base.module.path), node.lineno)
                body = BodyScan(cls.node.name, node.name, role, auxiliary, at, _parameters(node))
                scope = Scope(base.module, cls)
                for name in body.parameters:
                    scope.bind(name, UNKNOWN)
                _Walk(atoms, body).function(Defined(base.module, node), scope)
                found.append(body)
    return found


def _work(node: Function) -> tuple[str, bool]:
    """Role of a work's method ("" for another), and whether it is auxiliary."""
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        parts = dotted_parts(called)
        if parts and parts[-1] in DECORATORS:
            options = decorator.keywords if isinstance(decorator, ast.Call) else []
            auxiliary = any(k.arg == "work_attrs" and "AUXILIARY" in ast.unparse(k.value) for k in options)
            return DECORATORS[parts[-1]], auxiliary
    return "", False


def _parameters(node: Function) -> tuple[str, ...]:
    given = [*node.args.posonlyargs, *node.args.args][2:] + node.args.kwonlyargs
    return tuple(a.arg for a in given)


@dataclass(frozen=True)
class _Around:
    """Where a statement stands; ``surely``: it is executed once whenever its function is called."""

    via: tuple[Source, ...] = ()
    under: tuple[str, ...] = ()
    elected: bool = False
    looped: bool = False
    surely: bool = True


class _Walk:
    """Goes through one body in the order in which it runs."""

    def __init__(self, atoms: Atoms, body: BodyScan) -> None:
        self.atoms, self.body = atoms, body
        self.open: list[int] = []  # functions on the way, against recursion

    def function(self, of: Defined, scope: Scope, around: _Around = _Around()) -> None:
        """The body of a function."""
        if id(of.node) in self.open or len(self.open) >= DEEPEST:
            self.unsure(of.node, scope, f"{of.node.name}() calls itself, or too deeply")
            return
        self.open.append(id(of.node))
        self.block(of.node.body, scope, replace(around, surely=True))
        self.open.pop()

    def block(self, body: list[ast.stmt], scope: Scope, around: _Around) -> None:
        """Statements in order."""
        for node in body:
            if isinstance(node, ast.If):
                self.branch(node, scope, around)
            elif isinstance(node, ast.With | ast.AsyncWith):
                inner = around
                for item in node.items:
                    self.expression(item.context_expr, scope, around)
                    if isinstance(item.context_expr, ast.Call) and _last(item.context_expr.func) in ELECTED:
                        inner = replace(inner, elected=True)
                self.block(node.body, scope, inner)
            elif isinstance(node, ast.For | ast.While | ast.AsyncFor):
                self.expression(node.test if isinstance(node, ast.While) else node.iter, scope, around)
                for name in ast.walk(node.target) if not isinstance(node, ast.While) else ():
                    if isinstance(name, ast.Name):
                        scope.bind(name.id, UNKNOWN)
                self.block(node.body, scope, replace(around, looped=True, surely=False))
                self.block(node.orelse, scope, replace(around, surely=False))
            elif isinstance(node, Function):
                scope.local[node.name] = node
            elif isinstance(node, ast.Try):
                for part in (node.body, *(h.body for h in node.handlers), node.orelse, node.finalbody):
                    self.block(part, scope, replace(around, surely=False))
            else:
                for child in ast.iter_child_nodes(node):
                    self.expression(child, scope, around)
                for target, value in targets(node):
                    if isinstance(target, ast.Name):
                        scope.bind(target.id, value, surely=around.surely)
                    elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Attribute):
                        self.note(Access(Engine.WARP, stores=True), node, scope, around)

    def branch(self, node: ast.If, scope: Scope, around: _Around) -> None:
        """Both sides of an ``if``; of one on a constant, only the side that is taken."""
        self.expression(node.test, scope, around)
        decided = self.atoms.constant(node.test, scope)
        around = replace(around, surely=around.surely and decided is not None)
        test = ast.unparse(node.test)
        elected = _last(node.test.func) in ELECTED if isinstance(node.test, ast.Call) else False
        if decided is None or decided:
            under = around.under if decided or elected else (*around.under, test)
            self.block(node.body, scope, replace(around, under=under, elected=around.elected or elected))
        if decided is None or not decided:
            under = around.under if decided is not None else (*around.under, f"not ({test})")
            self.block(node.orelse, scope, replace(around, under=under))

    def expression(self, node: ast.AST, scope: Scope, around: _Around) -> None:
        """The calls of an expression, innermost first."""
        if isinstance(node, ast.Lambda | ast.expr_context | ast.operator):
            return
        for child in ast.iter_child_nodes(node):
            self.expression(child, scope, around)
        if isinstance(node, ast.Call):
            self.call(node, scope, around)

    # -- calls ----------------------------------------------------------------------------------------------------------
    def call(self, node: ast.Call, scope: Scope, around: _Around) -> None:
        """One call: an instruction, a helper that is followed, or something unknown."""
        called = self.atoms.called(node.func, scope)
        if isinstance(called, tuple):
            target, inner = called
            at = _source(node, scope)
            self.bind(target.node, node, scope, inner)
            self.function(target, inner, replace(around, via=(*around.via, at)))
            return
        last = called.rpartition(".")[2]
        if last in INLINE:
            for known, number in in_ptx(_text_of(node)):
                self.see(known, node, scope, around, number)
            return
        known = instruction(called)
        if known is not None:
            self.see(known, node, scope, around, None)
        elif not called.startswith("cutlass.") and TELLING.search(last) and not HARMLESS.search(last):
            self.unsure(
                node, scope, f"{called or ast.unparse(node.func)}() is not followed: its source was not found"
            )

    def bind(self, target: Function, node: ast.Call, scope: Scope, inner: Scope) -> None:
        """What the parameters of a helper stand for."""
        names = [a.arg for a in (*target.args.posonlyargs, *target.args.args)]
        if inner.cls is not None and names and not _static(target):
            names = names[1:]
        for name, value in zip(names, node.args, strict=False):
            inner.bind(name, value, scope)
        for keyword in node.keywords:
            if keyword.arg:
                inner.bind(keyword.arg, keyword.value, scope)
        given = [*names[: len(node.args)], *(k.arg for k in node.keywords)]
        for name, default in _defaults(target):
            if name not in given:
                inner.bind(name, default, Scope(inner.module, inner.cls))

    def see(
        self, known: Instruction, node: ast.Call, scope: Scope, around: _Around, number: int | None
    ) -> None:
        """Note an instruction, with its engine and numbers as far as they are constants."""
        if isinstance(known, Access) and known.engine is None:
            engines = self.atoms.engines(node, scope)
            if len(engines) != 1:
                why = (
                    "its atom's operation was not found" if not engines else f"its atom may be {_or(engines)}"
                )
                self.unsure(node, scope, f"{ast.unparse(node)[:TEXT]}: {why}")
                return
            known = Access(engines.pop())
            known = replace(known, stores=known.engine is Engine.WARP)
        count, threads = number, None
        if isinstance(known, Sync):
            known = self._kind(known, node, scope)
            if known is None:
                return
            count = self._number(known.count, node, scope) if known.count and number is None else number
            threads = self._number(known.threads, node, scope) if known.threads else None
            if known.kind in (OpKind.BARRIER_SYNC, OpKind.BARRIER_ARRIVE) and not known.count:
                count, threads = self.atoms.named_barrier(node.func, scope)
        elif isinstance(known, Raw):
            self.unsure(node, scope, f"{known.why} ({_last(node.func)})")
        self.note(known, node, scope, around, count, threads)

    def note(
        self,
        what: Instruction,
        node: ast.AST,
        scope: Scope,
        around: _Around,
        count: int | None = None,
        threads: int | None = None,
    ) -> None:
        """Add an instruction to what was seen."""
        text = " ".join(ast.unparse(node).split())[:TEXT]
        place = (_source(node, scope), around.via, around.under, around.elected, around.looped)
        self.body.seen.append(Seen(what, *place, count, threads, text))

    def _kind(self, known: Sync, node: ast.Call, scope: Scope) -> Sync | None:
        """``known`` as its arguments make it."""
        text = ", ".join(ast.unparse(a) for a in (*node.args, *(k.value for k in node.keywords))).lower()
        match _last(node.func):
            case "fence_proxy":
                return known if "async" in text else None
            case "tcgen05_wait":
                return replace(known, kind=OpKind.TCGEN05_WAIT_ST) if "store" in text else known
            case "tcgen05_fence":
                return replace(known, kind=OpKind.TCGEN05_FENCE_AFTER) if "after" in text else known
            case "cp_async_bulk_wait_group":
                read = next((k.value for k in node.keywords if k.arg == "read"), None)
                value = None if read is None else self.atoms.constant(read, scope)
                if read is not None and value is None:
                    self.unsure(
                        node, scope, "whether the wait is for reads only is no constant; taken as such"
                    )
                    value = True
                return replace(known, kind=OpKind.GROUP_WAIT_READ) if value else known
        return known

    def _number(self, where: tuple[int, str], node: ast.Call, scope: Scope) -> int | None:
        place, name = where
        value = next((k.value for k in node.keywords if k.arg == name), None)
        if value is None and place < len(node.args):
            value = node.args[place]
        found = None if value is None else self.atoms.constant(value, scope)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def unsure(self, node: ast.AST, scope: Scope, why: str) -> None:
        """Note something undecided, once a line."""
        found = Undecided(_source(node, scope), why)
        if found not in self.body.undecided:
            self.body.undecided.append(found)


def _source(node: ast.AST, scope: Scope) -> Source:
    return Source(str(scope.module.path), getattr(node, "lineno", 0))


def _last(expression: ast.expr) -> str:
    return expression.attr if isinstance(expression, ast.Attribute) else getattr(expression, "id", "")


def _static(target: Function) -> bool:
    return any(_last(d) == "staticmethod" for d in target.decorator_list)


def _defaults(target: Function) -> Iterator[tuple[str, ast.expr]]:
    plain = [*target.args.posonlyargs, *target.args.args]
    defaults = target.args.defaults
    if defaults:
        yield from ((a.arg, d) for a, d in zip(plain[-len(defaults) :], defaults, strict=True))
    yield from (
        (a.arg, d)
        for a, d in zip(target.args.kwonlyargs, target.args.kw_defaults, strict=True)
        if d is not None
    )


def _text_of(node: ast.Call) -> str:
    texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return "\n".join(texts)


def _or(engines: set[Engine]) -> str:
    return " or ".join(sorted(e.value for e in engines))
