"""WD303  stuck-register-request: a setmaxnreg increase that what the others release can never meet."""

from __future__ import annotations

from collections.abc import Iterator

from ..describe import words
from ..diagnosis import Diagnosis, diagnose
from ..document import Document, OpKind, Task
from ..findings import Finding
from ..program import Event, EventKind
from ..register_requests import orders, registers_at_start, requests
from ..run import Run, agent_name, execute_in_order, prefix_steps
from .base import Hazard, error, listed, plural, unique
from .examples import acquire, channel, commit, document, loop, op, release, task, wait, work
from .places import owed, resources_of, where
from .register_budget import GROUP, exists, warpgroups

CODE, NAME = "WD303", "stuck-register-request"


def check(document: Document) -> Iterator[Finding]:
    """Increases of warpgroups against the decreases of the others, which come first in the best of orders.

    A CTA has the registers that its threads start with (PTX ISA, setmaxnreg: "the per-CTA-register-pool"); a decrease never
    waits, an increase waits until the pool has enough. Every request is made when its task starts.
    """
    if requests(document):
        return  # executed: `examine`
    groups = warpgroups(document)
    threads, entry = 32 * GROUP * len(groups), registers_at_start(document)
    raises: list[Task] = []
    needed = released = 0
    for tasks in groups.values():
        wanted = {t.num_registers for t in tasks if t.num_registers is not None}
        if not all(map(exists, wanted)):
            return  # WD603
        more = max(wanted, default=entry) - entry
        needed += 32 * GROUP * max(0, more)
        released += 32 * GROUP * max(0, -more)
        raises += [t for t in tasks if more > 0 and t.num_registers and t not in raises]
    if needed > released:
        asked = listed(f"{t.name} (to {t.num_registers})" for t in raises)
        yield error(
            CODE,
            NAME,
            f"{asked} ask for {needed} registers above the {entry} that a thread starts with, but the others release "
            f"{released}: the last increase waits for ever",
            tasks=tuple(t.name for t in raises),
            expected=f"at most {released} registers more",
            actual=f"{needed} registers more",
            notes=(
                f"{threads} threads start with {entry} registers each; an increase waits until others have given back",
            ),
        )


def examine(run: Run) -> Iterator[Finding]:
    """Increases that were not met; where all were, an order of them in which some are not."""
    if run.execution.stopped or not all(exists(o.count) for o in run.machine.asked.values()):
        return  # WD603 says so
    if any(e.kind is EventKind.REGISTERS for _, e in run.blocked()):
        yield from _stuck(run)
        return
    found = orders(run)
    if found is not None and found.stuck is not None:
        parts = [(agent_name(run, w), n, run.program.streams[w].weight) for w, n in found.begun()]
        notes = [
            f"{n} of the {of} warps {name} have theirs: a pool gives warp by warp" for name, n, of in parts
        ]
        way = [agent_name(run, w) for w, _ in found.way(found.stuck)]
        notes += [f"in an order in which the increases met are those of {listed(way)}"] if way else []
        yield from _stuck(execute_in_order(run, found.way(found.stuck)), tuple(notes))


def _stuck(run: Run, notes: tuple[str, ...] = ()) -> Iterator[Finding]:
    """One finding for each cycle through a request, and one for the others."""
    diagnosis = diagnose(run)
    asking = [w for w, s in diagnosis.stuck.items() if s.event.kind is EventKind.REGISTERS]
    cycles = [c for c in diagnosis.cycles if set(c) & set(asking)]
    for cycle in cycles:
        yield _finding(run, diagnosis, cycle, f"a cycle of waits: {_links(run, diagnosis, cycle)}", notes)
    rest = [w for w in asking if not any(w in cycle for cycle in cycles)]
    if rest and not cycles:
        whom = listed(unique(where(run, w, run.execution.at[w] + 1) for w in rest))
        text = f"{whom} {'ask' if len(rest) > 1 else 'asks'} for more registers than the CTA will ever have to spare"
        yield _finding(run, diagnosis, tuple(rest), text, notes)


def _links(run: Run, diagnosis: Diagnosis, cycle: tuple[int, ...]) -> str:
    lines = []
    for w, after in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        text = words(diagnosis.stuck[w].event, run.program.streams[w], run.program.barriers)
        lines.append(f"{agent_name(run, w)} {text}, which {agent_name(run, after)} owes")
    return "; ".join(lines)


def _finding(
    run: Run, diagnosis: Diagnosis, streams: tuple[int, ...], text: str, notes: tuple[str, ...]
) -> Finding:
    stuck = [diagnosis.stuck[w] for w in streams]
    asking = [s for s in stuck if s.event.kind is EventKind.REGISTERS]
    last = [(s.stream, run.execution.at[s.stream] + 1, "") for s in stuck if s.event.op]
    return error(
        CODE,
        NAME,
        text,
        ops=unique(s.event.op for s in stuck),
        resources=unique(r for s in stuck for r in resources_of(run, s.barrier)),
        tasks=unique(run.task(s.stream) for s in stuck),
        expected="every increase can be met by registers that are given back before it, or without it",
        actual="; ".join(unique(_lacking(run, s.stream, s.event) for s in asking)),
        notes=unique((*notes, *(line for s in stuck for line in owed(run, diagnosis, s)))),
        witness=prefix_steps(run, run.execution.at, last) if last else (),
    )


def _lacking(run: Run, w: int, event: Event) -> str:
    stream, spare = run.program.streams[w], run.execution.state[event.barrier].spare
    return f"{agent_name(run, w)} lacks {event.bytes * stream.weight:,} registers, {plural(spare, 'register')} to spare"


def _shrinks_behind(late: bool):
    """A producer that gives its registers back once its first stage was released, or at once."""
    shrink, grow = op(OpKind.REGISTERS_DECREASE, count=24), op(OpKind.REGISTERS_INCREASE, count=240)
    first = acquire("x"), work("x", "fill"), commit("x")
    ring = channel("x", 1)
    return document(
        "the producer shrinks once a stage is free again" if late else "the producer shrinks at once",
        task(
            "load",
            0,
            4,
            *(() if late else (shrink,)),
            *first,
            acquire("x"),
            *((shrink,) if late else ()),
            *first[1:],
        ),
        task("use", 4, 8, grow, loop(wait("x"), work("x", "read"), release("x"), stop=2)),
        resources=(ring,),
        symbols=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="setmaxnreg increases can be met by what other warpgroups have released.",
    why="An increase blocks the warpgroup until the CTA's pool has the registers. If the decreases leave too few, or come "
    "behind something that waits for the increase, it never returns, and whoever waits for it hangs with it.",
    bad=_shrinks_behind(True),
    good=_shrinks_behind(False),
    check=check,
    examine=examine,
)
