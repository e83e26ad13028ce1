"""The steps of an execution in another order, with the same outcome and fewer changes from one agent to another.

Steps of different warps may change places where no barrier is touched by both (Mazurkiewicz traces): whatever order is left,
each arrival lands in the same phase, and each wait passes at the same one.
"""

from __future__ import annotations

from collections.abc import Sequence

from .program import Event, EventKind, Stream

Place = tuple[int, int]  # stream, 1-based number of its event
WAITS = (EventKind.WAIT, EventKind.TRY)
WINDOW = 600  # places from the end that are looked at


def fewer_switches(
    streams: Sequence[Stream], places: Sequence[Place], last: int, most: int, arrivals: bool
) -> list[Place]:
    """``places`` so that the ``most`` at their end change streams seldom, before a step of stream ``last`` (-1: any).
    ``arrivals``: no arrival fills more than its phase, so that those of one phase may change places, too."""
    front, places = places[:-WINDOW], places[-WINDOW:]
    behind = _followers(streams, places, arrivals)  # how many later places must stay later
    before: list[list[int]] = [[] for _ in places]
    for at, later in enumerate(behind):
        for n in later:
            before[n].append(at)
    undone = [len(later) for later in behind]
    own: dict[int, list[int]] = {}
    for at, (w, _) in enumerate(places):
        own.setdefault(w, []).append(at)
    tail: list[int] = []
    while len(tail) < min(most, len(places)):
        if _runs(own.get(last, []), undone, behind) == 0:
            last = max(own, key=lambda w: (_runs(own[w], undone, behind), own[w][-1:]))
        at = own[last].pop()
        tail.append(at)
        for n in before[at]:
            undone[n] -= 1
    moved = set(tail)
    return [*front, *(p for at, p in enumerate(places) if at not in moved)] + [
        places[at] for at in reversed(tail)
    ]


def _runs(own: Sequence[int], undone: Sequence[int], behind: Sequence[set[int]]) -> int:
    """How many of a stream's last places may be taken from the end at once."""
    taken: set[int] = set()
    for at in reversed(own):
        if undone[at] > len(behind[at] & taken):
            break
        taken.add(at)
    return len(taken)


def _followers(streams: Sequence[Stream], places: Sequence[Place], arrivals: bool) -> list[set[int]]:
    """For each place the later ones that stay behind it: the next of its stream, and those on a barrier of its."""
    found: list[set[int]] = [set() for _ in places]
    latest: dict[int, int] = {}
    groups: dict[
        int, tuple[str, list[int], list[int]]
    ] = {}  # barrier -> kind, those alike, those before them
    for at, (w, j) in enumerate(places):
        event = streams[w].events[j - 1]
        if w in latest:
            found[latest[w]].add(at)
        latest[w] = at
        kind = _kind(event, arrivals)
        for b in event.barriers:
            known, alike, before = groups.get(b, ("", [], []))
            if kind and kind == known:
                alike.append(at)
            else:
                alike, before = [at], alike
            groups[b] = kind, alike, before
            for p in before:
                found[p].add(at)
    return found


def _kind(event: Event, arrivals: bool) -> str:
    """What may change places with others of its kind on one barrier; "" for what may not."""
    if event.kind in WAITS:
        return "wait"
    return "arrive" if arrivals and event.kind is EventKind.ARRIVE and not event.bytes else ""
