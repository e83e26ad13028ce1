"""WD603  register-budget: register counts that setmaxnreg cannot give."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Task
from ..edits import SetTask
from ..findings import Finding, Fix
from ..occupancy import ctas_per_sm
from ..registers import STEP, entry_registers
from .base import Hazard, error, listed
from .examples import acquire, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD603", "register-budget"
LEAST, MOST = 24, 256  # PTX ISA, setmaxnreg: 24 to 256, a multiple of 8
GROUP = 4  # warps of a warpgroup


def check(document: Document) -> Iterator[Finding]:
    """Each count by itself, the agreement of each warpgroup, and the sum."""
    for t in document.tasks:
        n = t.num_registers
        if n is not None and (not LEAST <= n <= MOST or n % STEP):
            yield _count(t, n)
    groups = warpgroups(document)
    if not any(t.num_registers for t in document.tasks):
        return
    for tasks in groups.values():
        if len({t.num_registers for t in tasks}) > 1:
            yield _disagreement(tasks)
    yield from _sum(document, groups)


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
    entry = entry_registers(threads, ctas_per_sm(document))
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
    repair=repair,
)
