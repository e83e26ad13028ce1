"""The document: one immutable tree of plain values that is captured, checked, drawn, edited, stored and lowered.

Everything is a frozen dataclass of tuples and scalars. An edit makes a new document; equality is structural. Nothing here
runs or refers to live objects: a work's body is a name or source text.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .expressions import Integer, Symbol
from .kinds import Engine, GuardKind, OpKind, PipelineGroupMode, Signal, Space

Value = None | bool | int | float | str | tuple["Value", ...]
Parameters = tuple[tuple[str, Value], ...]
Ctas = str | tuple[int, ...]
SCOPES = ("cta", "cluster")


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
    stage of a resource without a pipeline, or of an mbarrier; ``count`` is explained at `OpKind`. A stage, and the parity
    that a wait names, may be expressions over symbols and the loops around. ``tx`` overrides the bytes that a TMA copy
    delivers. ``ctas`` are the CTAs of the cluster whose memory or mbarriers it reaches ("": its own; ranks, "peer", "all",
    or the multicast modes "m" and "n"). ``copy_of`` is the id of the first op that was unrolled from the same authoring
    line ("" if alone). ``implicit``: no line of the schedule says it; the run time that it was written for adds it.
    """

    id: str
    kind: OpKind
    target: str = ""
    work: str = ""
    args: tuple[tuple[str, Token | Value], ...] = ()
    results: tuple[str, ...] = ()
    stage: Integer | None = None
    count: Integer | None = None
    tx: int | None = None
    footprint: Footprint | None = None  # None: the work's
    copy_of: str = field(default="")
    source: Source | None = None
    ctas: Ctas = ""
    implicit: bool = False


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
    cta: int = 0


Node = Op | Loop | Guard


@dataclass(frozen=True, slots=True)
class Work:
    """A method of a resource: what it may be called with, who touches which bytes, and what its body is.

    ``role`` is "producer" or "consumer". A ``view`` touches nothing itself: its token stands for the stage, read where the
    token is used. ``engine`` None follows from the pipeline type (`core.arrivals`). ``body`` is a stock body's name
    ("sm90.tma_load"), ``module:Class.method``, or "" (none given); ``params`` are the stock body's own parameters; ``code``
    is the method's source where it was embedded. ``ctas`` as for `Op`: whom a copy is multicast to. ``assumed``: nobody has
    said which bytes it touches and how; that it is as the defaults have it is a hypothesis of every verdict.
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
    ctas: Ctas = ""
    assumed: bool = False


@dataclass(frozen=True, slots=True)
class Pipeline:
    """S stages guarded by full[S] and empty[S] mbarriers.

    ``type`` names the kinds of producer and consumer as NVIDIA's pipelines do (TmaAsync, AsyncAsync, TmaUmma, UmmaAsync,
    AsyncUmma, UmmaUmma, ClcFetchAsync), or is "" when it follows from the engines of the works. ``bytes`` are the
    transaction bytes declared for one stage, ``producer_count`` and ``consumer_count`` the declared arrival counts of full
    and empty; None means: derive. Signals None follow from the type. With a ``*_cta_leader``, only the leader of each pair
    (of the whole cluster, for a dynamic scheduler) waits, works and signals on that side. ``interleave`` are the strides of
    (acquire, commit, wait, release) where lanes share the stages; ``multicast`` says along which cluster modes (M, N) copies
    are multicast; ``cta_layout`` is the cluster as (V, M, N, K).
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
    """A named byte range of each stage. ``place``: where its own stages begin, one behind the other, if they are not inside
    those of the storage."""

    name: str
    offset: int
    bytes: int
    place: int | None = None


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
    """A raw mbarrier in each CTA, ``stages`` of them in an array; ``count`` None is derived. ``scope``: whose accesses its
    arrivals and waits order, "cta" or "cluster"; None: as far as it is used. ``address``: of its 8 bytes a stage in shared
    memory, where it shares them with something else; None: it has bytes of its own.

    Without an init op it is initialised and published before the tasks start."""

    name: str
    count: int | None = None
    stages: int = 1
    source: Source | None = None
    scope: str | None = None
    address: int | None = None


@dataclass(frozen=True, slots=True)
class AsyncGroup:
    """The committed groups of one asynchronous channel of each warp: "wgmma", "bulk_store" or "cp_async"."""

    name: str
    kind: Engine
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class PipelineGroup:
    """Resources ``members`` whose pipelines hand their stages on together, with the mbarriers and ops that its mode says
    (`core.pipeline_groups`). ``pipeline``: what was declared for the group itself; None: it follows from the members."""

    name: str
    mode: PipelineGroupMode
    members: tuple[str, ...]
    pipeline: Pipeline | None = None
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
    """A whole schedule. Names of resources, barriers, mbarriers, groups and pipeline groups share one namespace; op ids are
    unique.

    ``roots`` are resources that the graph names and makes from nothing. ``smem_capacity`` (bytes) and ``tmem_capacity``
    (columns) lower what one CTA may use; None: what the target has. ``ctas_per_sm`` CTAs are to run on a multiprocessor at
    a time: they share its registers, shared memory and warps. ``gaps``: what the source of the document says and its records
    cannot: each makes a verdict incomplete.
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
    roots: tuple[str, ...] = ()
    ctas_per_sm: int = 1
    pipeline_groups: tuple[PipelineGroup, ...] = ()
    gaps: tuple[str, ...] = ()
