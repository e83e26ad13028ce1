"""The unrolled machine program: one straight line of events for each warp, in the model of the verifier.

Everything that runs a schedule (verifier, explorer, simulator, emulator) executes these events; `core.unroll` makes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from .document import Engine
from .phases import Meeting, Phase, Pool, fresh


class EventKind(IntEnum):
    """What an event does. The fields that it uses are named; all others keep their defaults."""

    WORK = 0  # synchronous work of the warp: accesses, stage, views
    ASYNC = 1  # starts an asynchronous op of `engine`: accesses; barrier, bytes: complete_tx when done (barrier -1: none)
    WAIT = 2  # mbarrier wait: barrier, number = generation meant (None: `parity` only)
    TRY = 3  # mbarrier try_wait, does not block: barrier, number
    ARRIVE = 4  # barrier, number = arrivals of one warp
    EXPECT = 5  # expect_tx alone: barrier, bytes
    ARRIVE_EXPECT = 6  # arrive.expect_tx: barrier, number = arrivals, bytes
    COMMIT_ARRIVE = (
        7  # number arrivals on barrier when earlier works of this warp are done: tcgen05.commit, or with
    )
    # engine CP_ASYNC cp.async.mbarrier.arrive.noinc
    GROUP_COMMIT = 8  # closes the open group of channel `engine`
    GROUP_WAIT = 9  # blocks until all but the newest `number` groups of `engine` are complete
    GROUP_WAIT_READ = 10  # the same, but only their reads of the source are complete
    SYNC = 11  # named barrier: joins the open generation of barrier and blocks; number = warps it counts (0: its count)
    BAR_ARRIVE = 12  # named barrier: joins and goes on; number as above
    FENCE = 13  # fence.proxy.async
    SYNC_WARP = 14
    CLUSTER_ARRIVE = 15  # cluster barrier: joins generation `number` and goes on
    CLUSTER_WAIT = 16  # cluster barrier: blocks until every warp has joined generation `number` or has exited
    DRAIN = 17  # tcgen05.wait: blocks until all earlier ops of channel `engine` are complete
    FENCE_BEFORE = 18  # tcgen05.fence::before_thread_sync
    FENCE_AFTER = 19  # tcgen05.fence::after_thread_sync
    WGMMA_FENCE = 20
    LIFETIME = 21  # mbarrier.init (number 1) or inval (0) of barrier, or fence.mbarrier_init (barrier -1)
    TMEM_ALLOC = 22  # accesses: the columns; number = CTAs of the group
    TMEM_DEALLOC = 23
    TMEM_RELINQUISH = 24
    TENSORMAP_UPDATE = 25  # accesses: the tensor map
    FENCE_TENSORMAP = 26  # accesses: the tensor maps, if it names some
    HELD_ARRIVE = (
        27  # cp.async.mbarrier.arrive: number more are pending, until as many arrive behind earlier copies
    )
    REGISTERS = 28  # setmaxnreg: a thread has number from then on; bytes: how many registers a warp takes from pool barrier


class Access(NamedTuple):
    """Bytes [low, high) of memory ``space`` that an event reads or writes. ``space`` is "smem" or "tmem" for placed storage
    ("smem@1": of CTA ``cta`` 1), a resource's name for storage without a place, "name@stream" for registers; a part of
    the lanes is a space of its own ("tmem:32", `core.tensor_memory`). ``resource`` says whose bytes were meant."""

    write: bool
    space: str
    low: int
    high: int
    resource: str
    stage: int
    cta: int = 0


class Event(NamedTuple):
    """One step of one warp. ``at`` is its iteration, outermost loop first: (("tile", 0), ("k", 3)). ``views`` maps a work's
    parameter to the (resource, stage) that its token stands for; ``generation`` is the use count of the stage: i // S.
    ``also``: the barriers of other CTAs on which one arrive or commit arrives at the same time. ``drain``: a wait at the end
    of a task, until the stages that it has filled are free again."""

    kind: EventKind
    op: str
    at: tuple[tuple[str, int], ...] = ()
    barrier: int = -1
    number: int | None = 0
    bytes: int = 0
    engine: Engine | None = None
    accesses: tuple[Access, ...] = ()
    stage: int = 0
    views: tuple[tuple[str, str, int], ...] = ()
    parity: int | None = None
    lane: bool = False  # WORK, ASYNC, FENCE, arrivals of cp.async: executed by one elected lane of the warp
    also: tuple[int, ...] = ()
    drain: bool = False

    @property
    def barriers(self) -> tuple[int, ...]:
        """Every barrier that it is about."""
        return (self.barrier, *self.also) if self.barrier >= 0 else ()


def in_cta(name: str, cta: int) -> str:
    """What ``name`` is called in CTA ``cta``: the same in CTA 0, "name@1" in CTA 1."""
    return f"{name}@{cta}" if cta else name


class BarrierKind(IntEnum):
    """An mbarrier counts arrivals and bytes; a named barrier counts warps; that of the cluster waits for all that live; a
    pool has registers, where a schedule asks for some (`core.registers`)."""

    MBARRIER = 0
    NAMED = 1
    CLUSTER = 2
    POOL = 3


@dataclass(frozen=True, slots=True)
class Barrier:
    """One barrier object. ``count``: arrivals of an mbarrier, warps of a named barrier, registers of a pool at the start.
    ``side`` is "full" or "empty" of ``resource``'s ``stage``, "raw" for an authored mbarrier, "named", "cluster" or "pool";
    ``cta`` has it. Where pipelines ``share`` it, ``resource`` is the first of them."""

    name: str
    kind: BarrierKind
    count: int
    resource: str
    side: str
    stage: int = 0
    cta: int = 0
    share: tuple[str, ...] = ()

    @property
    def pipelines(self) -> tuple[str, ...]:
        """The resources whose stage it guards."""
        return self.share or (self.resource,)

    @property
    def start(self) -> Phase | Meeting | Pool:
        """Its state before anything has happened."""
        if self.kind is BarrierKind.MBARRIER:
            return fresh(self.count)
        return Pool(self.count) if self.kind is BarrierKind.POOL else Meeting()


class Stray(NamedTuple):
    """A stage or parity out of range, of op ``op`` before event ``position``; ``value`` None: it cannot be computed."""

    position: int
    op: str
    field: str
    value: int | None
    at: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class Stream:
    """The events of warp ``warp`` of ``task`` in CTA ``cta``, standing for ``weight`` identical warps (their indices in
    ``warps``), and what it computed that no barrier or storage has."""

    task: str
    warp: int
    weight: int
    warps: tuple[int, ...]
    events: list[Event] = field(default_factory=list)
    cta: int = 0
    strays: list[Stray] = field(default_factory=list)

    @property
    def owner(self) -> str:
        """The task as witnesses call it: "math", or "math@1" in CTA 1."""
        return in_cta(self.task, self.cta)

    @property
    def name(self) -> str:
        """ "math.w3", as witnesses and timelines call it."""
        return f"{self.owner}.w{self.warp}"

    @property
    def all_names(self) -> str:
        """The name, or "math.w2-7" for a stream that stands for several warps."""
        if self.weight == 1:
            return self.name
        if self.warps[-1] - self.warps[0] + 1 == len(self.warps):
            return f"{self.owner}.w{self.warps[0]}-{self.warps[-1]}"
        return f"{self.owner}.w{','.join(map(str, self.warps))}"


@dataclass(frozen=True, slots=True)
class Program:
    """All streams and barriers of one cluster for one choice of trip counts; ``values`` are the symbols' values, ``noted``
    the ops whose works' clocks an execution keeps."""

    streams: tuple[Stream, ...]
    barriers: tuple[Barrier, ...]
    values: tuple[tuple[str, int], ...] = ()
    noted: frozenset[str] = frozenset()

    @property
    def events(self) -> int:
        """Number of events in all streams."""
        return sum(len(s.events) for s in self.streams)
