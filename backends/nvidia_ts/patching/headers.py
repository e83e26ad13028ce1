"""New text for the ``with`` lines of loops and conditions."""

from __future__ import annotations

import ast
from dataclasses import replace

from warpdraft.core.document import Guard, GuardKind, Loop, Node, Op
from warpdraft.core.python_text import literal

from .matching import CannotPatch, Matched, Script, Statement, header_end


class Headers:
    """Writes ``with`` lines; `rewriting.Rewriter` writes the rest."""

    script: Script
    matched: Matched
    old: dict[str, Node]
    variables: dict[str, str]
    handles: dict[str, str]
    named: set[str]

    def _header_lines(self, statement: Statement, node: Loop | Guard) -> list[str]:
        """The lines of a ``with`` up to its body, with what has changed."""
        text = self.script.lines[statement.first - 1 : header_end(statement.node)]  # type: ignore[arg-type]
        old = self.old[node.id]
        if bare(node) == bare(old) and getattr(node, "var", None) not in self.named:
            return text
        new = self._changed_header(statement, old, node)
        comments = self.script.lines[statement.first - 1 : statement.node.lineno - 1]
        item = statement.node.items[0]  # type: ignore[attr-defined]
        rest = self.script.behind(item.optional_vars or item.context_expr)
        behind = f"  {rest[rest.index('#') :]}" if "#" in rest else ""
        return [*comments, f"{self._indent(statement)}{new}{behind}\n"]

    def _changed_header(self, statement: Statement, old: Loop | Guard, node: Loop | Guard) -> str:
        item = statement.node.items[0]  # type: ignore[attr-defined]
        named = f" as {self.script.source(item.optional_vars)}" if item.optional_vars is not None else ""
        if isinstance(node, Loop) and node.var in self.named:
            named = f" as {self.handles[node.var]}"
        if not isinstance(node, Loop) or not isinstance(old, Loop):
            return f"with {self.header(node)}{named}:"
        if node.var != old.var:
            raise CannotPatch(f"{self._at(statement)}: a loop is renamed in the script by hand")
        arguments = self._bounds(statement, item.context_expr, old, node)
        return f"with {self.script.source(item.context_expr.func)}({', '.join(arguments)}){named}:"

    def _bounds(self, statement: Statement, made: ast.Call, old: Loop, node: Loop) -> list[str]:
        """The arguments of a domain loop; what has changed must stand there as a number."""
        if node.kind != "domain":
            if (node.queue, node.skip_if, node.stop) == (old.queue, old.skip_if, old.stop):
                return [self.script.source(a) for a in (*made.args, *made.keywords)]
            raise CannotPatch(f"{self._at(statement)}: the loop over tiles is changed in the script by hand")
        given = [self.script.source(a) for a in made.args]
        places = {1: ("stop",), 2: ("start", "stop"), 3: ("start", "stop", "step")}[len(given)]
        found = dict(zip(places, given, strict=True))
        for what in ("start", "stop", "step"):
            before, after = getattr(old, what), getattr(node, what)
            if before == after:
                continue
            if what in found and not _is_number(made.args[places.index(what)]):
                raise CannotPatch(
                    f"{self._at(statement)}: {what} is {found[what]}, not a number; change what it stands for by hand"
                )
            if not isinstance(after, int):
                raise CannotPatch(
                    f"{self._at(statement)}: {what} becomes {after}, which the script has no value for"
                )
            found[what] = str(after)
        if "step" in found:
            found.setdefault("start", "0")
        ordered = [found[w] for w in ("start", "stop", "step") if w in found]
        options = [self.script.source(k.value) for k in made.keywords if k.arg != "unroll"]
        if node.unroll is not None:
            options.append(f"unroll={node.unroll}")
        return [*ordered, *options]

    def header(self, node: Loop | Guard) -> str:
        """The call that opens a new block."""
        if isinstance(node, Loop):
            if node.kind != "domain" or not isinstance(node.stop, int):
                raise CannotPatch(f"{self._here()}: a new loop of {node.stop} has no value in the script")
            return f"domain_loop({node.start}, {node.stop}, {node.step})"
        if node.kind in (GuardKind.WHEN_TRUE, GuardKind.WHEN_FALSE):
            if node.token not in self.variables:
                raise CannotPatch(
                    f"{self._here()}: {node.kind.value} tests {node.token or 'nothing'}, which is no variable"
                )
            key = f", key={literal(node.key)}" if node.id not in self.old and "." not in node.key else ""
            return f"{node.kind.value}({self.variables[node.token]}{key})"
        loop = self.handles.get(node.loop)
        if loop is None:
            raise CannotPatch(
                f"{self._here()}: the loop {node.loop} has no name there; write `as {node.loop}` behind it"
            )
        if node.kind is GuardKind.EVERY:
            start = f", start={node.start}" if node.start else ""
            return f"{loop}.every({node.period}{start})"
        return f"{loop}.{node.kind.value}()"

    def _indent(self, statement: Statement) -> str:
        return self.script.indent(statement.node)

    def _at(self, statement: Statement) -> str:
        return self.script.at(statement.node.lineno)

    def _here(self) -> str:
        return self.script.at(self.matched.function.lineno)


def bare(node: Node) -> Node:
    """``node`` without what is in it, and without where it came from."""
    if isinstance(node, Op):
        return replace(
            node, source=None, copy_of="", args=tuple(sorted(node.args, key=lambda a: a[0])), stage=None
        )
    return replace(node, body=(), source=None)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int
