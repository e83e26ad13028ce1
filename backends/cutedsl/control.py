"""Lowers loops and guards; single ops go to `operations` and `works`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace

from warpdraft.core.cursors import passed_over, side_of
from warpdraft.core.document import Guard, GuardKind, Loop, Node, Op, OpKind
from warpdraft.core.expressions import Integer, Operation
from warpdraft.core.footprints import target_work
from warpdraft.core.tree import ops_of

from .clusters import RANK
from .errors import LoweringError
from .operations import lower_moves, lower_operation, test_of
from .syntax import Expression, For, If, Statement, While, assign, binary, call, compare, expression
from .task import Frame, TaskBuilder
from .tensor_memory import meetings, reads_before
from .works import lower_work


def lower_schedule(task: TaskBuilder) -> tuple[Statement, ...]:
    """The statements of the whole task, with the reads of tensor memory's address between those of its top."""
    lines: list[Statement] = []
    met: set[str] = set()
    for node in task.task.body:
        lowered = lower_node(task, node)
        lines += [*reads_before(task, met), *lowered]
        met |= set(meetings(node))
    return tuple(lines)


def lower_block(task: TaskBuilder, nodes: Sequence[Node]) -> tuple[Statement, ...]:
    """The statements of ``nodes``, in schedule order; neighbours under one condition share its ``if``."""
    return joined(s for node in nodes for s in lower_node(task, node))


def lower_node(task: TaskBuilder, node: Node) -> tuple[Statement, ...]:
    """The statements of one node."""
    if isinstance(node, Op):
        if task.idle is not None:
            return lower_moves(task, node) if side_of(task.document, node) in task.idle else ()
        lines = lower_work(task, node) if node.kind is OpKind.WORK else lower_operation(task, node)
        test = leaders(task, node)
        return lines if test is None or not lines else (If(((test, lines),)),)
    if isinstance(node, Loop):
        return _loop(task, node)
    return _guard(task, node)


def leaders(task: TaskBuilder, op: Op) -> Expression | None:
    """The condition under which a CTA takes part in ``op``; None: all do. A view goes with the works that use it."""
    test = test_of(task, op)
    named = target_work(task.document, op) if op.kind is OpKind.WORK else None
    if test is None or named is None or not named[1].view:
        return test
    users = [o for o in ops_of(task.task) if any(getattr(v, "name", None) in op.results for _, v in o.args)]
    return test if all(same(test, test_of(task, o)) for o in users) else None


def same(one: Expression, other: Expression | None) -> bool:
    """Whether two conditions are written alike."""
    return other is not None and ast.dump(one) == ast.dump(other)


def joined(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """``statements`` with neighbours under one condition put together."""
    found: list[Statement] = []
    for s in statements:
        last = found[-1] if found else None
        if isinstance(s, If) and isinstance(last, If) and len(s.arms) == len(last.arms) == 1:
            (test, body), (before, first) = s.arms[0], last.arms[0]
            if test is not None and same(test, before) and names_rank(test):
                found[-1] = If(((before, joined((*first, *body))),), last.note)
                continue
        found.append(s)
    return tuple(found)


def names_rank(test: Expression) -> bool:
    """Whether a condition asks for the CTA's rank, which nothing changes."""
    return any(isinstance(n, ast.Name) and n.id == RANK for n in ast.walk(test))


def outside(loop: For, opening: int) -> Statement:
    """``loop``, under the condition that its body is under: all of it but for ``opening`` statements that only count."""
    if len(loop.body) == opening + 1 and isinstance(inner := loop.body[-1], If) and len(inner.arms) == 1:
        test, body = inner.arms[0]
        if test is not None and names_rank(test):
            return If(((test, (replace(loop, body=(*loop.body[:opening], *body)),)),))
    return loop


def _loop(task: TaskBuilder, loop: Loop) -> tuple[Statement, ...]:
    if loop.skip_if:
        raise LoweringError(f"no stock body says when {loop.skip_if!r} skips a tile", loop.id)
    if loop.kind == "tile" and task.module.dynamic:
        return _dynamic(task, loop)
    frame, start = _frame(task, loop)
    task.loops.append(frame)
    body = lower_block(task, loop.body)
    task.loops.pop()
    if task.idle is not None and not body:
        return ()
    trips = call("cutlass.range", frame.trips, unroll=loop.unroll or 1)
    note = f"tiles of {loop.queue}" if loop.kind == "tile" else ""
    made = For(expression(frame.index), trips, (*start, *frame.prologue, *body), note)
    return (outside(made, len(start)),)


def _dynamic(task: TaskBuilder, loop: Loop) -> tuple[Statement, ...]:
    """A loop over tiles that are requested at run time: until a response says that none is left."""
    tile, turn = task.work_tile(loop.queue), task.keep("turn", call("Int32", 0))
    frame = Frame("tile", loop.var, loop.queue, turn, expression(turn), expression(1), expression(turn))
    task.loops.append(frame)
    body = lower_block(task, loop.body)
    task.loops.pop()
    if task.idle is not None and not body:
        return ()
    count = assign(turn, binary(turn, "+", 1))
    return (While(compare(tile, ">=", 0), (*frame.prologue, *body, count), f"tiles of {loop.queue}"),)


def _frame(task: TaskBuilder, loop: Loop) -> tuple[Frame, list[Statement]]:
    """The frame of a loop and the statements that open its body."""
    outer = task.loops[-1] if task.loops else None
    tile = loop.kind == "tile"
    trips = expression("turns") if tile else _trips(task, loop)
    index = task.names.new("turn" if tile else loop.var or "i")
    value, opening = expression(index), []
    if not tile and (loop.start != 0 or loop.step != 1):
        first, step = task.module.kernel_value(loop.start), task.module.kernel_value(loop.step)
        name = task.names.new(f"{loop.var or 'i'}_value")
        opening.append(assign(name, binary(first, "+", binary(expression(index), "*", step))))
        value = expression(name)
    step = expression(index)
    if outer is not None:
        name = task.names.new("step")
        opening.append(assign(name, binary(binary(outer.step, "*", trips), "+", index)))
        step = expression(name)
    return Frame(loop.kind, loop.var, loop.queue, index, value, trips, step), opening


def _trips(task: TaskBuilder, loop: Loop) -> Expression:
    module, start, stop, step = task.module, loop.start, loop.stop, loop.step
    if not (isinstance(step, int) and step > 0):
        raise LoweringError("only loops with a constant, positive step are lowered", loop.id)
    span: Integer = stop if start == 0 else _minus(stop, start)
    count = module.kernel_value(span)
    return count if step == 1 else call("cute.ceil_div", count, step)


def _minus(left: Integer, right: Integer) -> Integer:
    return left - right if isinstance(left, int) and isinstance(right, int) else Operation("-", left, right)


def _guard(task: TaskBuilder, guard: Guard) -> tuple[Statement, ...]:
    kind = guard.kind
    if kind is GuardKind.ELECT_LANE:  # every operation that one lane must do elects it by itself
        saved, task.lane = task.lane, True
        body = lower_block(task, guard.body)
        task.lane = saved
        return body
    if kind is GuardKind.CTA_RANK:
        return _in_cta(task, guard)
    if kind is GuardKind.ELECT_WARP:
        if not 0 <= guard.warp < task.task.num_warps:
            raise LoweringError(f"task {task.task.name} has no warp {guard.warp}", guard.id)
        if task.idle is not None:
            return lower_block(task, guard.body)
        saved_warp, task.warp = task.warp, guard.warp
        body = lower_block(task, guard.body)
        task.warp = saved_warp
        if task.task.num_warps == 1:
            return body
        arms = [(compare("warp_idx", "==", task.task.warp_idx + guard.warp), body)]
        moves = _moves(task, guard)
        return (If((*arms, (None, moves)) if moves else tuple(arms)),)
    if kind is GuardKind.SKIPPABLE:  # no tile is skipped: loops with a predicate are refused
        return lower_block(task, guard.body)
    if kind in (GuardKind.WHEN_TRUE, GuardKind.WHEN_FALSE):
        raise LoweringError(f"no stock body makes the condition {guard.key!r}", guard.id)
    tests = _iteration_tests(task, guard)
    body = lower_block(task, guard.body)
    if task.idle is not None and not body:
        return ()
    for test in reversed(tests):
        body = (If(((test, body),)),)
    return body


def _in_cta(task: TaskBuilder, guard: Guard) -> tuple[Statement, ...]:
    """A block of one CTA of the cluster."""
    if not 0 <= guard.cta < task.module.cluster.size:
        return ()
    saved, task.ranked = task.ranked, True
    body = lower_block(task, guard.body)
    task.ranked = saved
    if task.module.cluster.size == 1 or not body:
        return body
    return (If(((compare(RANK, "==", guard.cta), body),)),)


def _moves(task: TaskBuilder, elected: Guard) -> tuple[Statement, ...]:
    """What the other warps do at a block of one warp: they move the cursors that they share with it."""
    task.idle = passed_over(task.document, task.task, elected)
    moves = lower_block(task, elected.body) if task.idle else ()
    task.idle = None
    return moves


def _iteration_tests(task: TaskBuilder, guard: Guard) -> list[Expression]:
    """The conditions, outermost first, under which an iteration guard's block runs; none: always."""
    frame = next((f for f in reversed(task.loops) if guard.loop in ("", f.var)), None)
    if frame is None:
        raise LoweringError(f"the guard stands outside its loop {guard.loop!r}", guard.id)
    if guard.kind is GuardKind.FIRST_ITER:
        return [compare(frame.index, "==", 0)]
    if guard.kind is GuardKind.LAST_ITER:
        return [compare(frame.index, "==", binary(frame.trips, "-", 1))]
    if guard.period < 1:
        raise LoweringError(f"every({guard.period}) never comes round", guard.id)
    tests = [compare(frame.index, ">=", guard.start)] if guard.start > 0 else []
    if guard.period > 1:
        since = binary(frame.index, "-", guard.start)
        tests.append(compare(binary(since, "%", guard.period), "==", 0))
    return tests
