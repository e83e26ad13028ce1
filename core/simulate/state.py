"""What the simulation keeps of each barrier and each warp."""

from __future__ import annotations

from .. import phases
from ..document import Engine
from ..program import Barrier, Event
from .recorder import Cause


class Signal:
    """A barrier's state (`core.phases`) and the waits that it holds."""

    __slots__ = ("state", "waiting", "warps")

    def __init__(self, barrier: Barrier) -> None:
        self.state = barrier.start
        self.warps = barrier.count
        self.waiting: list[tuple[int, Event, int]] = []  # lane, wait, since

    def passes(self, event: Event) -> bool:
        """Whether the parity bit lets the mbarrier wait ``event`` pass."""
        parity = event.parity if event.number is None else phases.parity_of(event.number)
        return phases.passes(self.state, parity)

    def owed(self) -> str:
        """What the open phase or generation still lacks."""
        if isinstance(self.state, phases.Pool):
            return f"registers: {self.state.spare} are spare"
        if isinstance(self.state, phases.Meeting):
            return f"{self.warps - self.state.inside} of {self.warps} warps"
        pending, tx = self.state.pending, self.state.tx
        parts = [f"{pending} of {self.warps} arrivals"] if pending else []
        return " and ".join(parts + ([f"{tx} bytes"] if tx else [])) or "another phase"


class Warp:
    """One stream: what it has still to do, and its asynchronous groups."""

    __slots__ = (
        "copies",
        "cta",
        "done",
        "events",
        "groups",
        "joined",
        "lane",
        "open",
        "position",
        "task",
        "tcgen05",
        "warp",
    )

    def __init__(self, lane: int, events: list[Event], task, warp: int, cta: int = 0) -> None:
        self.lane, self.events, self.task, self.warp, self.cta = lane, events, task, warp, cta
        self.position, self.done = 0, False
        self.open: dict[
            Engine, list[tuple[int, int, Cause]]
        ] = {}  # (read, end, cause) of ops in no group yet
        self.groups: dict[Engine, list[list[tuple[int, int, Cause]]]] = {}
        self.tcgen05 = 0  # when all tcgen05 ops issued so far are done
        self.copies = 0  # ... and all cp.async copies
        self.joined = 0  # generations of the cluster's barrier
