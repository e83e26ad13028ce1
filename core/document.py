"""The document: one immutable tree of plain values that is captured, checked, drawn, edited, stored and lowered.

Everything is a frozen dataclass of tuples and scalars. An edit makes a new document; equality is structural. Nothing here
runs or refers to live objects: a work's body is a name or source text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from .expressions import Integer, Symbol

Value = None | bool | int | float | str | tuple["Value", ...]
Parameters = tuple[tuple[str, Value], ...]


class Space(StrEnum):
    """Where a resource's bytes live. ``NONE``: no storage is modelled (global tensors, coordinates)."""

    NONE = "none"
    GMEM = "gmem"
    SMEM = "smem"
    TMEM = "tmem"
    RMEM = "rmem"  # registers: private to each warp
    QUEUE = "queue"
    PDL = "pdl"


class Engine(StrEnum):
    """Who touches the bytes of a work, and so when the access ends and through which proxy it goes."""

    WARP = "warp"  # the calling threads, generic proxy, done when the op is done
    TMA = "tma"  # bulk tensor copy into shared memory, async proxy, completes bytes on an mbarrier
    WGMMA = "wgmma"  # async proxy reads of shared memory, register accumulators, ends with its wgmma group
    TCGEN05 = "tcgen05"  # async proxy, ends with a commit to an mbarrier
    CP_ASYNC = "cp_async"  # non-bulk copy, generic proxy, ends with its cp.async group
    BULK_STORE = "bulk_store"  # bulk copy out of shared memory, async proxy, ends with its bulk group


class Signal(StrEnum):
    """How one warp's (or engine's) commit or release turns into mbarrier arrivals; see `core.arrivals`."""

    WARP = "warp"  # one elected arrival a warp
    THREAD = "thread"  # every lane arrives: 32 a warp
    LEADER_THREADS = "leader_threads"  # the lanes of the task's first warp: 32 a task
    LEADER = "leader"  # one elected arrival by the task's first warp
    COMMIT = "commit"  # one arrival when the issued MMAs complete (tcgen05.commit)


class OpKind(StrEnum):
    """What an op does; its ``target`` is a resource, barrier or group as the comment says."""

    ACQUIRE = "acquire"  # resource
    COMMIT = "commit"
    TRY_ACQUIRE = "try_acquire"
    WAIT = "wait"
    RELEASE = "release"
    TRY_WAIT = "try_wait"
    WORK = "work"  # resource; `work` names the method
    GROUP_COMMIT = "group_commit"  # async group
    GROUP_WAIT = "group_wait"  # async group; `count` newest groups may stay open
    GROUP_WAIT_READ = "group_wait_read"  # as above, but only the sources have been read (bulk stores)
    BARRIER_SYNC = "barrier_sync"  # named barrier
    BARRIER_ARRIVE = "barrier_arrive"
    MBARRIER_ARRIVE = "mbarrier_arrive"  # raw mbarrier; `count` arrivals a warp
    MBARRIER_EXPECT = "mbarrier_expect"  # expect_tx of `count` bytes
    MBARRIER_ARRIVE_EXPECT = "mbarrier_arrive_expect"  # one arrival and expect_tx of `count` bytes
    MBARRIER_WAIT = "mbarrier_wait"  # `count` is the parity waited for; None follows the phases in turn
    FENCE_PROXY_ASYNC = "fence_proxy_async"  # no target
    SYNC_WARP = "sync_warp"
    CLUSTER_SYNC = "cluster_sync"
    CLUSTER_ARRIVE = "cluster_arrive"
    CLUSTER_WAIT = "cluster_wait"


class GuardKind(StrEnum):
    """When a guarded block runs."""

    ELECT_WARP = "elect_warp"  # only warp `warp` of the task
    ELECT_LANE = "elect_lane"  # one lane of each warp
    FIRST_ITER = "first_iter"  # of loop `loop`
    LAST_ITER = "last_iter"
    EVERY = "every"  # iterations start, start + period, ... (by index) of loop `loop`
    WHEN_TRUE = "when_true"  # run-time condition `key`
    WHEN_FALSE = "when_false"
    SKIPPABLE = "skippable"  # left out on tiles that the tile loop's predicate skips


@dataclass(frozen=True, slots=True)
class Source:
    """The authoring line that captured something."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Footprint:
    """Which bytes of a stage an op touches.

    ``whole``: the stage. ``warp_slice``: the op's range (or the stage) cut evenly over the task's warps. ``range``: bytes
    [offset, offset + bytes) of the stage, by every warp. ``ranges``: one (offset, bytes) a warp of the task.
    """

    kind: str = "whole"
    offset: int = 0
    bytes: int = 0
    ranges: tuple[tuple[int, int], ...] = ()


WHOLE = Footprint()
WARP_SLICE = Footprint("warp_slice")


@dataclass(frozen=True, slots=True)
class Token:
    """A reference to a value that an earlier op of the same task returned."""

    name: str


@dataclass(frozen=True, slots=True)
class Op:
    """One step of a task's schedule, executed by each warp of the task that reaches it.

    ``args`` maps a work's parameters to tokens or constants; ``results`` are the tokens that it makes. ``stage`` chooses the
    stage of a resource without a pipeline; ``count`` is explained at `OpKind`. ``tx`` overrides the bytes that a TMA copy
    delivers. ``copy_of`` is the id of the first op that was unrolled from the same authoring line ("" if alone).
    """

    id: str
    kind: OpKind
    target: str = ""
    work: str = ""
    args: tuple[tuple[str, Token | Value], ...] = ()
    results: tuple[str, ...] = ()
    stage: int | None = None
    count: int | None = None
    tx: int | None = None
    footprint: Footprint | None = None  # None: the work's
    copy_of: str = field(default="")
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """A run-time loop. ``domain``: over start..stop by step. ``tile``: over the work tiles of ``queue``; ``stop`` is then
    the symbol that counts the tiles of a CTA. ``var`` is the loop's name in guards and arguments."""

    id: str
    kind: str  # "domain" | "tile"
    var: str
    body: tuple[Node, ...]
    start: Integer = 0
    stop: Integer = 0
    step: Integer = 1
    queue: str = ""
    skip_if: str = ""
    unroll: int | None = None
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Guard:
    """A block that runs only where its condition holds; fields as `GuardKind` says."""

    id: str
    kind: GuardKind
    body: tuple[Node, ...]
    loop: str = ""  # the Loop.var that first_iter, last_iter and every speak of
    warp: int = 0
    period: int = 1
    start: int = 0
    key: str = ""
    token: str = ""  # the value that a run-time condition tests, where an earlier op of the task returned it
    source: Source | None = None


Node = Op | Loop | Guard


@dataclass(frozen=True, slots=True)
class Work:
    """A method of a resource: what it may be called with, who touches which bytes, and what its body is.

    ``role`` is "producer" or "consumer". A ``view`` touches nothing itself: its token stands for the stage, read where the
    token is used. ``engine`` None follows from the pipeline type (`core.arrivals`). ``body`` is a stock body's name
    ("sm90.tma_load"), ``module:Class.method``, or "" (none given); ``params`` are the stock body's own parameters; ``code``
    is the method's source where it was embedded.
    """

    name: str
    role: str
    engine: Engine | None = None
    view: bool = False
    parameters: tuple[str, ...] = ()
    returns: tuple[str, ...] = ()
    auxiliary: bool = False
    footprint: Footprint | None = None  # None: by default rule, see `core.footprints`
    tx: int | None = None
    body: str = ""
    params: Parameters = ()
    code: str = ""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """S stages guarded by full[S] and empty[S] mbarriers.

    ``type`` names the kinds of producer and consumer as NVIDIA's pipelines do (TmaAsync, AsyncAsync, TmaUmma, UmmaAsync,
    AsyncUmma, UmmaUmma, ClcFetchAsync), or is "" when it follows from the engines of the works. ``bytes`` are the
    transaction bytes declared for one stage, ``producer_count`` and ``consumer_count`` the declared arrival counts of full
    and empty; None means: derive. Signals None follow from the type. With a ``*_cta_leader``, only CTA 0 of the cluster
    signals on that side. ``interleave`` are the strides of (acquire, commit, wait, release) where lanes share the stages;
    ``multicast`` says along which cluster modes (M, N) copies are multicast; ``cta_layout`` is the cluster as (V, M, N, K).
    """

    stages: int
    type: str = ""
    bytes: int | None = None
    producer_count: int | None = None
    consumer_count: int | None = None
    producer_signal: Signal | None = None
    consumer_signal: Signal | None = None
    advance_on_acquire: bool = False
    advance_on_wait: bool = False
    producer_cta_leader: bool = False
    consumer_cta_leader: bool = False
    interleave: tuple[int, int, int, int] = (1, 1, 1, 1)
    multicast: tuple[int, int] = (1, 1)
    cta_layout: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A named byte range of each stage."""

    name: str
    offset: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Storage:
    """``stages`` x ``bytes`` of shared memory (or ``bytes`` columns of tensor memory), ``alignment`` bytes aligned.

    Storages with the same ``alias`` group and different ``phase`` start at the same place; those of one phase follow one
    another. ``offset`` fixes the place; None lets `core.layout` choose it.
    """

    bytes: int
    stages: int = 1
    alignment: int = 128
    parts: tuple[Part, ...] = ()
    alias: str = ""
    phase: int = 0
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    """What tasks hand on or use: memory with or without a pipeline, a work queue, a global tensor."""

    name: str
    space: Space = Space.NONE
    pipeline: Pipeline | None = None
    storage: Storage | None = None
    works: tuple[Work, ...] = ()
    params: Parameters = ()  # stock parameters, e.g. a tile order's band
    cls: str = ""  # "module:Class" of the authoring source
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class NamedBarrier:
    """A hardware barrier: ``id`` 0..15, ``threads`` that take part in each generation (PTX ISA, barrier{.cta})."""

    name: str
    id: int
    threads: int
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Mbarrier:
    """A raw mbarrier, ``stages`` of them in an array; ``count`` None is derived."""

    name: str
    count: int | None = None
    stages: int = 1
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class AsyncGroup:
    """The committed groups of one asynchronous channel of each warp: "wgmma", "bulk_store" or "cp_async"."""

    name: str
    kind: Engine
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A role: a schedule on ``num_warps`` warps from ``warp_idx``; it reads ``src`` and writes ``dst`` resources."""

    name: str
    warp_idx: int
    num_warps: int
    body: tuple[Node, ...] = ()
    src: tuple[str, ...] = ()
    dst: tuple[str, ...] = ()
    num_registers: int | None = None
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """``downstream`` is made from ``upstream``."""

    upstream: str
    downstream: str


@dataclass(frozen=True, slots=True)
class Tensor:
    """A global tensor: ``shape`` over size symbols, ``dtype`` (a name, or the name of a kernel parameter), ``order`` the
    dimensions from slowest to fastest, ``role`` "in" or "out"."""

    name: str
    shape: tuple[Integer, ...]
    dtype: str
    order: tuple[int, ...]
    role: str = "in"


@dataclass(frozen=True, slots=True)
class Kernel:
    """What the schedule computes: needed to lower and run it, not to check it.

    ``trip_counts`` give each schedule symbol as an expression over sizes (and, for a tile count, over the grid);
    ``parameters`` are compile-time values; ``grid`` the number of CTAs, as an expression over sizes, capped at the number of
    SMs if the schedule is persistent; ``reference`` a stock reference's name or ``module:function``; ``sizes`` and
    ``small_sizes`` what `run` takes by default on a GPU and in the emulator.
    """

    name: str
    tensors: tuple[Tensor, ...] = ()
    parameters: Parameters = ()
    trip_counts: tuple[tuple[str, Integer], ...] = ()
    grid: Integer = 1
    reference: str = ""
    sizes: tuple[tuple[str, int], ...] = ()
    small_sizes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A whole schedule. Names of resources, barriers, mbarriers and groups share one namespace; op ids are unique.

    ``smem_capacity`` (bytes) and ``tmem_capacity`` (columns) lower what one CTA may use; None: what the target has.
    """

    name: str
    target: str = "sm_90a"
    cluster: tuple[int, int, int] = (1, 1, 1)
    symbols: tuple[Symbol, ...] = ()
    resources: tuple[Resource, ...] = ()
    barriers: tuple[NamedBarrier, ...] = ()
    mbarriers: tuple[Mbarrier, ...] = ()
    groups: tuple[AsyncGroup, ...] = ()
    graph: tuple[Edge, ...] = ()
    tasks: tuple[Task, ...] = ()
    kernel: Kernel | None = None
    smem_capacity: int | None = None
    tmem_capacity: int | None = None
