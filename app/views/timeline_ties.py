"""What a finding says of places in the timeline: a deadlock's cycle as arrows from each wait to the one it waits for, a race
as its two intervals with the order that is missing between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import pi

from warpdraft.core.findings import Finding, Step

from .timeline import Columns, Drawing

CYCLE = "WD301"
PAIRS = ("WD4", "WD5")  # rules about two accesses, by the start of their codes
WAITS, UNORDERED = "waits for", "nothing orders these"
APART = 0.006  # of the whole time, between the arrows of a cycle

Places = frozenset[tuple[str, str]]  # (op, iteration in words)


@dataclass(frozen=True, slots=True)
class Tie:
    """``first`` waits for what ``second`` owes, or (``waits`` false) should end before ``second`` starts."""

    first: Step
    second: Step
    waits: bool


@dataclass(frozen=True, slots=True)
class _Spot:
    """An interval of the timeline: when, and at which height."""

    left: float
    right: float
    y: float


def places_of(finding: Finding | None) -> Places:
    """Where a finding shows: the steps that it is about, and the last step of its witness at each op that it names."""
    if finding is None:
        return frozenset()
    last = {step.op: step.at for step in finding.witness if step.op in finding.ops}
    return frozenset([*last.items(), *((step.op, step.at) for step in finding.witness if step.marked)])


def ties_of(finding: Finding | None) -> tuple[Tie, ...]:
    """The pairs of steps that a finding is about."""
    marked = [step for step in finding.witness if step.marked] if finding is not None else []
    if finding is None or len(marked) < 2:
        return ()
    if finding.code == CYCLE:
        return tuple(Tie(a, b, True) for a, b in pairwise([*marked, marked[0]]))
    if finding.code.startswith(PAIRS) and len(marked) == 2:
        return (Tie(*marked, False),)
    return ()


def tie_columns(drawing: Drawing, ties: tuple[Tie, ...]) -> Columns:
    """``ties`` as segments with an arrow's head and a word each, and from when to when their intervals last; those whose
    steps are not in the timeline are left out."""
    columns: Columns = {name: [] for name in ("x0", "y0", "x1", "y1", "angle", "x", "y", "text", "align", "low", "high")}
    for number, tie in enumerate(ties):
        first, second = (_spot(drawing, step) for step in (tie.first, tie.second))
        if first is None or second is None:
            continue
        x = max(1, drawing.total) * (1 - APART * (2 * number + 1))
        x0, x1 = (x, x) if tie.waits else (first.right, second.left)
        angle = (pi if second.y > first.y else 0.0) if tie.waits else (pi / 2 if x1 < x0 else -pi / 2)
        middle = ((x0 + x1) / 2, (first.y + second.y) / 2, UNORDERED, "center")
        words = (x, first.y, WAITS, "right") if tie.waits else middle
        span = min(first.left, second.left), max(first.right, second.right)
        for name, value in zip(columns, (x0, first.y, x1, second.y, angle, *words, *span), strict=True):
            columns[name].append(value)
    return columns


def _spot(drawing: Drawing, step: Step) -> _Spot | None:
    """From the start to the end of what the step does: an engine's bar, where it starts one, ends it."""
    found = list(_bars(drawing, step))
    if not found:
        return None
    last = max(found, key=lambda spot: spot.right)
    return _Spot(min(spot.left for spot in found), last.right, last.y)


def _bars(drawing: Drawing, step: Step) -> Iterator[_Spot]:
    task, _, warps = step.agent.partition("/")[0].rpartition(".w")
    for data in (drawing.bars, drawing.waits):
        for i, op in enumerate(data["op"]):
            if op == step.op and data["at"][i] == step.at and _is_of(data["lane"][i], task, warps):
                yield _Spot(data["left"][i], data["right"][i], (data["top"][i] + data["bottom"][i]) / 2)


def _is_of(lane: str, task: str, warps: str) -> bool:
    """Whether a lane is of one of these warps of the task, or an engine's."""
    owner, _, here = lane.rpartition(".w")
    return not owner or (owner == task and not _numbers(here).isdisjoint(_numbers(warps)))


def _numbers(text: str) -> frozenset[int]:
    """{0, 2, 3} of "0,2-3"."""
    numbers: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        if low.isdigit():
            numbers.update(range(int(low), int(high or low) + 1))
    return frozenset(numbers)
