"""WD603  register-budget: register counts that setmaxnreg cannot give."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Op, OpKind, Task
from ..edits import SetTask
from ..findings import Finding, Fix
from ..incidents import Note
from ..program import EventKind
from ..register_requests import GROUP, registers_at_start, requests, together
from ..registers import STEP
from ..run import Run, agent_name
from ..tree import ops_of
from .base import Hazard, error, listed, unique
from .examples import acquire, channel, commit, document, loop, release, task, wait, work
from .places import where

CODE, NAME = "WD603", "register-budget"
LEAST, MOST = 24, 256  # PTX ISA, setmaxnreg: 24 to 256, a multiple of 8


def check(document: Document) -> Iterator[Finding]:
    """Each count by itself, the agreement of each warpgroup, and the sum."""
    for t in document.tasks:
        n = t.num_registers
        if n is not None and not exists(n):
            yield _count(t, n)
    for o in requests(document):
        if not exists(o.count):
            yield _count_of(document, o)
    groups = warpgroups(document)
    if not any(t.num_registers for t in document.tasks):
        return
    for tasks in groups.values():
        if len({t.num_registers for t in tasks}) > 1:
            yield _disagreement(tasks)
    if not requests(document):  # else WD303 sees who waits for whom
        yield from _sum(document, groups)


def examine(run: Run) -> Iterator[Finding]:
    """Increases below and decreases above what the warp has, and requests of a warpgroup that has not met since the last."""
    if not run.machine.entry:
        return
    found: dict[tuple[str, str], Finding] = {}
    for w, stream in enumerate(run.program.streams):
        present = run.machine.entry
        for j, e in [(j, e) for j, e in enumerate(stream.events, 1) if e[0] is EventKind.REGISTERS]:
            if (made := _direction(run, w, j, present)) is not None:
                found.setdefault((e.op, ""), made)
            present = e.number
    requested: dict[int, list[Note]] = {}
    for note in run.execution.requests:
        requested.setdefault(note.stream, []).append(note)
    for w, of in requested.items():
        for u, others in requested.items():
            for i, note in enumerate(of[1:]):
                if u != w and together(run, u, w) and i < len(others) and note.base[u] < others[i].index:
                    found.setdefault((note.op, others[i].op), _apart(run, note, others[i]))
    yield from found.values()


def exists(n: object) -> bool:
    """Whether setmaxnreg takes ``n`` registers a thread."""
    return isinstance(n, int) and LEAST <= n <= MOST and n % STEP == 0


def _direction(run: Run, w: int, j: int, present: int) -> Finding | None:
    e = run.event(w, j)
    op = run.machine.asked.get(e.op)
    if op is None or e.number == present or (op.kind is OpKind.REGISTERS_INCREASE) == (e.number > present):
        return None
    other = "setmaxregister_decrease" if op.kind is OpKind.REGISTERS_INCREASE else "setmaxregister_increase"
    return error(
        CODE,
        NAME,
        f"{where(run, w, j)} is {op.kind.value} to {e.number}, but its threads have {present} registers each then",
        ops=(e.op,),
        tasks=(run.task(w),),
        expected=f"{other}({e.number}): an increase is to no fewer, a decrease to no more than the threads have",
        actual=f"from {present} to {e.number}",
    )


def _apart(run: Run, note: Note, before: Note) -> Finding:
    return error(
        CODE,
        NAME,
        f"{where(run, note.stream, note.index)} can come before {agent_name(run, before.stream)} is through the request "
        "before it: all warps of a warpgroup synchronise between two setmaxnreg",
        ops=unique((note.op, before.op)),
        tasks=unique((run.task(note.stream), run.task(before.stream))),
        expected="a barrier of the whole warpgroup between the two",
        actual="no wait orders them",
    )


def _count_of(document: Document, o: Op) -> Finding:
    t = next(t for t in document.tasks if any(x is o for x in ops_of(t)))
    return error(
        CODE,
        NAME,
        f"{o.id} of {t.name} asks for {'no number of' if o.count is None else o.count} registers a thread; setmaxnreg "
        f"takes {LEAST} to {MOST}, in steps of {STEP}",
        ops=(o.id,),
        tasks=(t.name,),
        expected=f"{LEAST} to {MOST}, a multiple of {STEP}",
        actual=str(o.count),
    )


def warpgroups(document: Document) -> dict[int, list[Task]]:
    """The tasks on each warpgroup of the launch; idle warpgroups in between have none."""
    ends = [t.warp_idx + t.num_warps for t in document.tasks if t.num_warps > 0]
    groups: dict[int, list[Task]] = {g: [] for g in range(-(-max(ends, default=0) // GROUP))}
    for t in document.tasks:
        for g in groups:
            if t.warp_idx < GROUP * (g + 1) and GROUP * g < t.warp_idx + t.num_warps:
                groups[g].append(t)
    return groups


def _count(t: Task, n: int) -> Finding:
    near = min(MOST, max(LEAST, -(-n // STEP) * STEP))
    return error(
        CODE,
        NAME,
        f"{t.name} asks for {n} registers a thread; setmaxnreg takes {LEAST} to {MOST}, in steps of {STEP}",
        tasks=(t.name,),
        expected=f"{near}",
        actual=f"{n}",
    )


def _disagreement(tasks: list[Task]) -> Finding:
    asked = listed(f"{t.name} ({t.num_registers or 'none'})" for t in tasks)
    return error(
        CODE,
        NAME,
        f"one warpgroup, different register counts: {asked}",
        tasks=tuple(t.name for t in tasks),
        expected="one count for a warpgroup: all its warps execute the same setmaxnreg",
        actual=asked,
    )


def _sum(document: Document, groups: dict[int, list[Task]]) -> Iterator[Finding]:
    threads = 32 * GROUP * len(groups)
    entry = registers_at_start(document)
    wanted = sum(
        32 * GROUP * max((t.num_registers or entry for t in tasks), default=entry)
        for tasks in groups.values()
    )
    if wanted > entry * threads:
        yield error(
            CODE,
            NAME,
            f"the warpgroups ask for {wanted} registers, but {threads} threads that start with {entry} each have "
            f"{entry * threads}: an increase would wait for ever",
            tasks=tuple(t.name for t in document.tasks if t.num_registers),
            expected=f"at most {entry * threads}",
            actual=str(wanted),
        )


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """The nearest counts that exist."""
    if len(finding.tasks) == 1 and finding.expected.isdigit():
        above, name = int(finding.expected), finding.tasks[0]
        for n in (above, above - STEP) if above > LEAST else (above,):
            yield Fix(f"give {name} {n} registers", (SetTask(name, "num_registers", n),))


def _ring(producer: int, consumer: int):
    return document(
        f"{producer} and {consumer} registers a thread",
        task("load", 0, 4, loop(acquire("x"), work("x", "fill"), commit("x")), registers=producer),
        task("use", 4, 8, loop(wait("x"), work("x", "read"), release("x")), registers=consumer),
        resources=(channel("x"),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="24 to 256 registers a thread in steps of 8, one count a warpgroup, and no more in sum than the launch has.",
    why="setmaxnreg waits until the pool of the CTA has the registers: for ever, if nobody gives back so many.",
    bad=_ring(16, 240),
    good=_ring(24, 240),
    check=check,
    examine=examine,
    repair=repair,
)
