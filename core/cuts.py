"""Unrolls a schedule and marks in each stream the places of every growing loop between which one step of its symbol lies.

A cut is a set of such marks, one in each stream that runs the loop; `chain` puts all cuts of a program in an order that
every stream agrees with, so that an execution can stop at one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .accesses import IN_HAND
from .clusters import CLUSTER_KINDS, ops_of_warp
from .cursors import OPENS, opening_cursor
from .document import Engine, Loop, OpKind, Task
from .growth import Growing, Growth
from .machine import Machine
from .op_integers import chosen
from .program import BarrierKind, Program, Stream
from .unroll import WarpWalk, streams_of

ASKS = {
    OpKind.ACQUIRE: "empty",
    OpKind.TRY_ACQUIRE: "empty",
    OpKind.PRODUCER_TAIL: "empty",
    OpKind.WAIT: "full",
    OpKind.TRY_WAIT: "full",
    OpKind.MBARRIER_WAIT: "raw",
    OpKind.MBARRIER_TRY_WAIT: "raw",
}
Key = tuple[
    str, tuple[int, ...], int, int
]  # symbol, iterations of the loops around, number among its loops there, 0 or 1


class Mark(NamedTuple):
    """A place in a stream, and what its unroller knew there: it decides all events behind."""

    position: int
    cursors: dict[tuple[str, str], int]
    turns: dict[int, int]  # waits on raw mbarriers
    views: dict[str, tuple]


class Cut(NamedTuple):
    """The marks of one cut by stream, and how far each stream may run before it."""

    key: Key
    marks: dict[int, Mark]
    limits: tuple[int, ...]


class Cutting(NamedTuple):
    """A program, its cuts in order, and the symbols of which it has no usable cuts, with the reason."""

    program: Program
    cuts: list[Cut]
    missing: dict[str, str]


class MarkingWalk(WarpWalk):
    """Records the marks of one stream on its way."""

    def __init__(self, growth: Growth, every: bool, *args) -> None:
        super().__init__(*args)
        self.growth, self.every = growth, every
        self.marks: dict[Key, Mark] = {}
        self.short: set[str] = set()
        self.numbers: dict[tuple[str, tuple[int, ...], int], int] = {}
        self.coming: Loop | None = None

    def loop(self, loop: Loop) -> None:
        self.coming = loop
        super().loop(loop)

    def iterations(self, trips: int) -> Iterable[int]:
        loop, outer = self.coming, tuple(i for _, i in self.at)
        growing = self.growth.of(loop.id, self.stream.cta) if loop else None
        if growing is None:
            return range(trips)
        around = growing.symbol, outer
        number = self.number(growing, outer)
        if self.every:
            return self.marked_at(loop, trips, {i: (*around, number, i) for i in range(trips + 1)})
        last = trips - growing.tail
        first = last - self.growth.more(growing)
        if first < growing.head:
            self.short.add(growing.symbol)
            return range(trips)
        return self.marked_at(loop, trips, {first: (*around, number, 0), last: (*around, number, 1)})

    def number(self, growing: Growing, outer: tuple[int, ...]) -> int:
        """The number of an instance that begins."""
        around = growing.symbol, outer, growing.team
        before = self.numbers.get(around, 0)
        self.numbers[around] = before + 1
        return self.growth.number(growing, before)

    def marked_at(self, loop: Loop, trips: int, places: dict[int, Key]) -> Iterator[int]:
        """The iterations of a loop, with marks before those in ``places``, and at its end."""
        for i in range(trips):
            if i in places:
                self._mark(loop, places[i])
            yield i
        if trips in places:
            self._mark(loop, places[trips])

    def _mark(self, loop: Loop, key: Key) -> None:
        self.marks[key] = self.mark_at(loop)

    def mark_at(self, loop: Loop) -> Mark:
        """Where it is now, before an iteration of ``loop`` or behind it. Views that nothing takes any more don't count."""
        live = self.machine.live(self.task, loop)
        views = {k: v for k, v in self.works.views.items() if k in live or k.endswith(IN_HAND)}
        return Mark(len(self.stream.events), dict(self.cursor), dict(self.raw), views)


def cut(machine: Machine, growth: Growth, values: Mapping[str, int]) -> Cutting:
    """The program at ``values`` (of representatives), with its cuts."""
    program, marks, short = marked(machine, growth, values)
    missing = dict.fromkeys(short, "too few iterations")
    kept = [{key: mark for key, mark in of.items() if key[0] not in short} for of in marks]
    order = chain(kept)
    if order is None:
        names = {key[0] for of in kept for key in of}
        return Cutting(
            program, [], missing | dict.fromkeys(names, "tasks run their loops in different orders")
        )
    return Cutting(program, cuts_in_order(order, kept, program.streams), missing)


def marked(
    machine: Machine, growth: Growth, values: Mapping[str, int], every: bool = False
) -> tuple[Program, list[dict[Key, Mark]], set[str]]:
    """The program, the marks of each stream, and the symbols with a loop too short for them. ``every``: instead, marks at
    both ends of each iteration, with its number in place of 0 and 1."""
    streams, marks, short = [], [], set()
    for task, stream in streams_of(machine):
        walk = MarkingWalk(growth, every, machine, task, stream, values, {})
        walk.whole()
        streams.append(stream)
        marks.append(walk.marks)
        short |= walk.short
    program = Program(tuple(streams), tuple(machine.barriers), tuple(sorted(values.items())), machine.noted)
    return program, marks, short


def chain(marks: list[dict[Key, Mark]]) -> list[Key] | None:
    """All keys in an order in which no stream goes back, or None."""
    left = [sorted(of, key=lambda key: (of[key].position, key[3] == 0, key)) for of in marks]
    places = [0] * len(left)
    users: dict[Key, list[int]] = {}
    for w, of in enumerate(marks):
        for key in of:
            users.setdefault(key, []).append(w)
    done: set[Key] = set()
    order: list[Key] = []
    while len(order) < len(users):
        ready = None
        for w, keys in enumerate(left):
            while places[w] < len(keys) and keys[places[w]] in done:
                places[w] += 1
            at = places[w]
            here = marks[w][keys[at]].position if at < len(keys) else -1
            while ready is None and at < len(keys) and marks[w][keys[at]].position == here:
                if keys[at] not in done and all(
                    _next(marks[u], left[u], done, keys[at]) for u in users[keys[at]]
                ):
                    ready = keys[at]
                at += 1
        if ready is None:
            return None
        done.add(ready)
        order.append(ready)
    return order


def _next(marks: dict[Key, Mark], keys: list[Key], done: set[Key], key: Key) -> bool:
    """Whether no undone key of this stream lies before ``key``."""
    return next(marks[k].position for k in keys if k not in done) == marks[key].position


def cuts_in_order(order: list[Key], marks: list[dict[Key, Mark]], streams: Sequence[Stream]) -> list[Cut]:
    """The cuts of ``order``, each with how far every stream may run before it."""
    limits = [len(s.events) for s in streams]
    found = []
    for key in reversed(order):
        here = {w: of[key] for w, of in enumerate(marks) if key in of}
        for w, mark in here.items():
            limits[w] = mark.position
        found.append(Cut(key, here, tuple(limits)))
    return found[::-1]


class Uses:
    """What each stream of a program may ever do, by its ops: ``cursors`` (resource, cursor) that they go by, ``waiters``
    (streams, by barrier), waits on raw mbarriers that count ``turns`` or name ``parities`` (stream, barrier), and how many
    of the ``newest`` groups of a (stream, engine) its waits may leave open."""

    def __init__(self, machine: Machine, program: Program) -> None:
        self.tasks = {t.name: t for t in machine.document.tasks}
        self.cursors: list[set[tuple[str, str]]] = []
        self.turns: set[tuple[int, int]] = set()
        self.parities: set[tuple[int, int]] = set()
        self.newest: dict[tuple[int, Engine], int] = {}
        asked: dict[tuple[str, str, int], set[int]] = {}
        for w, stream in enumerate(program.streams):
            task = self.tasks[stream.task]
            self.cursors.append(_cursors(machine, task, stream))
            for op in ops_of_warp(task.body, stream.warp, stream.cta):
                if op.kind in ASKS:
                    asked.setdefault((op.target, ASKS[op.kind], stream.cta), set()).add(w)
                if ASKS.get(op.kind) == "raw" and (op.target, "raw") in machine.first:
                    known = isinstance(op.stage, int | None)
                    stages = [chosen(op.stage)] if known else range(machine.raw_stages(op.target))
                    waits = self.turns if op.count is None else self.parities
                    waits.update((w, machine.raw_barrier(op.target, stage, stream.cta)) for stage in stages)
                if op.kind is OpKind.COMMIT and op.target in machine.crossing:  # drained at the end
                    asked.setdefault((op.target, "empty", stream.cta), set()).add(w)
                if op.kind in (OpKind.GROUP_WAIT, OpKind.GROUP_WAIT_READ) and op.target in machine.groups:
                    key = w, machine.groups[op.target]
                    self.newest[key] = max(self.newest.get(key, 0), chosen(op.count))
                if op.kind in CLUSTER_KINDS:
                    self.turns.add((w, machine.cluster))
        everyone = frozenset(range(len(program.streams)))
        self.waiters = [
            frozenset(w for name in b.pipelines for w in asked.get((name, b.side, b.cta), ()))
            if b.kind is BarrierKind.MBARRIER
            else everyone
            for b in program.barriers
        ]


def _cursors(machine: Machine, task: Task, stream: Stream) -> set[tuple[str, str]]:
    used: set[tuple[str, str]] = set()
    kinds = machine.pipeline_ops(task)
    for op in ops_of_warp(task.body, stream.warp, stream.cta):
        resource = machine.resources.get(op.target)
        if resource is None or not resource.pipeline:
            continue
        if op.kind in (OpKind.COMMIT, OpKind.RELEASE):
            used.add((op.target, op.kind.value))
        elif op.kind is OpKind.PRODUCER_TAIL:
            used.add((op.target, OpKind.COMMIT.value))
        elif op.kind in (OpKind.ACQUIRE, OpKind.TRY_ACQUIRE):
            used.add((op.target, opening_cursor(resource, "acquire", kinds)))
        elif op.kind in (OpKind.WAIT, OpKind.TRY_WAIT):
            used.add((op.target, opening_cursor(resource, "wait", kinds)))
        elif op.kind is OpKind.WORK and (op.target, op.work) in machine.works:
            role = machine.works[op.target, op.work].role
            opens = OPENS["producer" if role == "producer" else "consumer"]
            used.add((op.target, opening_cursor(resource, opens, kinds)))
    return used
