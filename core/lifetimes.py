"""Explicit mbarrier.init, inval and fence.mbarrier_init: who may know a raw mbarrier to be live, and whose bytes are whose.

A program with such ops is executed once more, and the clock of each is kept. Without an init op a barrier is live from the
start (the prologue initialises and publishes it). Source: PTX ISA, mbarrier.init, mbarrier.inval, "fence.mbarrier_init".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from .clocks import BY_ENGINES, Execution
from .consistency import PARITIES
from .document import Document, Loop, OpKind
from .incidents import Clock
from .program import Event, EventKind, Program, in_cta
from .run import Run
from .tree import ops_of, placed

BYTES = 8  # of an mbarrier (PTX ISA, "Size and alignment of the mbarrier object")


class Moment(NamedTuple):
    """Event ``index`` (1-based) of ``stream``, under ``clock``."""

    stream: int
    index: int
    clock: Clock
    event: Event
    phase: int = 0  # of the barrier that it is about, when it happened


PROLOGUE = Moment(-1, 0, (), Event(EventKind.LIFETIME, "", number=1))


def over(x: Moment, b: int, y: Moment, n: int) -> bool:
    """Whether what ``x`` starts on barrier ``b`` has ended before ``y``; ``n`` streams have their place in clocks first."""
    if x.event.kind not in BY_ENGINES:
        return before(x, y)
    return before(x, y) and y.clock[n + b] > x.phase


def before(x: Moment, y: Moment) -> bool:
    """Whether ``x`` happens before ``y``; the prologue is before everything."""
    if x is PROLOGUE or y is PROLOGUE:
        return y is not PROLOGUE
    return y.clock[x.stream] >= x.index or (x.stream == y.stream and x.index < y.index)


@dataclass
class Lifetimes:
    """By barrier number: its inits, its invals, and its uses; ``fences`` by stream, and accesses ``data`` to its bytes."""

    inits: dict[int, list[Moment]] = field(default_factory=dict)
    invals: dict[int, list[Moment]] = field(default_factory=dict)
    uses: dict[int, list[Moment]] = field(default_factory=dict)
    fences: dict[int, list[Moment]] = field(default_factory=dict)
    data: dict[int, list[Moment]] = field(default_factory=dict)
    sharing: list[tuple[int, int]] = field(default_factory=list)  # barriers whose bytes overlap


def moving(document: Document) -> bool:
    """Whether lives begin or end in loops, end at all, or share bytes: then each trip count is looked at by itself."""
    return any(m.address is not None for m in document.mbarriers) or any(
        getattr(found.node, "kind", None) is OpKind.MBARRIER_INVAL
        or (
            getattr(found.node, "kind", None) is OpKind.MBARRIER_INIT
            and any(isinstance(parent, Loop) for parent in found.parents)
        )
        for found in placed(document)
    )


def again(document: Document) -> list[str]:
    """The raw mbarriers that may be initialised more than once, so that their phases start anew, while some wait follows
    the phases in turn: which turn it is then, the schedule does not say."""
    ops = [f.node for f in placed(document)]
    in_turn = {o.target for o in ops if getattr(o, "kind", None) in PARITIES and o.count is None}
    return [name for name in _again(document) if name in in_turn]


def _again(document: Document) -> list[str]:
    inits = [f for f in placed(document) if getattr(f.node, "kind", None) is OpKind.MBARRIER_INIT]
    stages: dict[str, list[int | None]] = {}
    for found in inits:
        stages.setdefault(found.node.target, []).append(found.node.stage)
    looped = {f.node.target for f in inits if any(isinstance(parent, Loop) for parent in f.parents)}
    return [
        name
        for name, many in stages.items()
        if name in looped or len(many) > len(set(many)) or (None in many and len(many) > 1)
    ]


def lifetimes(run: Run) -> Lifetimes:
    """What ``run``'s program does to its raw mbarriers, with clocks."""
    found = Lifetimes()
    addresses = {m.name: m.address for m in run.document.mbarriers}
    inits = [o for task in run.document.tasks for o in ops_of(task) if o.kind is OpKind.MBARRIER_INIT]
    places: dict[int, tuple[int, int]] = {}  # barrier -> CTA, first byte
    for b, barrier in enumerate(run.program.barriers):
        if barrier.side != "raw":
            continue
        found.uses[b], found.invals[b], found.data[b] = [], [], []
        stated = any(
            o.target == barrier.resource and (not isinstance(o.stage, int) or o.stage == barrier.stage)
            for o in inits
        )
        found.inits[b] = [] if stated else [PROLOGUE]
        if (address := addresses[barrier.resource]) is not None:
            places[b] = barrier.cta, address + BYTES * barrier.stage
    ordered = sorted(places)
    found.sharing = [
        (a, b)
        for a in ordered
        for b in ordered
        if a < b and places[a][0] == places[b][0] and abs(places[a][1] - places[b][1]) < BYTES
    ]
    _Recorded(run.program, found, places).run()
    return found


class _Recorded(Execution):
    """An execution that keeps the clocks of what concerns raw mbarriers."""

    def __init__(self, program: Program, found: Lifetimes, places: dict[int, tuple[int, int]]) -> None:
        super().__init__(program)
        self.found, self.places, self.done = found, places, set[tuple[int, int]]()

    @property
    def handlers(self) -> list:
        return [self._noting(handler) for handler in super().handlers]

    @staticmethod
    def _noting(handler: Callable[[_Recorded, int, int, Event], bool]) -> Callable:
        def noting(run: _Recorded, w: int, j: int, e: Event) -> bool:
            if (w, j) not in run.done and (e.barriers or e.accesses or e.kind is EventKind.LIFETIME):
                run.done.add((w, j))  # a wait that is tried again is one moment
                run._note(Moment(w, j, run.base[w], e, run.state[e.barrier].completed if e.barriers else 0))
            return handler(run, w, j, e)

        return noting

    def _note(self, moment: Moment) -> None:
        found, e = self.found, moment.event
        if e.kind is EventKind.LIFETIME:
            if e.barrier < 0:
                found.fences.setdefault(moment.stream, []).append(moment)
            else:
                (found.inits if e.number else found.invals)[e.barrier].append(moment)
            return
        for b in e.barriers:
            if b in found.uses:
                found.uses[b].append(moment)
        for b in self._touched(e):
            found.data[b].append(moment)

    def _touched(self, e: Event) -> Iterator[int]:
        for b, (cta, low) in self.places.items():
            space = in_cta("smem", cta)
            if any(a.space == space and a.low < low + BYTES and low < a.high for a in e.accesses):
                yield b
