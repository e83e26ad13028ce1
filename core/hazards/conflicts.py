"""Sorts races into the rules that name them, and writes their findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..document import Engine
from ..findings import Finding, Step
from ..program import Barrier, EventKind
from ..races import SYNC, Pair, Record
from ..run import Run, agent_name, join_clocks, prefix_steps
from ..schedulers import has_slots
from ..tensor_core import AWAITED, COMMITTED
from ..tensor_maps import is_descriptor
from ..tensor_memory import place
from ..tree import find_resource
from .base import error, unique
from .places import accessed, has_pipeline, verb, where

ENDED_BY_GROUP = (Engine.WGMMA, Engine.CP_ASYNC, Engine.BULK_STORE)


def races(run: Run, code: str, name: str) -> Iterator[Finding]:
    """The races of ``run`` that belong to rule ``code``, one for each pair of ops."""
    for pair in run.execution.races.found.values():
        if kind(run, pair) == code:
            yield _finding(run, pair, code, name)


def kind(run: Run, pair: Pair) -> str:
    """The code of the rule that names this race best."""
    x, y = pair
    if is_descriptor(x.access.space):
        return "WD405"
    if any(has_slots(find_resource(run.document, r.access.resource)) for r in pair):
        return "WD705"
    if x.event.engine in AWAITED and _issued_before(x, y):
        return "WD502"
    if x.access.resource != y.access.resource:
        return "WD402"
    if x.component == SYNC or not _issued_before(x, y):
        return "WD403" if _refilled(run, x, y) else "WD401"
    if x.access.write:
        stored = x.event.engine is Engine.BULK_STORE and not y.access.write  # its destination is read
        return "WD408" if stored or x.event.engine in (Engine.WGMMA, *COMMITTED) else "WD401"
    if not y.access.write:
        return "WD401"
    if has_pipeline(run.document, x.access.resource):
        return "WD403" if _acquired(run, y) else "WD401"
    return "WD404" if x.event.engine in (*ENDED_BY_GROUP, *COMMITTED) else "WD401"


def _issued_before(x: Record, y: Record) -> bool:
    """Whether ``y`` comes after the start of ``x``, though not after its end."""
    return y.base[x.stream] >= x.index or (x.stream == y.stream and x.index < y.index)


def _refilled(run: Run, x: Record, y: Record) -> bool:
    """Whether the producer refills an acquired stage under an asynchronous read that somebody else's release gave away."""
    return x.component != SYNC and not x.access.write and y.access.write and _acquired(run, y)


def _acquired(run: Run, y: Record) -> bool:
    """Whether the stream of ``y`` waited for its stage to be empty."""
    events = run.program.streams[y.stream].events[: y.index - 1]
    return any(_is_acquire(run, e, y) for e in reversed(events))


def _is_acquire(run: Run, event, y: Record) -> bool:
    if event.kind is not EventKind.WAIT or (event.number is not None and event.number < 0):
        return False
    barrier = run.barrier(event.barrier)
    return _frees(barrier, y)


def release_after(run: Run, x: Record) -> str:
    """The op by which the stream of ``x`` gave the stage away while ``x`` was still going on ("" if it did not)."""
    stream = run.program.streams[x.stream]
    for event in stream.events[x.index :]:
        if event.kind in (EventKind.ARRIVE, EventKind.COMMIT_ARRIVE):
            barrier = run.barrier(event.barrier)
            if _frees(barrier, x):
                return event.op
    return ""


def _frees(barrier: Barrier, record: Record) -> bool:
    """Whether ``barrier`` says that the stage which ``record`` touches is empty."""
    access = record.access
    return barrier.side == "empty" and barrier.stage == access.stage and access.resource in barrier.pipelines


def _finding(run: Run, pair: Pair, code: str, name: str) -> Finding:
    x, y = pair
    first = f"the {verb(x)} of {accessed(x)} by {where(run, x.stream, x.index)}"
    second = f"the {verb(y)} of {accessed(y)} by {where(run, y.stream, y.index)}"
    started = x.component != SYNC and _issued_before(x, y)
    lead = [release_after(run, x)] if code == "WD403" else []
    return error(
        code,
        name,
        f"{second} may come {'before the end of' if started else 'before, during or after'} {first}",
        ops=unique([*lead, y.event.op, x.event.op]),
        resources=unique((y.access.resource, x.access.resource)),
        tasks=unique((run.task(y.stream), run.task(x.stream))),
        expected="the first ends before the second starts",
        actual="nothing waits for its end" if started else "nothing orders them",
        notes=tuple(_notes(run, x, y)),
        witness=_witness(run, x, y, started),
    )


def _witness(run: Run, x: Record, y: Record, started: bool) -> Callable[[], tuple[Step, ...]]:
    """Both accesses marked, in the order of execution; two that nothing orders stand together at the end."""
    clock = join_clocks(run, (x.stream, x.index, x.base), (y.stream, y.index, y.base))
    first, second = (x.stream, x.index), (y.stream, y.index)
    if not started:
        return prefix_steps(run, clock, [(*first, ""), (*second, "")])
    clock[x.stream] = max(clock[x.stream], x.index)
    return prefix_steps(run, clock, [(*second, "")], [first])


def _notes(run: Run, x: Record, y: Record) -> Iterator[str]:
    low, high = max(x.access.low, y.access.low), min(x.access.high, y.access.high)
    if is_descriptor(x.access.space):
        return
    unit = "columns" if x.access.space.startswith("tmem") else "bytes"
    yield f"both touch {unit} {low} to {high - 1} of {place(x.access.space)}"
    if x.component == SYNC and x.stream != y.stream and _issued_before(x, y):
        yield (
            "only cp.async.mbarrier.arrive comes between, which speaks for copies alone: what threads store themselves "
            "needs an arrival of theirs"
        )
    if x.component != SYNC and _issued_before(x, y):
        yield f"{agent_name(run, x.stream)} starts it at {x.event.op}; it ends some time later"
    if x.stream == y.stream and x.event.engine in COMMITTED and y.event.engine in COMMITTED:
        yield (
            "ops of the tensor core that one warp starts may end in any order but for PTX ISA's pipelined pairs: cp -> mma, "
            "shift -> mma, mma -> shift, shift -> cp, and MMAs of one accumulator"
        )
        events = run.program.streams[x.stream].events[x.index : y.index - 1]
        mma = next((e for e in events if e.engine is Engine.TCGEN05), None)
        if mma is not None and x.access.write and y.event.engine is Engine.TCGEN05_CP:
            yield (
                f"the MMA at {mma.op} comes between, but nothing says that it reads {accessed(x)}, as scale factors are: if "
                "it does, give it a view of them (or its `reads` in an annotation file), and it keeps the copies in order"
            )
