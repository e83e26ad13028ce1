"""The branches of the kernel: one for each set of warpgroups that tasks tie together, one inside for each task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from warpdraft.core.document import Document, Op, Task
from warpdraft.core.occupancy import ctas_per_sm
from warpdraft.core.registers import entry_registers

from .control import lower_schedule
from .errors import LoweringError
from .module import Module
from .operations import lower_drain
from .syntax import Blank, Comment, Expression, If, Statement, compare, run
from .task import TaskBuilder

WARPGROUP = 4  # warps


@dataclass(frozen=True, slots=True)
class Role:
    """Warps [low, high): whole warpgroups, with the tasks in them and the registers that they agree on."""

    low: int
    high: int
    tasks: tuple[Task, ...]
    registers: int | None


def roles(document: Document, warps: int) -> tuple[Role, ...]:
    """The warpgroups of the launch, in order, joined where one task spans them."""
    bounds = set(range(0, warps + 1, WARPGROUP))
    for task in document.tasks:
        low, high = task.warp_idx, task.warp_idx + task.num_warps
        bounds -= {b for b in bounds if low < b < high}
    edges = sorted(bounds)
    return tuple(_role(document, low, high) for low, high in pairwise(edges))


def _role(document: Document, low: int, high: int) -> Role:
    tasks = tuple(t for t in document.tasks if low <= t.warp_idx < high)
    registers = {t.num_registers for t in tasks if t.num_registers is not None}
    if len(registers) > 1:
        names = ", ".join(t.name for t in tasks)
        raise LoweringError(
            f"tasks {names} share a warpgroup and must agree on num_registers: {sorted(registers)}"
        )
    return Role(low, high, tasks, registers.pop() if registers else None)


def branches(module: Module) -> Iterator[Statement]:
    """The whole body of the kernel after its set-up."""
    found = roles(module.document, module.warps)
    lowered = [_role_body(module, role) for role in found]
    if len(found) == 1:
        yield from lowered[0]
        return
    last = len(found) - 1
    arms = tuple(
        (compare("warp_idx", "<", role.high) if i < last else None, body)
        for i, (role, body) in enumerate(zip(found, lowered, strict=True))
    )
    yield If(arms)


def _role_body(module: Module, role: Role) -> tuple[Statement, ...]:
    lines: list[Statement] = []
    if role.registers is not None:
        entry = entry_registers(32 * module.warps, ctas_per_sm(module.document))
        grow = "increase" if role.registers > entry else "decrease"
        lines += [run(f"cute.arch.setmaxregister_{grow}", role.registers), Blank()]
    for task in role.tasks:
        lines += [*_task(module, role, task), Blank()]
    if not role.tasks:
        lines.append(Comment("no task"))
    return tuple(lines[:-1] if isinstance(lines[-1], Blank) else lines)


def _task(module: Module, role: Role, task: Task) -> tuple[Statement, ...]:
    builder = TaskBuilder(module, task)
    body = (*lower_schedule(builder), *_drains(builder))
    last = task.warp_idx + task.num_warps - 1
    warps = f"warp {task.warp_idx}" if task.num_warps == 1 else f"warps {task.warp_idx} to {last}"
    opening = builder.opening()
    inside: tuple[Statement, ...] = (*opening, *([Blank()] if opening else []), *body)
    for test in _tests(role, task):
        inside = (If(((test, inside),)),)
    return (Comment(f"---- task {task.name}: {warps}"), *inside)


def drains(module: Module, task: Task) -> Iterator[tuple[int, Op, Expression | None]]:
    """The last commits behind which the task drains a pipeline, each with the warp that does it, and the condition under
    which its CTA does (None: all do)."""
    for warp in range(task.num_warps):
        found = [module.machine.drains(task, warp, cta) for cta in range(module.cluster.size)]
        for op in dict.fromkeys(op for of in found for op in of):
            yield warp, op, module.cluster.only([op in of for of in found], op.id)


def _drains(builder: TaskBuilder) -> Iterator[Statement]:
    task = builder.task
    warps: dict[Op, list[int]] = {}
    tests: dict[Op, Expression | None] = {}
    for warp, op, tests[op] in drains(builder.module, task):
        warps.setdefault(op, []).append(warp)
    for op, of in warps.items():
        drain = lower_drain(builder, op, builder.resource(op))
        if tests[op] is not None:
            drain = (If(((tests[op], drain),)),)
        if len(of) == task.num_warps:
            yield from drain
        else:
            yield from (If(((compare("warp_idx", "==", task.warp_idx + warp), drain),)) for warp in of)


def _tests(role: Role, task: Task) -> list[Expression]:
    """The conditions that single out the task's warps inside the role's, innermost first."""
    low, high = task.warp_idx, task.warp_idx + task.num_warps
    if high - low == 1 and role.high - role.low > 1:
        return [compare("warp_idx", "==", low)]
    tests = [compare("warp_idx", "<", high)] if high < role.high else []
    return tests + ([compare("warp_idx", ">=", low)] if low > role.low else [])
