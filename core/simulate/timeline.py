"""The predicted timeline as plain data: what every lane does when, who frees whom, and how full each stage is.

Times are SM cycles from the start of the CTA. A lane is a warp or an engine; op ids are those of the document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

At = tuple[tuple[str, int], ...]


class Lane(NamedTuple):
    """A row of the timeline. ``kind`` is "warp" or "engine"; an engine has no task (""), and warp -1."""

    name: str
    kind: str
    task: str = ""
    warp: int = -1


class Bar(NamedTuple):
    """One op (or its asynchronous part) on ``lane`` (an index into `Timeline.lanes`), in cycles [start, end).

    ``kind``: "issue" (the warp spends cycles on starting or signalling something), "work" (the warp's own work),
    "wait" (blocked), "in-flight" (on an engine's lane). ``at`` is the iteration, outermost loop first. ``resource`` and
    ``stage`` say what it is about ("" and -1: nothing). Bars that overlap in one lane have different ``row``s. ``open``: a
    wait that never ends; its ``end`` is the end of the timeline.
    """

    lane: int
    op: str
    at: At
    start: int
    end: int
    kind: str
    resource: str = ""
    stage: int = -1
    row: int = 0
    open: bool = False


class Arrow(NamedTuple):
    """What frees a wait: ``op`` on ``lane`` at cycle ``time`` lets ``to_op`` on ``to_lane`` go on at ``to_time``."""

    lane: int
    op: str
    at: At
    time: int
    to_lane: int
    to_op: str
    to_at: At
    to_time: int


class Occupancy(NamedTuple):
    """Stage ``stage`` of pipeline ``resource`` is "empty", "filling", "full" or "reading" in cycles [start, end)."""

    resource: str
    stage: int
    state: str
    start: int
    end: int


class Columns(NamedTuple):
    """Columns [low, high) of CTA ``cta``'s tensor memory in cycles [start, end): "allocated", or held by ``what`` ("acc[1]")
    which is "filling", "full" or "reading". The stages of pipelines are those of CTA 0 in each CTA of its cluster."""

    low: int
    high: int
    what: str
    state: str
    start: int
    end: int
    cta: int = 0


class Blocked(NamedTuple):
    """A wait that nothing ends: ``op`` of lane ``lane`` waits at ``barrier`` since cycle ``since``; ``owed`` says what is
    missing there, e.g. "8 of 8 arrivals"."""

    lane: int
    op: str
    at: At
    barrier: str
    since: int
    owed: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """The result of `simulate`.

    ``total``: cycles to the last event. ``ended``: every warp came to its end; otherwise ``blocked`` lists the waits that
    stay open (a deadlock), or ``truncated`` says that the event limit was reached. ``values`` are the symbols' values that
    were simulated, ``busy`` the cycles in which each engine lane works, ``notes`` what the reader should know, ``columns``
    what tensor memory holds.
    """

    lanes: tuple[Lane, ...]
    bars: tuple[Bar, ...]
    arrows: tuple[Arrow, ...]
    stages: tuple[Occupancy, ...]
    total: int
    ended: bool
    truncated: bool = False
    blocked: tuple[Blocked, ...] = ()
    values: tuple[tuple[str, int], ...] = ()
    busy: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    columns: tuple[Columns, ...] = ()

    @property
    def bottleneck(self) -> str:
        """One line: the busiest engine and its share of the time, e.g. "tensor core busy 91 % of 21034 cycles"."""
        if not self.busy or not self.total:
            return "no engine is used"
        name, cycles = max(self.busy, key=lambda item: item[1])
        return f"{name} busy {100 * cycles // self.total} % of {self.total} cycles"
