"""New text for a schedule function whose task has changed. What has not changed keeps its text, with its comments."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from warpdraft.core.document import Guard, Loop, Node, Op, Token
from warpdraft.core.python_text import call, keywords, literal

from .headers import Headers, bare
from .matching import (
    CannotPatch,
    Matched,
    Script,
    Statement,
    loop_kind,
    method_of,
    visible,
    walk_statements,
)

WIDTH = 100


class Rewriter(Headers):
    """Writes the body of one function anew."""

    def __init__(self, script: Script, matched: Matched, new: Sequence[Node]) -> None:
        self.script, self.matched, self.new = script, matched, visible(new)
        self.old = {n.id: n for n in _walk(visible(matched.task.body))}
        self.now = {n.id: n for n in _walk(self.new)}
        self.variables = dict(matched.variables)
        self.handles = dict(matched.handles)
        self.taken = {n.id for n in ast.walk(matched.function) if isinstance(n, ast.Name)}
        self.named = self._name_loops()
        self.needed = self._needed()
        self.kept = {n.id for n in self.now.values() if isinstance(n, Op) and self._kept(n, self.needed)}
        self.written: set[int] = set()
        outer = script.indent(matched.function)
        self.step = (
            self._indent(matched.body[0]).removeprefix(outer) or " " * 4
        )  # how far blocks are indented

    def lines(self) -> tuple[int, int, list[str]]:
        """The lines from ``first`` to ``last`` of the script, and what stands there from now on."""
        body = self.matched.body
        first, last = body[0].first, body[-1].last
        indent = self._indent(body[0])
        return first, last, self.block(self.new, indent, body)

    def _name_loops(self) -> set[str]:
        """The loops that new conditions speak of and that have no name in the script; they get one."""
        loops = {n.var for n in self.now.values() if isinstance(n, Loop)}
        spoken = {
            g.loop
            for g in self.now.values()
            if isinstance(g, Guard) and (g.id not in self.old or bare(g) != bare(self.old[g.id]))
        }
        named = (spoken & loops) - set(self.handles)
        for loop in sorted(named):
            self.handles[loop] = self._new(loop)
        return named

    # -- what must be written anew --------------------------------------------------------------------------------------
    def _needed(self) -> set[str]:
        """The values that something written anew takes, and that no variable holds."""
        needed: set[str] = set()
        while True:
            more = {
                v.name
                for op in self.now.values()
                if isinstance(op, Op) and not self._kept(op, needed)
                for _, v in op.args
                if isinstance(v, Token) and v.name not in self.variables
            }
            more |= {
                g.token
                for g in self.now.values()
                if isinstance(g, Guard) and g.token and g.token not in self.variables
            }
            if more <= needed:
                return needed
            needed |= more

    def _kept(self, op: Op, needed: set[str]) -> bool:
        """Whether the statement of ``op`` keeps its text: all of its ops are as they were, and follow one another."""
        statement = self.matched.made_by.get(op.id)
        if statement is None or any(not self._same(o) for o in statement.ops):
            return False
        if any(r in needed and r not in self.variables for o in statement.ops for r in o.results):
            return False
        siblings = self._siblings(op.id)
        place = [n.id for n in siblings].index(op.id) - [o.id for o in statement.ops].index(op.id)
        return [n.id for n in siblings[max(place, 0) :][: len(statement.ops)]] == [
            o.id for o in statement.ops
        ]

    def _same(self, old: Op) -> bool:
        new = self.now.get(old.id)
        return isinstance(new, Op) and bare(new) == bare(old)

    def _siblings(self, id: str, nodes: Sequence[Node] | None = None) -> Sequence[Node]:
        nodes = self.new if nodes is None else nodes
        if any(n.id == id for n in nodes):
            return nodes
        for node in nodes:
            if not isinstance(node, Op) and (found := self._siblings(id, visible(node.body))):
                return found
        return ()

    # -- blocks ---------------------------------------------------------------------------------------------------------
    def block(self, nodes: Sequence[Node], indent: str, old: Sequence[Statement]) -> list[str]:
        """The lines of a block; ``old`` are the statements that it had, of which those that make nothing stay."""
        lines: list[str] = []
        for node in nodes:
            here = [s for i in _ids(node) if (s := self.matched.made_by.get(i)) is not None]
            if not here and not isinstance(node, Op) and node.id in self.old:
                here = self._level(node)
            for statement in here[:1]:
                lines += self._others(old, statement, indent)
            lines += self.op(node, indent) if isinstance(node, Op) else self.container(node, indent)
        lines += self._others(old, None, indent)
        return lines or [f"{indent}pass\n"]

    def _others(self, old: Sequence[Statement], before: Statement | None, indent: str) -> list[str]:
        """The statements of a block in front of ``before`` that make nothing and are not written yet."""
        chain = [] if before is None else [before, *_parents(before)]
        end = next((i for i, s in enumerate(old) if s in chain), len(old) if before is None else 0)
        lines: list[str] = []
        for statement in old[:end]:
            if statement.other and id(statement) not in self.written:
                self.written.add(id(statement))
                text = self.script.lines[statement.first - 1 : statement.last]
                lines += _moved(text, self._indent(statement), indent)
        return lines

    def container(self, node: Loop | Guard, indent: str) -> list[str]:
        """A loop or a condition with what is in it, as the blocks that it was made by."""
        lines: list[str] = []
        inner = visible(node.body)
        for statement, members in self._by_block(node, inner):
            if statement is None:
                lines += [
                    f"{indent}with {self.header(node)}:\n",
                    *self.block(members, indent + self.step, ()),
                ]
                continue
            self.written.add(id(statement))
            deeper = self._indent(statement.body[0]) if statement.body else indent + self.step
            own = self._indent(statement)
            header = self._header_lines(statement, node)
            body = self.block(members, indent + deeper[len(own) :], statement.body)
            lines += [*_moved(header, own, indent), *body]
        return lines

    def _by_block(
        self, node: Loop | Guard, inner: Sequence[Node]
    ) -> list[tuple[Statement | None, list[Node]]]:
        """The members of ``node`` by the ``with`` that they stood in, in order."""
        if node.id not in self.old:
            return [(None, list(inner))]
        level = self._level(node)
        runs: list[tuple[Statement | None, list[Node]]] = []
        for member in inner:
            found = next(
                (s for s in (self._with_of(i, node, level) for i in _ids(member)) if s is not None), None
            )
            if found is None and runs:
                found = runs[-1][0]
            if not runs or runs[-1][0] is not found:
                runs.append((found, []))
            runs[-1][1].append(member)
        if len(runs) > 1 and runs[0][0] is None:  # new members in front belong to the first block
            new = runs.pop(0)[1]
            runs[0][1][:0] = new
        return runs or [(level[0] if level else None, [])]

    def _level(self, node: Loop | Guard) -> list[Statement]:
        """The ``with`` statements that made ``node`` in the script."""
        old = self.old[node.id]
        ids = {o.id for o in _ops(old)}
        found: list[Statement] = []
        for statement in walk_statements(self.matched.body):
            if not statement.block or bool(loop_kind(statement)) is not isinstance(old, Loop):
                continue
            if isinstance(old, Loop) and loop_kind(statement) != old.kind:
                continue
            own = {o.id for s in walk_statements(statement.body) for o in s.ops}
            if isinstance(old, Loop) and not ids:
                found.append(statement)
            elif own and own <= ids and not any(s in found for s in _parents(statement)):
                found.append(statement)
        return found

    def _with_of(self, id: str, node: Loop | Guard, level: Sequence[Statement]) -> Statement | None:
        """Which of the ``with`` statements of ``node`` the op ``id`` stood in."""
        statement = self.matched.made_by.get(id)
        around = _parents(statement) if statement is not None else []
        return next((s for s in level if s in around), None)

    # -- ops ------------------------------------------------------------------------------------------------------------
    def op(self, op: Op, indent: str) -> list[str]:
        """The statement of one op: the old text where it is as before, else a call of its own."""
        statement = self.matched.made_by.get(op.id)
        if statement is not None and op.id in self.kept:
            if id(statement) in self.written:
                return []
            self.written.add(id(statement))
            text = self.script.lines[statement.first - 1 : statement.last]
            return _moved(text, self._indent(statement), indent)
        comments: list[str] = []
        if statement is not None and id(statement) not in self.written:
            self.written.add(id(statement))
            above = self.script.lines[statement.first - 1 : statement.node.lineno - 1]
            comments = _moved(above, self._indent(statement), indent)
        return [*comments, *_indented(self.call(op, statement), indent)]

    def call(self, op: Op, statement: Statement | None) -> str:
        """The text of a call."""
        if op.target not in self.matched.objects:
            raise CannotPatch(
                f"{self._here()}: {self.matched.function.name}() is not given {op.target}; add it to its parameters by hand"
            )
        given = [(name, self.value(op, name, value)) for name, value in op.args if self._said(op, name)]
        taken = self._taken(op)
        assigned = f"{', '.join(taken)} = " if taken else ""
        tail = self._comment(statement) if statement is not None and len(statement.ops) == 1 else ""
        return call(
            f"{assigned}{self.matched.objects[op.target]}.{method_of(op)}", keywords(given), tail, WIDTH
        )

    def _said(self, op: Op, name: str) -> bool:
        """Whether an argument is to be written: all but defaults that the script did not write either."""
        old, statement = self.old.get(op.id), self.matched.made_by.get(op.id)
        if not isinstance(old, Op) or statement is None or dict(old.args).get(name) != dict(op.args)[name]:
            return True
        made = statement.calls[[o.id for o in statement.ops].index(op.id)]
        return (
            isinstance(dict(op.args)[name], Token)
            or any(k.arg == name for k in made.keywords)
            or bool(made.args)
        )

    def value(self, op: Op, name: str, value) -> str:
        """An argument: as the script wrote it, where it is the same."""
        old, statement = self.old.get(op.id), self.matched.made_by.get(op.id)
        if isinstance(old, Op) and statement is not None and dict(old.args).get(name, value) == value:
            made = statement.calls[[o.id for o in statement.ops].index(op.id)]
            written = next((k.value for k in made.keywords if k.arg == name), None)
            if written is not None and not isinstance(written, ast.Call):
                return self.script.source(written)
        if not isinstance(value, Token):
            return literal(value)
        if value.name not in self.variables:
            raise CannotPatch(f"{self._here()}: {op.id} takes {value.name}, which nothing before it returns")
        return self.variables[value.name]

    def _taken(self, op: Op) -> list[str]:
        if not op.results or not any(r in self.needed or r in self.variables for r in op.results):
            return []
        for result in op.results:
            if result not in self.variables:
                self.variables[result] = self._new(result)
        return [self.variables[r] for r in op.results]

    def _new(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self.taken:
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name)
        return name

    # -- text -----------------------------------------------------------------------------------------------------------
    def _comment(self, statement: Statement) -> str:
        """The comment behind a statement."""
        rest = self.script.behind(statement.node)
        return f"  {rest.strip()}" if rest.strip().startswith("#") else ""


def _parents(statement: Statement) -> list[Statement]:
    found: list[Statement] = []
    above = statement.parent
    while above is not None:
        found.append(above)
        above = above.parent
    return found


def _walk(nodes: Sequence[Node]):
    for node in nodes:
        yield node
        if not isinstance(node, Op):
            yield from _walk(visible(node.body))


def _ops(node: Node):
    return (n for n in _walk([node]) if isinstance(n, Op))


def _ids(node: Node) -> list[str]:
    return [o.id for o in _ops(node)]


def _moved(lines: Sequence[str], old: str, new: str) -> list[str]:
    """``lines`` at another depth."""
    if old == new:
        return list(lines)
    return [new + line[len(old) :] if line.startswith(old) and line.strip() else line for line in lines]


def _indented(text: str, indent: str) -> list[str]:
    return [f"{indent}{line}\n" if line else "\n" for line in text.split("\n")]
