"""What `tcgen05.fence::after_thread_sync` keeps from happening: tensor memory touched ahead of the wait in front of it.

A tcgen05 work behind a wait for other threads, with no such fence between, may run while its warp still waits (PTX ISA,
"tcgen05 memory consistency model"). So in adverse orders a load that is not fenced finds what was there when its warp came
to the wait, and a work that writes spoils its columns until the wait is over. A correct schedule doesn't notice: between the
two nobody else touches those columns. Tasks that state no fence are trusted with it, as the verifier trusts them.

`fence::before_thread_sync` has no such part: what it publishes is complete at the `tcgen05.wait` in front of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from warpdraft.core.document import Engine, Space
from warpdraft.core.program import Access, Event, EventKind, Stream
from warpdraft.core.tensor_core import COMMITTED, TENSOR
from warpdraft.core.tensor_memory import LANES

from .memory import TensorMemory
from .orders import Flight

WAITS = (EventKind.WAIT, EventKind.SYNC, EventKind.CLUSTER_WAIT)
FENCES = (EventKind.FENCE_AFTER, EventKind.DRAIN)  # behind a tcgen05.wait nothing runs ahead of it either


def exposed(stream: Stream) -> dict[int, list[int]]:
    """By the place of a wait, those of the works that no fence keeps behind it."""
    found: dict[int, list[int]] = {}
    wait: int | None = None
    for position, event in enumerate(stream.events):
        if event.kind in FENCES:
            wait = None
        elif event.kind in WAITS and (
            wait is None or wait in found
        ):  # the works of one wait are behind those before
            wait = position
        elif event.kind is EventKind.ASYNC and event.engine in TENSOR and wait is not None:
            found.setdefault(wait, []).append(position)
    return found


class Spoilt(NamedTuple):
    """Columns that a work may be writing already, and what they hold until it does."""

    memory: TensorMemory
    access: Access
    before: np.ndarray


class Ahead:
    """The works of one warp of a cluster that may run ahead of a wait that it has come to."""

    def __init__(self, stream: Stream, memories: list[TensorMemory]) -> None:
        self.events, self.own, self.memories = stream.events, memories[stream.cta], memories
        self.waits = exposed(stream)
        self.found: dict[int, TensorMemory] = {}  # place of a load -> what it finds
        self.spoilt: list[Spoilt] = []
        self.at = -1  # the place of the wait that works have run ahead of

    def come(self, position: int, flights: list[Flight], warp: int) -> None:
        """The warp is at ``position``, with ``flights`` on their way."""
        works = self.waits.get(position, ()) if position != self.at else ()
        if not works or any(f.warp == warp and f.engine in COMMITTED for f in flights):
            return  # products and copies of one thread keep their order
        self.at = position
        for place in works:
            event = self.events[place]
            if event.engine is Engine.TCGEN05_LD:
                self.found[place] = self.own.copy()
            else:
                self._spoil(event)

    def _spoil(self, event: Event) -> None:
        for access in event.accesses:
            if not access.write or access.space.partition("@")[0].partition(":")[0] != Space.TMEM:
                continue
            memory = self.memories[access.cta]
            if memory.usable(access.low, access.high):
                cells = _cells(memory, access)
                self.spoilt.append(Spoilt(memory, access, cells.copy()))
                cells[:] = np.nan

    def leave(self) -> None:
        """The wait is over: what was spoilt, and what nobody has written since, is as it was."""
        for memory, access, before in reversed(self.spoilt):
            if memory.usable(access.low, access.high):
                cells = _cells(memory, access)
                np.copyto(cells, before, where=np.isnan(cells))
        self.spoilt.clear()


def _cells(memory: TensorMemory, access: Access) -> np.ndarray:
    lane = access.space.partition("@")[0].partition(":")[2]
    lanes = slice(int(lane), int(lane) + LANES) if lane else slice(None)
    return memory.cells[lanes, access.low : access.high]
