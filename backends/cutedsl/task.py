"""Lowers one task: its nodes become statements in schedule order, and what they need becomes the task's set-up."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from warpdraft.core.cursors import CLOSES, OPENS, opening_cursor, pipeline_ops
from warpdraft.core.document import Document, Op, Resource, Space, Task, Token
from warpdraft.core.expressions import Integer
from warpdraft.core.op_integers import chosen
from warpdraft.core.tree import find_resource

from .clusters import Sets
from .errors import LoweringError
from .module import Module
from .names import Names
from .syntax import Expression, Operand, Statement, assign, attribute, binary, call, expression, index, text
from .tokens import Fragment, StageView, TokenValue, Variable, hoisted, used
from .values import divides_differences

PRODUCER, CONSUMER = "Producer", "Consumer"


@dataclass
class Frame:
    """A run-time loop around the statements being made. ``index`` counts its iterations from 0, ``value`` is what the
    schedule's variable is; ``prologue`` holds statements that bodies put at the start of each iteration."""

    kind: str
    var: str
    queue: str
    index: str
    value: Expression
    trips: Expression
    step: Expression
    prologue: list[Statement] = field(default_factory=list)
    known: dict[object, tuple[str, ...]] = field(default_factory=dict)


class TaskBuilder:
    """State while one task is lowered."""

    def __init__(self, module: Module, task: Task) -> None:
        self.module, self.task = module, task
        self.names: Names = module.names.child()
        self.copies: list[
            tuple[tuple, Statement]
        ] = []  # partitions of bulk copies, by the order of their tensors
        self.set_up: list[Statement] = []
        self.state: list[Statement] = []  # set-up lines of what the schedule moves: cursors, the work tile
        self.reads: list[tuple[str, Op, Statement]] = []  # of tensor memory's address: target, for which op
        self.loops: list[Frame] = []
        self.warp: int | None = None  # the elected warp, where one is
        self.lane = False  # whether one lane was elected
        self.ranked = False  # whether one CTA of the cluster was
        # where another warp works: the sides of pipelines whose cursors the others move past its ops
        self.idle: frozenset[tuple[str, str]] | None = None
        self.tokens: dict[str, TokenValue] = {}
        self.used = used(task)
        self.hoisted = hoisted(task)
        self.ops = pipeline_ops(task)
        self._known: dict[object, object] = {}
        self._variables: dict[str, str] = {}

    @property
    def document(self) -> Document:
        """The document that is lowered."""
        return self.module.document

    # -- look-ups
    def resource(self, op: Op) -> Resource:
        """The resource that ``op`` targets."""
        found = find_resource(self.document, op.target)
        if found is None:
            raise LoweringError(f"there is no resource {op.target!r}", op.id)
        return found

    @property
    def alone(self) -> bool:
        """Whether only one warp of the task gets here."""
        return self.warp is not None or self.task.num_warps == 1

    @property
    def step(self) -> Expression:
        """How often the current place was reached before in this warp."""
        return self.loops[-1].step if self.loops else expression(0)

    def operation(self, method: str, op: Op, *arguments: Operand) -> Expression:
        """The call of one of the prelude's operations."""
        return call(f"op.{method}", text(op.id), *arguments, self.step)

    def opening(self) -> list[Statement]:
        """The task's set-up, in an order that does not depend on the order of its ops."""
        copies = [line for _, line in sorted(self.copies, key=lambda pair: pair[0])]
        return [*copies, *self.set_up, *self.state]

    def ctas(self, sets: Sets, op: Op) -> Expression:
        """The CTAs that each CTA of the cluster reaches, as bits."""
        mask = self.module.cluster.mask(sets, op.id)
        if isinstance(mask, ast.Constant):
            return mask
        return expression(self.once(("ctas", ast.dump(mask)), lambda: self.declare("ctas", mask)))

    # -- things that are made once
    def once(self, key: object, make: Callable[[], object]) -> object:
        """What ``make`` returned when ``key`` was first asked for."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def declare(self, wish: str, value: Expression) -> str:
        """A set-up line ``name = value``; the name."""
        name = self.names.new(wish)
        self.set_up.append(assign(name, value))
        return name

    def keep(self, wish: str, value: Expression) -> str:
        """A variable that the schedule changes, with its first value; the name."""
        name = self.names.new(wish)
        self.state.append(assign(name, value))
        return name

    @property
    def thread(self) -> str:
        """The variable that counts the task's threads from 0."""
        return self.once("thread", self._make_thread)

    def _make_thread(self) -> str:
        position = index(call("cute.arch.thread_idx"), 0)
        return self.declare("thread", binary(position, "-", 32 * self.task.warp_idx))

    def work_tile(self, queue: str) -> str:
        """The variable with the task's current work tile; it starts at the CTA's own number."""
        return self.once(("tile", queue), lambda: self.keep("tile", expression("block")))

    def cursor(self, resource: Resource, which: str) -> str:
        """The cursor of "acquire", "commit", "wait" or "release", which may be one and the same variable."""
        pipeline = resource.pipeline
        if which in CLOSES:
            which = opening_cursor(resource, which, self.ops)
        if which in ("acquire", "commit"):
            side, short, split = PRODUCER, "fill", pipeline.advance_on_acquire
        else:
            side, short, split = CONSUMER, "read", pipeline.advance_on_wait
        name = which if split else short
        state = call("make_pipeline_state", f"PipelineUserType.{side}", pipeline.stages)
        return self.once(("cursor", resource.name, name), lambda: self.keep(f"{resource.name}_{name}", state))

    def held(self, resource: Resource, side: str) -> str:
        """Where a side has split cursors: the variable with the stage that its last acquire or wait was for."""
        word = "filled" if side == PRODUCER else "held"
        return self.once(
            ("held", resource.name, side),
            lambda: self.keep(f"{resource.name}_{word}", call("Int32", 0)),
        )

    def integer(self, op: Op, value: Integer) -> Expression:
        """A stage or parity of ``op``, with the variables of the loops around it."""
        if isinstance(value, int):
            return expression(value)
        unsafe = divides_differences(value)
        if unsafe is not None:
            raise LoweringError(
                f"{unsafe} may divide a negative number, which rounds differently on a GPU; add a multiple of the divisor "
                "where the difference is made",
                op.id,
            )

        def variable(name: str) -> Expression:
            frame = next((f for f in reversed(self.loops) if f.var == name), None)
            if frame is None:
                raise LoweringError(f"no loop around counts {name}", op.id)
            return expression(frame.index) if frame.kind == "tile" else frame.value

        return self.module.kernel_value(value, variable)

    def stage(self, resource: Resource, role: str, op: Op) -> Expression:
        """The stage that a work of this role touches here, by the rules of `core.cursors`."""
        if resource.pipeline is None:
            return self.integer(op, chosen(op.stage))
        opens = OPENS["producer" if role == "producer" else "consumer"]
        if opening_cursor(resource, opens, self.ops) == opens:
            return expression(self.held(resource, PRODUCER if opens == "acquire" else CONSUMER))
        return attribute(expression(self.cursor(resource, CLOSES[opens])), "index")

    # -- tokens
    def variable(self, token: str) -> str:
        """The variable of a token, declared in the set-up where it must outlive the block that sets it."""
        if token not in self._variables:
            if token in self.hoisted:
                self._variables[token] = self.keep(token, call("Int32", 0))
            else:
                self._variables[token] = self.names.new(token)
        return self._variables[token]

    def bind(self, token: str, value: TokenValue) -> None:
        """Says what a token stands for from here on."""
        self.tokens[token] = value

    def token(self, op: Op, parameter: str) -> TokenValue:
        """What the argument ``parameter`` of ``op`` stands for."""
        value = dict(op.args).get(parameter)
        if isinstance(value, Token):
            if value.name in self.tokens:
                return self.tokens[value.name]
            loop = next((f for f in reversed(self.loops) if f.var == value.name), None)
            if loop is not None:
                return Variable(loop.value)
            raise LoweringError(f"argument {parameter!r}: nothing has made {value.name!r} before", op.id)
        if isinstance(value, int) and not isinstance(value, bool):
            return Variable(expression(value))
        raise LoweringError(f"argument {parameter!r} is missing", op.id)

    def number(self, op: Op, parameter: str) -> Expression:
        """An argument that must be a number: a coordinate, a subtile."""
        value = self.token(op, parameter)
        if isinstance(value, Variable):
            return value.value
        raise LoweringError(f"argument {parameter!r} must be a number", op.id)

    def stage_view(self, op: Op, parameter: str = "") -> StageView:
        """The stage view that ``parameter`` of ``op`` names; without one, the only view of shared memory among its
        arguments."""
        if parameter:
            value = self.token(op, parameter)
            if isinstance(value, StageView):
                return value
            raise LoweringError(f"argument {parameter!r} is not a view of a stage", op.id)
        views = [self.tokens.get(v.name) for _, v in op.args if isinstance(v, Token)]
        found = [v for v in views if isinstance(v, StageView) and v.resource.space is not Space.TMEM]
        if len(found) != 1:
            raise LoweringError(f"needs one view of a stage, has {len(found)}", op.id)
        return found[0]

    def fragment_of(self, token: str) -> Fragment:
        """The fragment that ``token`` stands for now."""
        return self.tokens[token]

    def fragment(self, op: Op, parameter: str) -> Fragment:
        """The fragment that ``parameter`` of ``op`` names."""
        value = self.token(op, parameter)
        if isinstance(value, Fragment):
            return value
        raise LoweringError(f"argument {parameter!r} is not a fragment of an accumulator", op.id)

    # -- places
    def innermost(self, kind: str) -> Frame | None:
        """The innermost loop of this kind around the current place."""
        return next((f for f in reversed(self.loops) if f.kind == kind), None)
