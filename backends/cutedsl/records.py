"""The records of a profile build as a timeline: what each warp of one CTA did when, in cycles of its SM's clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from warpdraft.core.document import Document, Loop, Node, Op, OpKind
from warpdraft.core.expressions import evaluate
from warpdraft.core.op_integers import chosen
from warpdraft.core.simulate import Bar, Lane, Timeline, cta_values
from warpdraft.core.simulate.timeline import At
from warpdraft.core.unroll import trip_count

WRAP = 1 << 32  # the records hold the low word of the clock
READY = (
    160  # cycles, arming included: a wait on a complete phase takes 98 to 130 (a profile build on an H200)
)
BLOCKING = {
    OpKind.ACQUIRE,
    OpKind.WAIT,
    OpKind.MBARRIER_WAIT,
    OpKind.BARRIER_SYNC,
    OpKind.GROUP_WAIT,
    OpKind.GROUP_WAIT_READ,
    OpKind.CLUSTER_SYNC,
    OpKind.CLUSTER_WAIT,
}


def read_records(document: Document, records: Mapping[str, Any], cta: int = 0) -> Timeline:
    """The timeline of CTA ``cta``, from its first warp's start on.

    ``records`` are what `kernel.profile.json` holds. Raises ValueError where they are not of this document or that CTA.
    """
    warps = [w for w in records["warps"] if w["cta"] == cta]
    if not warps:
        have = sorted({w["cta"] for w in records["warps"]})
        raise ValueError(f"CTA {cta} left no records; {len(have)} CTAs did, from {have[:1]} to {have[-1:]}")
    values = cta_values(document, records["sizes"], records["sms"], cta)[1]
    origin = warps[0]["clock"][0]
    start = min(_since(w["clock"][0], origin) for w in warps) + origin
    lanes: list[Lane] = []
    bars: list[Bar] = []
    for task in document.tasks:
        placed = {op.id: (op, loops) for op, loops in _placed(task.body, ())}
        for record in warps:
            warp = record["warp"] - task.warp_idx
            if 0 <= warp < task.num_warps:
                lanes.append(Lane(f"{task.name}.w{warp}", "warp", task.name, warp))
                bars += _bars(len(lanes) - 1, record["ops"], placed, values, start)
    if not bars:
        raise ValueError(f"no record is of an op of {document.name}")
    total = max(bar.end for bar in bars)
    steps = records["steps"]
    full = any(len(r) >= steps for w in warps for r in w["ops"].values())
    notes = (f"only the first {steps} times of each op in a warp were recorded",) if full else ()
    return Timeline(
        tuple(lanes),
        tuple(sorted(bars, key=lambda b: (b.lane, b.start))),
        (),
        (),
        total,
        True,
        truncated=full,
        values=tuple(values.items()),
        notes=notes,
    )


def _since(clock: int, origin: int) -> int:
    """Signed distance between two readings of a clock that wraps."""
    return (clock - origin + WRAP // 2) % WRAP - WRAP // 2


def _placed(nodes: Sequence[Node], loops: tuple[Loop, ...]) -> Iterator[tuple[Op, tuple[Loop, ...]]]:
    """Each op with the loops around it."""
    for node in nodes:
        if isinstance(node, Op):
            yield node, loops
        else:
            yield from _placed(node.body, (*loops, node) if isinstance(node, Loop) else loops)


def _bars(
    lane: int,
    ops: Mapping[str, Sequence[Sequence[int]]],
    placed: Mapping[str, tuple[Op, tuple[Loop, ...]]],
    values: Mapping[str, int],
    start: int,
) -> Iterator[Bar]:
    for name, stamps in ops.items():
        if name not in placed:
            continue
        op, loops = placed[name]
        stage = chosen(op.stage)
        for step, (begin, end) in enumerate(stamps):
            if begin or end:
                low = _since(begin, start)
                high = low + max(1, (end - begin) % WRAP)
                at = _iteration(step, loops, values)
                about = stage if isinstance(stage, int) and op.kind is OpKind.WORK else -1
                yield Bar(lane, name, at, low, high, _kind(op, high - low), op.target, about)


def _kind(op: Op, cycles: int) -> str:
    if op.kind in BLOCKING:
        return "wait" if cycles > READY else "issue"
    return "work" if op.kind is OpKind.WORK else "issue"


def _iteration(step: int, loops: Sequence[Loop], values: Mapping[str, int]) -> At:
    """The iteration in which an op is for the ``step``-th time: the inverse of how a kernel counts."""
    at: list[tuple[str, int]] = []
    for loop in reversed(loops):
        trips = max(1, trip_count(loop, values))
        turn, step = step % trips, step // trips
        if loop.kind == "tile":
            at.append(("tile", turn))
        else:
            at.append((loop.var, evaluate(loop.start, values) + turn * evaluate(loop.step, values)))
    return tuple(reversed(at))
