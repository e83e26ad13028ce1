"""Which statement of a script makes which node of its document: by the lines that the import has noted."""

from __future__ import annotations

import ast
import io
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from warpdraft.core.document import Guard, Loop, Node, Op, OpKind, Task

from ..writing.bodies import ELECTIONS, SYNC_OPS

LOOPS = {"domain_loop": "domain", "work_tile_loop": "tile"}
HOOKS = ("consumer_work", "producer_work", "consumer_aux_work", "producer_aux_work")


class CannotPatch(ValueError):
    """A change that cannot be made to the script; the message is one line that names the script's line."""


@dataclass(eq=False)
class Statement:
    """A statement of a schedule function: it makes ops, or is a ``with`` that makes a loop or a condition around some, or
    neither (a docstring, a constant).

    Its text is the lines ``first`` to ``last``, with the comments above it; a ``with`` ends with its ``body``. ``calls`` are
    the calls that make ops, in the order in which they run, and ``ops`` what they make.
    """

    node: ast.stmt
    first: int
    last: int
    calls: list[ast.Call] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)
    parent: Statement | None = None

    @property
    def block(self) -> bool:
        """Whether it is a ``with``."""
        return isinstance(self.node, ast.With)

    @property
    def other(self) -> bool:
        """Whether it makes nothing."""
        return not self.calls and not self.block


@dataclass(eq=False)
class Matched:
    """One schedule function and what a task has from it."""

    function: ast.FunctionDef
    task: Task
    body: list[Statement]
    made_by: dict[str, Statement] = field(default_factory=dict)  # op id -> statement
    objects: dict[str, str] = field(default_factory=dict)  # resource -> how the function calls it
    variables: dict[str, str] = field(default_factory=dict)  # value -> variable
    handles: dict[str, str] = field(default_factory=dict)  # loop -> variable


class Script:
    """A script's text and tree."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.lines = list(io.StringIO(text, newline=""))  # as Python counts them: a form feed ends none
        try:
            self.tree = ast.parse(text.removeprefix("\ufeff"), path)
        except SyntaxError as error:
            raise CannotPatch(f"{path}:{error.lineno}: {error.msg}") from None
        self.functions = [
            n
            for n in ast.walk(self.tree)
            if isinstance(n, ast.FunctionDef) and any(called(d) == "schedule" for d in n.decorator_list)
        ]

    def at(self, line: int) -> str:
        """ "gemm.py:12"."""
        return f"{self.path}:{line}"

    def indent(self, node: ast.stmt | ast.expr) -> str:
        """What stands in front of ``node`` in its line."""
        return self.lines[node.lineno - 1].encode()[: node.col_offset].decode()

    def behind(self, node: ast.stmt | ast.expr) -> str:
        """What stands behind ``node`` in its last line."""
        line = self.lines[(node.end_lineno or node.lineno) - 1]
        return line.encode()[node.end_col_offset :].decode().rstrip()

    def source(self, node: ast.AST) -> str:
        """The text of ``node``."""
        return ast.get_source_segment(self.text, node) or ast.unparse(node)

    def function_of(self, task: Task) -> ast.FunctionDef:
        """The schedule function that makes all ops of ``task``. Raises CannotPatch."""
        found: ast.FunctionDef | None = None
        for op in visible_ops(task.body):
            if op.source is None:
                raise CannotPatch(
                    f"{op.id}: the import has not noted the line that makes it; import the script again"
                )
            inside = [f for f in self.functions if f.lineno <= op.source.line <= (f.end_lineno or 0)]
            if not same_file(op.source.file, self.path) or not inside:
                raise CannotPatch(
                    f"{op.source}: {op.id} is made outside the schedule functions of {self.path}, by a function that "
                    "they call; change it there by hand"
                )
            function = max(inside, key=lambda f: f.lineno)
            if found is not None and function is not found:
                raise CannotPatch(
                    f"{self.at(function.lineno)}: {task.name} is made by {found.name}() and {function.name}(); "
                    "change them by hand"
                )
            found = function
        if found is None:
            raise CannotPatch(f"{task.name}: it has no ops, so its schedule function is not known")
        return found

    def match(self, task: Task) -> Matched:
        """The statements of ``task``'s function, with the ops that each makes. Raises CannotPatch."""
        function = self.function_of(task)
        lines: dict[int, list[Op]] = defaultdict(list)
        for op in visible_ops(task.body):
            lines[op.source.line].append(op)  # type: ignore[union-attr]
        matched = Matched(function, task, [])
        above = function.body[0].lineno - 1
        matched.body = self._statements(function.body, above, lines, None, matched)
        left = [op for ops in lines.values() for op in ops]
        if left:
            op = left[0]
            raise CannotPatch(
                f"{op.source}: {op.id} is made by something else than a call in its place (a loop, or a function that is "
                "called): change it by hand"
            )
        self._loops(matched)
        return matched

    def _statements(
        self,
        body: Sequence[ast.stmt],
        above: int,
        lines: dict[int, list[Op]],
        parent: Statement | None,
        matched: Matched,
    ) -> list[Statement]:
        """The statements of a block; comments between them belong to the next one."""
        found: list[Statement] = []
        starts = [n.lineno for n in body]
        for node in body:
            if node.lineno <= above or starts.count(node.lineno) > 1:
                raise CannotPatch(
                    f"{self.at(node.lineno)}: two statements in one line, which is not rewritten; write a line for each"
                )
            made = Statement(node, above + 1, node.end_lineno or node.lineno, parent=parent)
            if isinstance(node, ast.With):
                self._one_call(node, matched)
                made.body = self._statements(node.body, header_end(node), lines, made, matched)
            elif isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign):
                self._calls(made, lines, matched)
            elif any(lines.get(n) for n in range(node.lineno, made.last + 1)):
                raise CannotPatch(
                    f"{self.at(node.lineno)}: ops are made in {_kind(node)}, which cannot be rewritten; change "
                    f"{matched.function.name}() by hand"
                )
            found.append(made)
            above = made.last
        return found

    def _calls(self, made: Statement, lines: dict[int, list[Op]], matched: Matched) -> None:
        """The calls of one statement that make ops."""
        for call in _in_order(made.node):
            if not isinstance(call.func, ast.Attribute):
                continue
            for line in range(call.lineno, (call.end_lineno or call.lineno) + 1):
                ops = lines.get(line, [])
                if ops and method_of(ops[0]) in (call.func.attr, *_hook(ops[0], call.func.attr)):
                    op = ops.pop(0)
                    if not ops:
                        del lines[line]
                    made.calls.append(call)
                    made.ops.append(op)
                    matched.made_by[op.id] = made
                    self._object(op, call, matched)
                    break
        if len(made.ops) == 1 and made.calls[0] is getattr(made.node, "value", None):
            self._variables(made, matched)
        if made.calls and any(lines.get(n) for n in range(made.node.lineno, made.last + 1)):
            raise CannotPatch(
                f"{self.at(made.node.lineno)}: this line makes more ops than it has calls; change "
                f"{matched.function.name}() by hand"
            )

    def _object(self, op: Op, call: ast.Call, matched: Matched) -> None:
        name = self.source(call.func.value)  # type: ignore[attr-defined]
        if matched.objects.setdefault(op.target, name) != name:
            raise CannotPatch(
                f"{self.at(call.lineno)}: {op.target} is called {matched.objects[op.target]} and {name} in "
                f"{matched.function.name}(); change it by hand"
            )

    def _variables(self, made: Statement, matched: Matched) -> None:
        """Which variables take the results."""
        targets = getattr(made.node, "targets", []) or [getattr(made.node, "target", None)]
        target = targets[0]
        names = (
            target.elts
            if isinstance(target, ast.Tuple | ast.List)
            else [target]
            if target is not None
            else []
        )
        (op,) = made.ops
        if len(names) == len(op.results) and all(isinstance(n, ast.Name) for n in names):
            matched.variables |= dict(zip(op.results, [n.id for n in names], strict=True))  # type: ignore[union-attr]

    def _one_call(self, node: ast.With, matched: Matched) -> None:
        if len(node.items) != 1 or not isinstance(node.items[0].context_expr, ast.Call):
            raise CannotPatch(
                f"{self.at(node.lineno)}: a with of several or of no call; change {matched.function.name}() by hand"
            )

    def _loops(self, matched: Matched) -> None:
        """What the loops are called in the function."""
        for loop in loops_of(matched.task.body):
            for statement in walk_statements(matched.body):
                if statement.block and loop_kind(statement) == loop.kind:
                    variable = statement.node.items[0].optional_vars  # type: ignore[attr-defined]
                    if isinstance(variable, ast.Name):
                        matched.handles[loop.var] = variable.id


def header_end(node: ast.With) -> int:
    """The last line of a ``with``'s own, before its body."""
    item = node.items[0]
    return max(item.context_expr.end_lineno or 0, getattr(item.optional_vars, "end_lineno", None) or 0)


def walk_statements(body: Sequence[Statement]) -> Iterator[Statement]:
    """All statements, the blocks before what is in them."""
    for statement in body:
        yield statement
        yield from walk_statements(statement.body)


def loop_kind(statement: Statement) -> str:
    """ "domain" or "tile" of a ``with`` that opens a loop, else ""."""
    return LOOPS.get(called(statement.node.items[0].context_expr), "")  # type: ignore[attr-defined]


def visible(nodes: Sequence[Node]) -> list[Node]:
    """The nodes that a schedule of Task Scheduling has: without what bodies do and what the run time adds."""
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Op):
            if not node.implicit and node.kind not in SYNC_OPS:
                found.append(node)
        elif isinstance(node, Guard) and node.kind in ELECTIONS:
            found += visible(node.body)
        elif isinstance(node, Loop) or visible(node.body):
            found.append(node)
    return found


def visible_ops(nodes: Sequence[Node]) -> Iterator[Op]:
    """The ops among them."""
    for node in visible(nodes):
        if isinstance(node, Op):
            yield node
        else:
            yield from visible_ops(node.body)


def loops_of(nodes: Sequence[Node]) -> Iterator[Loop]:
    """All loops."""
    for node in nodes:
        if isinstance(node, Loop):
            yield node
        if not isinstance(node, Op):
            yield from loops_of(node.body)


def method_of(op: Op) -> str:
    """The method that makes ``op``."""
    return op.work if op.kind is OpKind.WORK else op.kind.value


def same_file(one: str, other: str) -> bool:
    """Whether two paths name one file."""
    from pathlib import Path

    return Path(one).resolve() == Path(other).resolve()


def _hook(op: Op, attribute: str) -> tuple[str, ...]:
    return (attribute,) if op.kind is OpKind.WORK and op.work in HOOKS and attribute in HOOKS else ()


def called(expression: ast.expr) -> str:
    """The last name of what is called, or of a name itself."""
    function = expression.func if isinstance(expression, ast.Call) else expression
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _in_order(node: ast.AST) -> Iterator[ast.Call]:
    """Calls in the order in which they run: arguments first. Bodies of lambdas and comprehensions run at other times."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            yield from _in_order(child)
    if isinstance(node, ast.Call):
        yield node


def _kind(node: ast.stmt) -> str:
    names = {"For": "a for loop", "While": "a while loop", "If": "an if", "FunctionDef": "a function inside"}
    return names.get(type(node).__name__, f"a {type(node).__name__.lower()} statement")
