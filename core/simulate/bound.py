"""What bounds a timeline: the busiest engine, or whoever it is left waiting for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .timeline import Arrow, Bar, Timeline

HALF = 50  # per cent: where nothing is busy for half of the time, a task that is alone or latencies bound it
IDLE = 3  # per cent of its own stretch that the busiest engine may wait for one thing, and still be what bounds it


def bound(timeline: Timeline) -> str:
    """ "bounded by tensor core, busy 91 % of 21034 cycles"; where that engine is kept waiting, by whom: "bounded by TMA's
    work on ab, for which tensor core waits 17 % of its time (busy 80 % of 21034 cycles)"; where all others have nothing to
    do for longer than that engine works, who is left: "bounded by task epilogue, alone at work for 49 % of 7224 cycles
    (tensor core is busy for 28 %)"."""
    busy = dict(timeline.busy)
    for number, lane in enumerate(timeline.lanes):
        if lane.kind == "warp":
            bars = (b for b in timeline.bars if b.lane == number and b.kind in ("issue", "work"))
            busy[f"warp {lane.name}"] = sum(b.end - b.start for b in bars)
    if not busy or not timeline.total:
        return "nothing is busy"
    name = max(busy, key=lambda n: busy[n])
    share = 100 * busy[name] // timeline.total
    if share < HALF:
        task, cycles = max(alone(timeline).items(), key=lambda item: item[1], default=("", 0))
        if cycles > busy[name]:
            text = f"alone at work for {100 * cycles // timeline.total} % of {timeline.total} cycles"
            return f"bounded by task {task}, {text} ({name} is busy for {share} %)"
    held = held_up(timeline, name)
    if held:
        cause, waits = max(held.items(), key=lambda item: item[1])
        if waits > IDLE:
            text = f"for which {name} waits {waits} % of its time (busy {share} % of {timeline.total} cycles)"
            return f"bounded by {cause}, {text}"
    if share < HALF:
        return f"bounded by latencies: the busiest, {name}, works {share} % of {timeline.total} cycles"
    return f"bounded by {name}, busy {share} % of {timeline.total} cycles"


def alone(timeline: Timeline) -> dict[str, int]:
    """The cycles in which only one of several tasks does anything, itself or by what it has started, by task."""
    tasks = {
        b.op: timeline.lanes[b.lane].task for b in timeline.bars if timeline.lanes[b.lane].kind == "warp"
    }
    if len(set(tasks.values())) < 2:
        return {}
    changes = []
    for bar in timeline.bars:
        if bar.kind != "wait" and bar.op in tasks:
            changes += [(bar.start, 1, tasks[bar.op]), (bar.end, -1, tasks[bar.op])]
    at_work: Counter[str] = Counter()
    found: Counter[str] = Counter()
    last = 0
    for time, change, task in sorted(changes):
        running = [name for name, number in at_work.items() if number]
        if len(running) == 1:
            found[running[0]] += time - last
        at_work[task] += change
        last = time
    return dict(found)


def held_up(timeline: Timeline, engine: str) -> dict[str, int]:
    """Whom engine ``engine`` waits for between its first and its last work, each with the share of that time (per cent).

    While it has nothing to do, the warp that starts its next work waits for somebody: an arrow says for whom.
    """
    lane = next(
        (i for i, own in enumerate(timeline.lanes) if own.kind == "engine" and own.name == engine), None
    )
    work = sorted((b for b in timeline.bars if b.lane == lane), key=lambda b: b.start)
    if len(work) < 2:
        return {}
    issuers = {
        (b.op, b.at): b.lane
        for b in timeline.bars
        if timeline.lanes[b.lane].kind == "warp" and b.kind == "issue"
    }
    waits: dict[int, list[Bar]] = {}
    for bar in timeline.bars:
        if bar.kind == "wait":
            waits.setdefault(bar.lane, []).append(bar)
    freed = {(a.to_lane, a.to_op, a.to_at): a for a in timeline.arrows}
    found: dict[str, int] = {}
    end = work[0].end
    for bar in work[1:]:
        issuer = issuers.get((bar.op, bar.at))
        wait = _wait(waits.get(issuer, ()), end, bar.start) if bar.start > end else None
        arrow = freed.get((wait.lane, wait.op, wait.at)) if wait else None
        if wait is not None and arrow is not None:
            cause = _cause(timeline, arrow, wait)
            found[cause] = found.get(cause, 0) + bar.start - end
        end = max(end, bar.end)
    span = end - work[0].start
    return {cause: 100 * cycles // span for cause, cycles in found.items()}


def _wait(waits: Iterable[Bar], low: int, high: int) -> Bar | None:
    """The wait that takes most of cycles [low, high), if any does."""
    inside = [(min(high, w.end) - max(low, w.start), w) for w in waits if w.start < high and w.end > low]
    return max(inside, key=lambda pair: pair[0], default=(0, None))[1]


def _cause(timeline: Timeline, arrow: Arrow, wait: Bar) -> str:
    lane = timeline.lanes[arrow.lane]
    if lane.kind == "engine":
        return f"{lane.name}'s work" + (f" on {wait.resource}" if wait.resource else "")
    return f"task {lane.task}, which hands on {wait.resource}"
