"""Who can ever tell how much a warp knows of another: the tasks that share a barrier or bytes with it.

A clock value matters only where it is compared, and it is compared only by streams that share something with the stream or
the barrier that it speaks of. What all of these know already makes no difference in anybody's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .document import Op, OpKind, Signal, Task
from .footprints import stage_bytes, tracked
from .machine import Machine
from .program import Barrier, Program
from .tree import ops_of, walk

CLUSTERS = (
    OpKind.CLUSTER_SYNC,
    OpKind.CLUSTER_ARRIVE,
    OpKind.CLUSTER_WAIT,
)  # on the cluster's barrier, which has no name


class Askers(NamedTuple):
    """The streams that may touch, or share bytes with, each resource (all, one that is not named), and those with events at
    each barrier, or at another stage of its side; and the ``ops`` of each stream that show it."""

    resources: dict[str, frozenset[int]]
    barriers: list[frozenset[int]]
    ops: list[frozenset[str]]


class Audience(NamedTuple):
    """The streams that may compare what is known of each stream, and of each barrier; and who may ask at all."""

    streams: list[frozenset[int]]
    barriers: list[frozenset[int]]
    askers: Askers


def audience_of(machine: Machine, program: Program) -> Audience:
    """That of ``program``, or of any other one of ``machine``: streams may do whatever their tasks can."""
    things = {t.name: _things(machine, t) for t in machine.document.tasks}
    by_stream = [things[s.task] for s in program.streams]
    noted = {t.name for t in machine.document.tasks if any(o.id in machine.noted for o in ops_of(t))}
    everyone = frozenset(range(len(by_stream)))
    streams = [
        everyone if s.task in noted else frozenset(w for w, other in enumerate(by_stream) if own & other)
        for s, own in zip(program.streams, by_stream, strict=True)
    ]
    touching = _by_name(machine, by_stream)
    # where engines arrive, a phase tells of the works before a commit, wherever these are
    barriers = [
        frozenset().union(*(streams[w] for w in who)) if _committing(machine, b.resource) else who
        for b in program.barriers
        for who in [touching.get(b.resource, everyone)]
    ]
    asking = [touching.get(b.resource, everyone) for b in program.barriers]
    return Audience(streams, barriers, Askers(touching, asking, []))


def askers_of(machine: Machine, programs: Sequence[Program]) -> Askers:
    """Those of programs whose streams do nothing but what those of ``programs`` do."""
    touched: list[frozenset[str]] = []
    ops: list[frozenset[str]] = []
    sides: dict[tuple, set[int]] = {}
    for w, streams in enumerate(zip(*(p.streams for p in programs), strict=True)):
        events = {(e.op, e.barrier, e.also, e.accesses) for s in streams for e in s.events}
        for b in {b for _, first, also, _ in events for b in (first, *also) if b >= 0}:
            sides.setdefault(_side(machine.barriers[b]), set()).add(w)
        touched.append(_with_aliases(machine, {a.resource for *_, accesses in events for a in accesses}))
        ops.append(frozenset(op for op, *_ in events))
    barriers = [frozenset(sides.get(_side(b), ())) for b in machine.barriers]
    return Askers(_by_name(machine, touched), barriers, ops)


def _committing(machine: Machine, name: str) -> bool:
    """Whether an engine may arrive on barriers of ``name``, once what was started before is done."""
    signals = {machine.producer.get(name), machine.consumer.get(name)}
    return name not in machine.resources or not signals.isdisjoint((Signal.COMMIT, Signal.CP_ASYNC))


def _side(barrier: Barrier) -> tuple:
    return barrier.kind, barrier.resource, barrier.side, barrier.cta


def _by_name(machine: Machine, by_stream: Sequence[frozenset[str]]) -> dict[str, frozenset[int]]:
    if machine.judged.allocated:  # whoever frees tensor memory touches what lies there
        return {}
    return {
        name: frozenset(w for w, own in enumerate(by_stream) if name in own)
        for name in frozenset().union(*by_stream)
    }


def _things(machine: Machine, task: Task) -> frozenset[str]:
    """The names of everything that ``task`` may touch, and of what shares bytes or a hardware barrier with it."""
    found: set[str] = set()
    for node in walk(task.body):
        if isinstance(node, Op) and (node.target or node.kind in CLUSTERS):
            found.add(node.target)
            found |= {v for _, v in node.args if isinstance(v, str)}
    found -= {r.name for r in machine.document.resources if not tracked(r)}
    return _with_aliases(machine, found)


def _with_aliases(machine: Machine, names: Iterable[str]) -> frozenset[str]:
    found = set(names)
    ids = {b.id for b in machine.document.barriers if b.name in found}
    found |= {b.name for b in machine.document.barriers if b.id in ids}
    for name in list(found):
        found |= _overlapping(machine, name)
    return frozenset(found)


def _overlapping(machine: Machine, name: str) -> set[str]:
    here = _place(machine, name)
    if here is None:
        return set()
    space, low, high = here
    others = {other: _place(machine, other) for other in machine.offsets}
    return {o for o, at in others.items() if at and at[0] is space and at[1] < high and low < at[2]}


def _place(machine: Machine, name: str) -> tuple | None:
    resource = machine.resources.get(name)
    if resource is None or name not in machine.offsets:
        return None
    stages = max(
        resource.pipeline.stages if resource.pipeline else 1,
        resource.storage.stages if resource.storage else 1,
    )
    low = machine.offsets[name]
    return resource.space, low, low + stages * stage_bytes(resource)
