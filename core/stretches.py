"""Stretches of a schedule: ops in a row whose events depend on nothing but the stages that their warp has come to.

The unroller walks a stretch once for each combination of stages and views that it begins with. Whenever it comes to that
again, in any iteration of any program of the machine, the events are those, with other iterations and later generations.
Blocks that one warp, lane or CTA executes belong to it; loops, guards that ask for iterations or conditions, and ops that
compute or count do not.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from .accesses import in_hand
from .clusters import CLUSTER_KINDS
from .cursors import OPENS
from .descriptors import described
from .document import Guard, GuardKind, Node, Op, OpKind, Token
from .event_kinds import MEETING_KINDS, PIPELINE_KINDS, REGISTER_KINDS
from .interleave import stride_of
from .op_integers import expressions_of
from .pipeline_steps import SIDES
from .program import Event, EventKind
from .tree import walk as nodes_of

if TYPE_CHECKING:
    from .unroll import WarpWalk

SETTLED = (
    GuardKind.ELECT_WARP,
    GuardKind.ELECT_LANE,
    GuardKind.CTA_RANK,
)  # a stream always takes them the same way
COUNTING = frozenset((*REGISTER_KINDS, *CLUSTER_KINDS, OpKind.PRODUCER_TAIL))
ASKING = (EventKind.WAIT, EventKind.TRY)
EVENT = partial(tuple.__new__, Event)  # of all its fields, as they are made by the thousand
Cursor = tuple[str, str]


class Made(NamedTuple):
    """What a stretch does from one combination of stages and views: ``events`` in parts (kind, op, barrier, number, rest;
    and by which cursor's laps a generation moves, -1: none), by how much cursors ``moved``, and the ``views`` then."""

    events: tuple[tuple, ...]
    moved: tuple[tuple[Cursor, int], ...]
    views: tuple[tuple[str, tuple | None], ...]


class Stretch:
    """``nodes`` in a row, as one stream walks them."""

    def __init__(self, walk: WarpWalk, nodes: Sequence[Node]) -> None:
        self.nodes, self.made = nodes, {}
        machine, kept = walk.machine, walk.works.kept
        cursors: dict[Cursor, int] = {}  # and how far works look back from each
        asks: dict[str, Cursor] = {}
        writes: dict[str, None] = {}
        for op in (n for n in nodes_of(nodes) if isinstance(n, Op)):
            writes |= dict.fromkeys((*op.results, *map(described, op.results)))
            resource = machine.resources.get(op.target)
            if resource is None or not resource.pipeline:
                continue
            used = _cursors(walk, op)
            for c in used:
                back = stride_of(resource, c[1]) if op.kind is OpKind.WORK else 0
                cursors[c] = max(back, cursors.get(c, 0))
            if op.kind in SIDES and (op.target, op.kind) not in machine.done_once:
                asks[op.id] = used[0]
            if op.target in kept:
                cursors = {(op.target, "wait"): 0, (op.target, "release"): 0} | cursors
                writes[in_hand(op.target)] = None
        self.writes = tuple(writes)
        self.reads = tuple(dict.fromkeys(_read(walk, nodes, set())))
        # with how far works look back, and the stages
        self.cursors = [
            (c, back, max(1, machine.resources[c[0]].pipeline.stages)) for c, back in cursors.items()
        ]
        places = {cursor: place for place, cursor in enumerate(cursors)}
        self.asks = {op: places[cursor] for op, cursor in asks.items()}
        held = [n for n in kept if (n, "wait") in places and (n, "release") in places]
        self.held = [(places[n, "wait"], places[n, "release"]) for n in held]

    def emit(self, walk: WarpWalk) -> None:
        """Walks it: the events, and where cursors and views are behind it."""
        cursor, views = walk.cursor, walk.works.views
        uses, laps, begins = [], [], []
        for c, back, stages in self.cursors:
            use = cursor.get(c, 0)
            uses.append(use)
            laps.append(use // stages)
            # a work that looks back asks whether there was a use before
            begins.append(use if use < back else back + (use - back) % stages)
        laps.append(0)
        key = (
            *begins,
            *map(views.get, self.reads),
            *[uses[w] - uses[r] for w, r in self.held],
            *(walk.alone, walk.lane, walk.idle, walk.ranked),
        )
        made = self.made.get(key)
        if made is None:
            self.made[key] = self._walked(walk, uses, laps)
            return
        at = walk.at
        walk.stream.events += [
            EVENT((kind, op, at, barrier, number + laps[lap] if lap >= 0 else number, *rest))
            for kind, op, barrier, number, rest, lap in made.events
        ]
        for c, step in made.moved:
            cursor[c] = cursor.get(c, 0) + step
        for name, view in made.views:
            if view is not None:
                views[name] = view
            else:
                views.pop(name, None)

    def _walked(self, walk: WarpWalk, uses: list[int], laps: list[int]) -> Made:
        events = walk.stream.events
        start = len(events)
        walk.block(self.nodes)
        if walk.machine.terse:
            events[start:] = _without_repeats(events[start:], walk.machine.noted)
        parts = []
        for e in events[start:]:
            lap = self.asks.get(e.op, -1) if e.kind in ASKING else -1
            parts.append(
                (e.kind, e.op, e.barrier, e.number - laps[lap] if lap >= 0 else e.number, e[5:], lap)
            )
        moves = ((c, walk.cursor.get(c, 0) - use) for (c, _, _), use in zip(self.cursors, uses, strict=True))
        moved = tuple((c, step) for c, step in moves if step)
        return Made(tuple(parts), moved, tuple((n, walk.works.views.get(n)) for n in self.writes))


def _without_repeats(events: Sequence[Event], noted: Container[str]) -> list[Event]:
    """``events`` without reads of the bytes that the event just before reads: nothing passes between the two, so that no
    other warp is before or behind one of them alone."""
    kept: list[Event] = []
    for event in events:
        last = kept[-1] if kept else None
        if (
            last is not None
            and event.kind is last.kind is EventKind.WORK
            and event.accesses == last.accesses
            and event.lane == last.lane
            and not any(a.write for a in event.accesses)
            and event.op not in noted
        ):
            continue
        kept.append(event)
    return kept


def parts_of(walk: WarpWalk, nodes: Sequence[Node]) -> tuple[Node | Stretch, ...]:
    """``nodes``, with stretches in place of the nodes that make them."""

    def settled(node: Node) -> bool:
        return _settled(walk, node)

    found: list[Node | Stretch] = []
    for together, run in groupby(nodes, settled):
        row = tuple(run)
        found += [Stretch(walk, row)] if together and len(list(nodes_of(row))) > 1 else row
    return tuple(found)


def _settled(walk: WarpWalk, node: Node) -> bool:
    if isinstance(node, Guard):
        return node.kind in SETTLED and all(_settled(walk, inside) for inside in node.body)
    if not isinstance(node, Op) or node.kind in COUNTING or expressions_of(node):
        return False
    raw = node.kind not in MEETING_KINDS and (node.target, "raw") in walk.machine.first
    return node.kind in PIPELINE_KINDS or node.kind is OpKind.WORK or not raw


def _read(walk: WarpWalk, nodes: Sequence[Node], made: set[str]) -> Iterator[str]:
    """The views that ops below ``nodes`` may be given, other than those that an op before them makes."""
    for node in nodes:
        if isinstance(node, Guard):
            yield from _read(walk, node.body, set(made))
            continue
        tokens = [v.name for _, v in node.args if isinstance(v, Token)]
        hands = map(in_hand, walk.machine.implied(walk.task).get(node.id, ()))
        yield from (name for name in (*tokens, *map(described, tokens), *hands) if name not in made)
        work, resource = (
            walk.machine.works.get((node.target, node.work)),
            walk.machine.resources.get(node.target),
        )
        if work is not None and (work.view or not resource.pipeline):  # else some CTAs leave it to others
            made.update(node.results)


def _cursors(walk: WarpWalk, op: Op) -> list[Cursor]:
    """The cursors that an op of a pipeline goes by and moves."""
    machine, task, resource = walk.machine, walk.task, walk.machine.resources[op.target]
    if op.kind in SIDES:
        used = [machine.opening(task, resource, SIDES[op.kind][1])]
    elif op.kind is OpKind.WORK:
        work = machine.works.get((op.target, op.work))
        role = "producer" if work is not None and work.role == "producer" else "consumer"
        used = [machine.opening(task, resource, OPENS[role])]
    else:
        used = [op.kind.value]
    moved = machine.moved(task, op) if op.kind in PIPELINE_KINDS else ""
    return [(op.target, name) for name in (*used, *([moved] if moved else ()))]
