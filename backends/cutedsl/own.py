"""Lowers works with a body of the author's own: its source, as the document has it, becomes a function of the module."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import replace

from warpdraft.core.document import Engine, Token
from warpdraft.core.footprints import engine_of

from .bodies.body import WorkCall
from .errors import LoweringError
from .fixed import IMPORTS
from .syntax import Expression, Line, Statement, expression, text
from .tokens import Fragment, Variable

LEFT_OUT = ("self", "stage_info")  # parameters of the method that the function does not have
KNOWN = {*dir(builtins), *(name for names, _ in IMPORTS for name in names)}


def lower_own(call: WorkCall) -> tuple[Statement, ...]:
    """``fragment = op.own(id, function, arguments, step)``; what is made of a fragment is one, of the same columns."""
    task, op, work = call.task, call.op, call.work
    if engine_of(call.resource, work) is not Engine.WARP:
        raise call.fail(
            f"a body of your own is run by the warps, not by {engine_of(call.resource, work).value}"
        )
    name = task.module.own_body(call.resource, work, lambda wish: function_of(work.code, wish, op.id))
    value = task.operation("own", op, name, *_arguments(call))
    if not op.results:
        return (Line(value, op=op.id),)
    fragments = [v for v in _values(call) if isinstance(v, Fragment)]
    targets = []
    for result in op.results:
        if fragments and result in task.hoisted:
            raise call.fail("a fragment can only be used inside the loop or guard that makes it")
        variable = task.names.new(result) if fragments else task.variable(result)
        made = replace(fragments[0], name=variable) if fragments else Variable(expression(variable))
        task.bind(result, made)
        targets.append(expression(variable))
    return (Line(value, (targets[0] if len(targets) == 1 else expression(tuple(targets)),), op.id),)


def _values(call: WorkCall) -> Iterator[object]:
    return (call.task.token(call.op, name) for name, value in call.op.args if isinstance(value, Token))


def _arguments(call: WorkCall) -> Iterator[Expression]:
    given, missing = dict(call.op.args), ""
    for parameter in call.work.parameters:
        if parameter not in given:
            missing = missing or parameter
        elif missing:
            raise call.fail(f"argument {parameter!r} is given, and {missing!r} before it is not")
        else:
            yield _argument(call, parameter, given[parameter])


def _argument(call: WorkCall, parameter: str, value: object) -> Expression:
    if isinstance(value, Token):
        found = call.task.token(call.op, parameter)
        if isinstance(found, Fragment):
            return expression(found.name)
        if isinstance(found, Variable):
            return found.value
        raise call.fail(
            f"argument {parameter!r} is a view: a body of your own takes fragments, numbers and tensors"
        )
    if isinstance(value, str):
        if any(t.name == value for t in call.task.module.kernel.tensors):
            return expression(call.task.module.plain_tensor(value))
        return text(value)
    return ast.Constant(value)


def function_of(code: str, name: str, op: str) -> str:
    """``code`` (constants, then a method) as a function ``name`` without the resource. Raises LoweringError for what the
    module does not have: other names of the file that the method stands in."""
    try:
        *constants, method = ast.parse(code).body
    except (SyntaxError, ValueError) as error:
        raise LoweringError(f"the body's source cannot be read: {error}", op) from None
    if not isinstance(method, ast.FunctionDef) or not all(isinstance(c, ast.Assign) for c in constants):
        raise LoweringError("the body's source is not constants and then one method", op)
    method.decorator_list = [d for d in method.decorator_list if ast.unparse(d).startswith("cute.")]
    method.args.args = [a for a in method.args.args if a.arg not in LEFT_OUT]
    _check_names(constants, method, op)
    lines = code.splitlines()
    taken = [f"    {ast.unparse(constant)}" for constant in constants]
    documented = ast.get_docstring(method) is not None
    if method.body[0].lineno == method.body[-1].end_lineno == method.lineno:  # all on one line
        body = [f"    {ast.unparse(statement)}" for statement in method.body]
        documented = False
    else:
        first = method.body[0]
        inside = lines[first.lineno - 1 : first.end_lineno] if documented else []
        rest = lines[first.end_lineno if documented else first.lineno - 1 : method.end_lineno]
        taken, body = inside + taken, rest
    head = [f"@{ast.unparse(d)}" for d in method.decorator_list]
    return "\n".join([*head, f"def {name}({ast.unparse(method.args)}):", *taken, *body])


def _check_names(constants: list[ast.stmt], method: ast.FunctionDef, op: str) -> None:
    """Raises LoweringError for a name that neither the function, nor its constants, nor the module has."""
    own = {n.arg for n in ast.walk(method) if isinstance(n, ast.arg)}
    for node in (n for part in (*constants, method) for n in ast.walk(part)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            own |= {(a.asname or a.name).partition(".")[0] for a in node.names}
        elif isinstance(node, ast.FunctionDef):
            own.add(node.name)
    for part in (*method.body, *method.decorator_list):
        for used in (n.id for n in ast.walk(part) if isinstance(n, ast.Name)):
            if used not in own and used not in KNOWN:
                raise LoweringError(
                    f"the body uses {used!r}, which a generated module does not have: constants are copied, and cute, "
                    "cutlass and their usual parts are there; import others inside the body",
                    op,
                )
