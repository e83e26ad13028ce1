"""What an execution records: contributions to barriers, and checks that failed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from .program import EventKind

Clock = tuple[int, ...]  # one component a stream, a barrier, and a channel of a stream


def joined(one: Sequence[int], two: Sequence[int]) -> Clock:
    """The greater of both clocks in each component (four times as fast as `map` with `max`)."""
    return tuple([a if a > b else b for a, b in zip(one, two, strict=True)])


class Entry(NamedTuple):
    """One contribution to the open generation of a barrier."""

    stream: int
    index: int  # 1-based place in the stream
    base: Clock
    kind: EventKind
    bytes: int


ENTRY = partial(tuple.__new__, Entry)  # of all its fields, as they are made by the thousand


class Note(NamedTuple):
    """A work that rules look at one by one; fields as those of `races.Record`."""

    stream: int
    index: int
    component: int
    value: int
    base: Clock
    op: str


class Incident(NamedTuple):
    """A failed check, at event ``index`` (1-based) of ``stream``; ``other`` is an event that it should be ordered with."""

    kind: str
    barrier: int
    generation: int
    stream: int
    index: int
    base: Clock
    other: tuple[int, int] | None = None
    passed: int = 0  # alias: the generation at which the wait passed; tx_range: the count of bytes
    clock: Clock = ()  # overrun, stale: what the contributions of the phase that came too soon know
