"""WD704  cross-cta-trips: CTAs that share a pipeline run their loops over it a different number of times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..arrivals import constant_trips
from ..clusters import looked_at, runs_in
from ..document import Document, Guard, GuardKind, Loop, Node, Op, OpKind, Task
from ..expressions import Symbol, symbols_of
from ..findings import Finding
from ..machine import Machine
from ..program import Event, EventKind
from ..run import Run, prefix_steps
from ..tree import ops_of, walk
from ..unroll import PIPELINE_KINDS
from .base import Hazard, error, listed, unique
from .examples import K, acquire, commit, document, fence, loop, op, release, ring, task, wait, work

CODE, NAME = "WD704", "cross-cta-trips"

EXPECTED = "one trip count for all CTAs that share the pipeline"
ADVICE = (
    "give all CTAs of a cluster work of one size (a multiple of the cluster's size for each group), or leave the "
    "pipeline within a CTA"
)
ALL_TIMES = (
    GuardKind.CTA_RANK,
    GuardKind.ELECT_WARP,
    GuardKind.ELECT_LANE,
)  # the other guards leave iterations out


def check(document: Document) -> Iterator[Finding]:
    """Loops over a symbol with a value for each CTA, or of different constant lengths in different CTAs, around ops on a
    pipeline whose barriers several CTAs share."""
    ctas = looked_at(document)
    by_rank = (
        n.kind is GuardKind.CTA_RANK for t in document.tasks for n in walk(t.body) if isinstance(n, Guard)
    )
    if ctas == 1 or not (any(s.per_cta for s in document.symbols) or any(by_rank)):
        return
    for name in sorted(Machine(document).crossing):
        yield from _written(document, name, ctas)
        if not any(s.per_cta for s in document.symbols):
            continue
        found = [
            (c, t.name, *use) for c in range(ctas) for t in document.tasks for use in _uses(t.body, c, name)
        ]
        counted = [use for use in found if use[3]]
        if len({c for c, *_ in found}) > 1 and counted:
            yield _finding(name, counted)


def examine(run: Run) -> Iterator[Finding]:
    """Runs that are stuck at an mbarrier which several CTAs reach, or leave a copy that lands there to itself, where one
    CTA has done its part less often."""
    if run.machine.ctas == 1 or run.execution.stopped:
        return
    stuck = (e.barrier for _, e in run.blocked() if e.kind is EventKind.WAIT and not e.drain)
    names = sorted({*(run.barrier(b).resource for b in stuck), *_left_alone(run)})
    uneven = {name: found for name in names if (found := _uneven(run, name))}
    if uneven:
        for finding in check(run.document):  # which has said so
            uneven = {name: found for name, found in uneven.items() if name not in finding.resources}
    if not uneven:
        return
    streams, (least, *more) = run.program.streams, next(iter(uneven.values()))
    tasks = unique(streams[use.stream].task for found in uneven.values() for use in found)
    yield error(
        CODE,
        NAME,
        f"the CTAs of the cluster share {listed(uneven)}, but {listed(tasks)} "
        f"{'does its part' if len(tasks) == 1 else 'do their part'} more often in one of them than in another",
        ops=unique(op for found in uneven.values() for use in found for op in use.ops),
        resources=tuple(uneven),
        tasks=tasks,
        expected=EXPECTED,
        actual=", ".join(f"CTA {streams[u.stream].cta}: {u.times}" for u in (least, *more)),
        notes=(ADVICE,),
        witness=prefix_steps(run, run.execution.at, []),
    )


def _left_alone(run: Run) -> Iterator[str]:
    """The mbarriers of a CTA that complete with a copy of which none of its warps knows at the end."""
    execution, streams = run.execution, run.program.streams
    for b in execution.landing if not execution.blocked else ():
        ends = [execution.base[w] for w, s in enumerate(streams) if s.cta == run.barrier(b).cta]
        if all(end[execution.n + b] < execution.state[b].completed for end in ends):
            yield run.barrier(b).resource


class Use(NamedTuple):
    """What stream ``stream`` does to an mbarrier: ``kind`` of events, how often, by which ops; ``over``: it has done them
    all; ``crosses``: in another CTA."""

    stream: int
    kind: EventKind
    times: int
    ops: tuple[str, ...]
    over: bool
    crosses: bool


def _uses_in(run: Run, name: str) -> list[Use]:
    found = []
    for w, stream in enumerate(run.program.streams):
        by_kind: dict[EventKind, list[tuple[int, Event]]] = {}
        for i, event in enumerate(stream.events):
            if event.barrier >= 0 and run.barrier(event.barrier).resource == name:
                by_kind.setdefault(event.kind, []).append((i, event))
        for kind, events in by_kind.items():
            reached = {run.barrier(b).cta for _, e in events for b in e.barriers}
            ops, over = unique(e.op for _, e in events), events[-1][0] < run.execution.at[w]
            found.append(Use(w, kind, len(events), ops, over, bool(reached - {stream.cta})))
    return found


def _uneven(run: Run, name: str) -> list[Use]:
    """A part of the work on ``name`` that a CTA has done to its end, and then those of the same warps elsewhere that do it
    more often; empty where no CTA reaches into another, or all do it as often."""
    streams, uses = run.program.streams, _uses_in(run, name)
    if not any(use.crosses for use in uses):
        return []
    for use in (u for u in uses if u.over):
        part = use.kind, streams[use.stream].task, streams[use.stream].warps
        alike = (u for u in uses if (u.kind, streams[u.stream].task, streams[u.stream].warps) == part)
        if more := [u for u in alike if u.times > use.times]:
            return [use, *more]
    return []


def _written(document: Document, name: str, ctas: int) -> Iterator[Finding]:
    """CTAs that do one part of the pipeline, each a number of times that is written down."""
    uneven = [
        (t, kind, done)
        for t in document.tasks
        for kind in (OpKind.COMMIT, OpKind.RELEASE)
        if (done := _by_cta(t, ctas, name, kind))
    ]
    if not uneven:
        return
    t, kind, done = uneven[0]
    yield error(
        CODE,
        NAME,
        f"the CTAs of the cluster share {name}, but {t.name} makes {kind.value} more often in one of them than in another",
        ops=unique(o.id for u, k, _ in uneven for o in ops_of(u) if o.target == name and o.kind is k),
        resources=(name,),
        tasks=unique(u.name for u, _, _ in uneven),
        expected=EXPECTED,
        actual=", ".join(f"CTA {c}: {times}" for c, times in done.items()),
        notes=(ADVICE,),
    )


def _by_cta(task: Task, ctas: int, name: str, kind: OpKind) -> dict[int, int]:
    """How often each CTA that does ops of ``kind`` on ``name`` does them, if that is known and differs."""
    counts = {c: _times(task.body, c, name, kind) for c in range(ctas)}
    done = {c: times for c, times in counts.items() if times != 0}
    if None in done.values() or len(set(done.values())) < 2:
        return {}
    return {c: times for c, times in done.items() if times is not None}


def _times(nodes: tuple[Node, ...], cta: int, name: str, kind: OpKind) -> int | None:
    """How often CTA ``cta`` does ops of ``kind`` on ``name``; None: not known."""
    total = 0
    for node in nodes:
        if isinstance(node, Op):
            total += node.target == name and node.kind is kind
        elif runs_in(node, cta):
            inner = _times(node.body, cta, name, kind)
            often = constant_trips(node) if isinstance(node, Loop) else 1
            if inner and isinstance(node, Guard) and node.kind not in ALL_TIMES:
                inner = None
            if inner is None or (inner and often is None):
                return None
            total += inner * (often or 0)
    return total


def _uses(nodes: tuple[Node, ...], cta: int, name: str, bound: str = "") -> Iterator[tuple[str, str]]:
    """The ops of CTA ``cta`` on pipeline ``name``, with the symbol of its own that decides how often each runs."""
    for node in nodes:
        if isinstance(node, Op):
            if node.target == name and node.kind in PIPELINE_KINDS:
                yield node.id, bound
        elif runs_in(node, cta):
            own = [
                s.name
                for e in ((node.start, node.stop, node.step) if isinstance(node, Loop) else ())
                for s in symbols_of(e)
                if s.per_cta
            ]
            yield from _uses(node.body, cta, name, own[0] if own else bound)


def _finding(name: str, uses: list[tuple[int, str, str, str]]) -> Finding:
    symbols = unique(symbol for *_, symbol in uses)
    return error(
        CODE,
        NAME,
        f"the CTAs of the cluster share {name}, but each runs its loop over it as often as its own {symbols[0]} says",
        ops=unique(id for _, _, id, _ in uses),
        resources=(name,),
        tasks=unique(task for _, task, _, _ in uses),
        expected=EXPECTED,
        actual=f"{symbols[0]} may differ between CTAs",
        notes=(ADVICE,),
    )


def _grouped(trips: Symbol):
    end = op(OpKind.CLUSTER_SYNC)
    return document(
        "CTAs of one cluster work on groups of different sizes"
        if trips.per_cta
        else "CTAs work on groups of one size",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"), stop=trips), end),
        task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab"), stop=trips), end),
        resources=(ring(cta_layout=(1, 2, 1, 1)),),
        symbols=(trips,),
        cluster=(2, 1, 1),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="CTAs that share a pipeline run the same trip counts.",
    why="A stage is full, or free again, only when every CTA has done its part: the CTA with more iterations waits for "
    "ever, or takes the other's next tile for its own.",
    bad=_grouped(Symbol("k_of_group", 0, per_cta=True)),
    good=_grouped(K),
    check=check,
    examine=examine,
)
