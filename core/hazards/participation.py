"""WD208  participation: the warps that reach a named barrier are not those that its count needs."""

from __future__ import annotations

from collections.abc import Iterator

from ..clocks import Execution
from ..document import Document, NamedBarrier
from ..edits import SetBarrier
from ..findings import Finding, Fix
from ..incidents import Incident
from ..program import EventKind
from ..races import Pair
from ..run import Run, join_clocks, prefix_steps
from .base import Hazard, error, listed, plural, unique, warning
from .cohorts import ALL_JOINS, JOINS, MEET, cohorts, reach
from .examples import document, sync, task
from .places import where

CODE, NAME = "WD208", "participation"


def examine(run: Run) -> Iterator[Finding]:
    """Named barriers that stay open for want of warps, those that more warps reach than they count, and cluster barriers
    that some warps do not execute."""
    for b in dict.fromkeys(e.barrier for _, e in run.blocked() if e.kind is EventKind.SYNC):
        found = reach(run, b)
        needed = run.execution.state[b].expects or run.barrier(b).count
        if run.barrier(b).side == "named" and sum(found.values()) < needed:
            yield _short(run, b, found, needed)
        elif run.barrier(b).side == "named" and sum(found.values()) == needed:
            yield from _uneven(run, b)
    for i in run.incidents("misassigned"):
        if cohorts(run, i) == MEET:
            yield _crowded(run, i)
    for i in run.incidents("cluster_order"):
        yield _out_of_turn(run, i)
    for b, barrier in enumerate(run.program.barriers):
        if barrier.side == "cluster" and run.execution.cluster >= 0:
            yield from _cluster(run, b)


def _short(run: Run, b: int, found: dict[str, int], needed: int) -> Finding:
    blocked = [(w, e) for w, e in run.blocked() if e.barrier == b and e.kind is EventKind.SYNC]
    barrier, total = run.barrier(b), sum(found.values())
    return error(
        CODE,
        NAME,
        f"{barrier.name} needs {32 * needed} threads, but only {_tasks(found)} can reach it: {32 * total} threads",
        ops=unique(e.op for _, e in blocked),
        resources=unique([barrier.resource]),
        tasks=tuple(found),
        expected=f"{32 * total} threads",
        actual=f"{32 * needed} threads",
        witness=prefix_steps(
            run, run.execution.at, [(w, run.execution.at[w] + 1, "waits for ever") for w, _ in blocked]
        ),
    )


def _uneven(run: Run, b: int) -> Iterator[Finding]:
    """Enough warps reach the barrier, but some of them less often than others, who wait for them in the end."""
    blocked = [(w, e) for w, e in run.blocked() if e.barrier == b and e.kind is EventKind.SYNC]
    here, times = {w for w, _ in blocked}, {}
    for w, stream in enumerate(run.program.streams):
        joins = [j for j, e in enumerate(stream.events, 1) if e.barrier == b and e.kind in JOINS]
        if joins:
            times.setdefault(stream.task, set()).add(len(joins))
        if joins and w not in here and joins[-1] > run.execution.at[w]:
            return  # somebody who is stuck elsewhere would come again
    if len(set().union(*times.values())) < 2:
        return
    yield error(
        CODE,
        NAME,
        f"{listed(unique(run.task(w) for w, _ in blocked))} waits at {run.barrier(b).name} for warps that do not reach it "
        "as often",
        ops=unique(e.op for _, e in blocked),
        resources=unique([run.barrier(b).resource]),
        tasks=tuple(times),
        expected="each of its warps reaches it as often as the others",
        actual=listed(f"{task}: {plural(max(found), 'time')}" for task, found in times.items()),
        witness=prefix_steps(
            run, run.execution.at, [(w, run.execution.at[w] + 1, "waits for ever") for w, _ in blocked]
        ),
    )


def _crowded(run: Run, i: Incident) -> Finding:
    barrier, found = run.barrier(i.barrier), reach(run, i.barrier)
    other = i.other or (i.stream, i.index)
    reaching = 32 * sum(found.values())
    return error(
        CODE,
        NAME,
        f"{_tasks(found)} reach {barrier.name}, {reaching} threads, but any {32 * barrier.count} complete it without the "
        f"others: declare {reaching}",
        ops=unique((run.event(i.stream, i.index).op, run.event(*other).op)),
        resources=unique([barrier.resource]),
        tasks=tuple(found),
        expected=f"{reaching} threads",
        actual=f"{32 * barrier.count} threads",
        witness=prefix_steps(run, join_clocks(run, (i.stream, i.index, i.base)), [(i.stream, i.index, "")]),
    )


def _cluster(run: Run, b: int) -> Iterator[Finding]:
    """A barrier of all threads of the cluster (PTX ISA, barrier.cluster) that not all warps execute equally often: an error
    where somebody hangs or relies on what a warp did before it left, and where a task never executes it, whose warps are
    not known to have left in time; else a warning, since it does not wait for threads that have exited."""
    ops: dict[str, list[str]] = {}
    times: dict[str, set[int]] = {}
    for stream in run.program.streams:
        joins = [e.op for e in stream.events if e.kind in ALL_JOINS and e.barrier == b]
        ops.setdefault(stream.task, []).extend(joins)
        times.setdefault(stream.task, set()).add(len(joins))
    most = max((n for found in times.values() for n in found), default=0)
    fewer = [task for task, found in times.items() if min(found) < most]
    if not fewer:
        return
    stuck = bool(run.execution.blocked or run.execution.stopped)
    unseen = [] if stuck else unreleased(run.execution)
    never = any(max(found) == 0 for found in times.values())
    say = error if stuck or unseen or never else warning
    yield say(
        CODE,
        NAME,
        f"the cluster barrier is for every thread of the cluster, but {listed(fewer)} "
        f"{'does' if len(fewer) == 1 else 'do'} not execute it as often as the others",
        ops=unique(op for found in ops.values() for op in found),
        tasks=tuple(times),
        expected=f"{plural(most, 'time')} by every warp",
        actual=listed(f"{task}: {'-'.join(map(str, sorted(found)))}" for task, found in times.items()),
        notes=tuple(_meanings(run, stuck, unseen)),
    )


def unreleased(execution: Execution) -> list[Pair]:
    """The accesses that only the exit of a warp orders: no thread need see what it has done (PTX ISA, memory consistency
    model: only operations on a barrier synchronise)."""
    weak = Execution(execution.program, execution.fencing.judged, execution.deadline)
    weak.exits_order = False
    known = execution.races.found
    return [pair for key, pair in weak.run().races.found.items() if key not in known]


def _meanings(run: Run, stuck: bool, unseen: list[Pair]) -> Iterator[str]:
    if not stuck:
        yield "the others wait until its warps have left the kernel"
    for x, y in unseen[:1]:
        yield (
            f"an exit releases nothing: {where(run, y.stream, y.index)} need not see what "
            f"{where(run, x.stream, x.index)} has done to {x.access.resource}"
        )


def _out_of_turn(run: Run, i: Incident) -> Finding:
    event = run.event(i.stream, i.index)
    again = event.kind is EventKind.CLUSTER_ARRIVE
    does = "arrives at the cluster's barrier again" if again else "waits for the cluster's barrier"
    lacks = "without a wait for the generation before" if again else "without having arrived at it"
    return error(
        CODE,
        NAME,
        f"{where(run, i.stream, i.index)} {does} {lacks}: that is undefined",
        ops=(event.op,),
        tasks=(run.task(i.stream),),
        expected="arrive and wait in turn, by every thread",
        actual=f"{'arrive, arrive' if again else 'wait'} {'without wait' if again else 'without arrive'}",
        witness=prefix_steps(run, join_clocks(run, (i.stream, i.index, i.base)), [(i.stream, i.index, "")]),
    )


def _tasks(found: dict[str, int]) -> str:
    return listed(f"{task} ({plural(warps, 'warp')})" for task, warps in found.items())


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """The count of those that reach it."""
    wanted = finding.expected.split()[0]
    for barrier in document.barriers:
        if barrier.name in finding.resources and wanted.isdigit():
            yield Fix(
                f"set {barrier.name} to {wanted} threads", (SetBarrier(barrier.name, "threads", int(wanted)),)
            )


def _reduction(threads: int):
    return document(
        f"a barrier of {threads} threads inside one task of 128",
        task("reduce", 0, 4, sync("part")),
        task("load", 4, 4),
        barriers=(NamedBarrier("part", 1, threads),),
        symbols=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="The warps that reach a named, CTA or cluster barrier are those that its count needs.",
    why="A barrier with a count waits for that many threads, whether or not they exist; with too small a count it "
    "lets some through before the others have come.",
    bad=_reduction(256),
    good=_reduction(128),
    examine=examine,
    repair=repair,
)
