"""What all tasks of a module share: names, sizes, the host's part, the kernel's arguments, tensors, copy atoms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from warpdraft.core.arrivals import routes
from warpdraft.core.document import Document, Kernel, Op, Resource, Tensor, Value, Work
from warpdraft.core.expressions import Integer, Symbol
from warpdraft.core.interleave import PLAIN
from warpdraft.core.machine import Machine
from warpdraft.core.routes import Routes
from warpdraft.core.schedulers import is_dynamic
from warpdraft.core.tree import walk

from ..vocabulary import TARGETS, StockError, output_tile, splits_of
from .clusters import Cluster
from .dtypes import Typed, types_of
from .errors import LoweringError
from .fixed import reserved
from .names import Names
from .storage import SmemView, Storage
from .syntax import Expression, Line, Statement, assign, binary, call, expression, listing
from .values import traced

# Builds other than the plain one, each with the argument of the launch that its operations use.
BUILDS = {
    "watchdog": ("records", "cute.Pointer"),
    "profile": ("records", "cute.Pointer"),
    "jitter": ("seed", "Int32"),
}


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of the kernel: its annotation, and its name, which the host uses too."""

    name: str
    annotation: str


@dataclass(frozen=True, slots=True)
class TmaTensor:
    """A copy atom and the coordinate tensor that belongs to it."""

    atom: str
    tensor: str
    order: tuple[
        int, bool, str, str, int
    ]  # the tensor's place among the kernel's, then the direction, then the view
    made: Statement  # on the host


@dataclass(frozen=True, slots=True)
class TileGrid:
    """The tiles of the output that clusters take: how many along each dimension, and their order in bands (see the
    prelude's `tile_at`)."""

    m_tiles: str
    band: int
    by_band: str
    by_last: str
    by_plane: str  # tiles of one matrix of a batch, or of one part of the sums; "" without either


@dataclass
class Module:
    """The module under construction."""

    document: Document
    build: str = ""  # one of `BUILDS`, or the plain one
    kernel: Kernel = field(init=False)
    types: dict[str, Typed] = field(init=False)  # of each tensor
    names: Names = field(default_factory=lambda: Names(reserved()))
    host: list[Statement] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)  # of the launch, for each tensor
    scalars: list[Argument] = field(default_factory=list)
    copies: list[TmaTensor] = field(default_factory=list)
    storage: Storage = field(init=False)
    cluster: Cluster = field(init=False)
    machine: Machine = field(init=False)  # the verifier's tables: what a task's end waits for
    kernel_name: str = ""
    own_bodies: list[str] = field(default_factory=list)  # functions of the schedule's author
    _known: dict[tuple[Value | tuple, ...], object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.document.kernel is None:
            raise LoweringError("the document says nothing of its tensors and sizes (no kernel)")
        if self.document.target not in TARGETS:
            raise LoweringError(
                f"there are no bodies for target {self.document.target!r}, only for {' and '.join(TARGETS)}"
            )
        if per_tile := [s.name for s in self.document.symbols if s.per_tile]:
            raise LoweringError(f"trip counts that differ from tile to tile are not lowered ({per_tile[0]})")
        if per_cta := [s.name for s in self.document.symbols if s.per_cta]:
            raise LoweringError(f"trip counts that differ from CTA to CTA are not lowered ({per_cta[0]})")
        self.cluster = Cluster.of(self.document)
        self.machine = Machine(self.document)
        if self.document.pipeline_groups:
            raise LoweringError(
                f"pipeline groups are not lowered yet: the document has {self.document.pipeline_groups[0].name}"
            )
        for resource in self.document.resources:
            if resource.pipeline and resource.pipeline.interleave != PLAIN:
                strides = resource.pipeline.interleave
                raise LoweringError(
                    f"interleaved lanes are not lowered yet: {resource.name} has the strides {strides}"
                )
        self.kernel = self.document.kernel
        self.types = types_of(self.kernel)
        for tensor in self.kernel.tensors:
            rank = len(tensor.shape)
            if not 1 <= rank <= 3 or (rank == 3 and tensor.order[0] != 0):
                raise LoweringError(
                    f"tensor {tensor.name!r}: one, two or three dimensions are lowered, the first of three the slowest"
                )
            self.variables[tensor.name] = self.names.new(tensor.name)
        if self.build:
            self._argument(*BUILDS[self.build])
        self.storage = Storage.of(self.document, self.names, self.types)

    # -- sizes
    def size(self, symbol: Symbol) -> Expression:
        """The host's variable for a size, a trip count, or any expression over them."""
        return expression(self._once(("size", symbol.name), lambda: self._size(symbol)))

    def _size(self, symbol: Symbol) -> str:
        for tensor in self.kernel.tensors:
            for mode, extent in enumerate(tensor.shape):
                if isinstance(extent, Symbol) and extent.name == symbol.name:
                    return self._host(
                        symbol.name, call("cute.size", self.variables[tensor.name], mode=listing(mode))
                    )
        for name, value in self.kernel.trip_counts:
            if name == symbol.name:
                return self._host(name, traced(value, self.size))
        raise LoweringError(f"nothing says what {symbol.name!r} is: no tensor has it, no trip count gives it")

    def host_value(self, value: Integer) -> Expression:
        """``value`` on the host."""
        return traced(value, self.size)

    def kernel_value(self, value: Integer, loop: Callable[[str], Expression] = expression) -> Expression:
        """``value`` in the kernel; its symbols become arguments, and ``loop`` gives the value of each loop variable."""
        return traced(value, self._size_argument, loop)

    def _size_argument(self, symbol: Symbol) -> Expression:
        name = self._once(("size", symbol.name), lambda: self._size(symbol))
        return expression(self._argument(name, "Int32"))

    def _argument(self, name: str, annotation: str) -> str:
        self._once(("argument", name), lambda: self.scalars.append(Argument(name, annotation)) or name)
        return name

    def _host(self, wish: str, value: Expression) -> str:
        name = self.names.new(wish)
        self.host.append(assign(name, value))
        return name

    def _once(self, key: tuple, make) -> str:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    # -- the launch
    @property
    def persistent(self) -> bool:
        """Whether some task loops over work tiles."""
        return any(getattr(n, "kind", "") == "tile" for task in self.document.tasks for n in walk(task.body))

    @property
    def warps(self) -> int:
        """Warps of the launch: whole warpgroups."""
        used = max((t.warp_idx + t.num_warps for t in self.document.tasks), default=1)
        return -(-used // 4) * 4

    # -- tensors
    def tensor(self, name: Value, op: str) -> Tensor:
        """The kernel's tensor of this name."""
        for tensor in self.kernel.tensors:
            if tensor.name == name:
                return tensor
        raise LoweringError(f"the kernel has no tensor {name!r}", op)

    def tma(
        self,
        tensor: str,
        view: SmemView,
        store: bool,
        multicast: int = 0,
        reduce: str = "",
        pair: bool = False,
    ) -> TmaTensor:
        """The atom that copies one stage of ``view`` from (to, if ``store``) a tile of ``tensor``; with ``multicast``, one
        of so many equal parts of it to several CTAs of the cluster; with ``reduce``, it is added to the tile; for a
        ``pair``, its bytes count in the leader."""
        key = ("tma", tensor, view.key, store, multicast, reduce, pair)
        return self._once(key, lambda: self._make_tma(tensor, view, store, multicast, reduce, pair))

    def _make_tma(
        self, tensor: str, view: SmemView, store: bool, multicast: int, reduce: str, pair: bool
    ) -> TmaTensor:
        atom, gmem = self.names.new(f"tma_{tensor}"), self.names.new(f"{tensor}_gmem")
        position = [t.name for t in self.kernel.tensors].index(tensor)
        rank = len(self.kernel.tensors[position].shape)
        if rank == 1:
            raise LoweringError(f"tensor {tensor!r} has one dimension; bulk tensor copies are of tiles")
        whole = expression(self.variables[tensor])
        kind = "S2G" if store else "G2SMulticast" if multicast else "G2S"
        operation = f"cpasync.Copy{'Reduce' if reduce else ''}BulkTensorTile{kind}Op"
        made = call(
            "cpasync.make_tiled_tma_atom",
            call(operation, *(("tcgen05.CtaGroup.TWO",) if pair else ())),
            call("batch_last", whole) if rank == 3 else whole,
            view.stage_layout(),
            view.tile,
            **({"num_multicast": multicast} if multicast > 1 else {}),
        )
        targets = (expression((atom, gmem)),)
        found = TmaTensor(atom, gmem, (position, store, *view.key, multicast), Line(made, targets))
        self.copies.append(found)
        self.copies.sort(key=lambda c: c.order)
        return found

    @property
    def arguments(self) -> list[Argument]:
        """The kernel's parameters: sizes and divisors, then atoms and tensors in the order of the kernel's tensors."""
        pairs = [(Argument(c.atom, "cute.CopyAtom"), Argument(c.tensor, "cute.Tensor")) for c in self.copies]
        return [*self.scalars, *(argument for pair in pairs for argument in pair)]

    def plain_tensor(self, name: str) -> str:
        """A tensor itself as an argument of the kernel; its name there."""
        return self._argument(self.variables[name], "cute.Tensor")

    def own_body(self, resource: Resource, work: Work, make: Callable[[str], str]) -> str:
        """The function with the body of ``work``; ``make`` gives its text for the name that it gets."""

        def add() -> str:
            name = self.names.new(f"{resource.name}_{work.name}")
            self.own_bodies.append(make(name))
            return name

        return self._once(("own", resource.name, work.name), add)

    def bytes_of(self, constant: str) -> int:
        """Bytes of an element of the type in ``constant``."""
        return next(t.bytes for t in self.types.values() if t.constant == constant)

    # -- clusters
    def routes(self, resource: Resource, op: Op) -> Routes:
        """Which CTAs the signals of ``resource``'s pipeline reach."""
        return routes(self.document, resource)

    def leaders(self, resource: Resource | None, role: str, op: Op) -> Expression | None:
        """The condition under which a CTA takes part in side ``role`` of ``resource``'s pipeline; None: all do."""
        if resource is None or resource.pipeline is None or role not in ("producer", "consumer"):
            return None
        found = self.routes(resource, op)
        return self.cluster.only(found.produces if role == "producer" else found.consumes, op.id)

    @property
    def dynamic(self) -> bool:
        """Whether tiles are requested at run time: then every cluster is launched, and some take over others' tiles."""
        return any(is_dynamic(r) for r in self.document.resources)

    # -- tiles
    @property
    def batched(self) -> bool:
        """Whether the output is a batch of matrices."""
        return any(t.role == "out" and len(t.shape) == 3 for t in self.kernel.tensors)

    def tile_count(self) -> str:
        """The number of work tiles that clusters (of one CTA, mostly) take, on the host and in the kernel."""
        name, count = "tile_count", binary(self.host_value(self.kernel.grid), "//", self.cluster.size)
        self._once(("tile_count",), lambda: self.host.append(assign(name, count)) or name)
        return self._argument(name, "Int32")

    def tile_grid(self, band: int) -> TileGrid:
        """The grid of output tiles in bands of ``band`` rows."""
        return self._once(("grid", band), lambda: self._make_grid(band))

    def _make_grid(self, band: int) -> TileGrid:
        out = next((t for t in self.kernel.tensors if t.role == "out"), None)
        if out is None:
            raise LoweringError("tile coordinates need an output tensor")
        try:
            tile = output_tile(self.kernel.parameters)
        except StockError as error:
            raise LoweringError(str(error)) from None
        rows = call("cute.ceil_div", self.host_value(out.shape[-2]), tile[0] * self.cluster.down)
        columns = call("cute.ceil_div", self.host_value(out.shape[-1]), tile[1] * self.cluster.across)
        m_tiles, n_tiles = self._host("m_tiles", rows), self._host("n_tiles", columns)
        divisor = "cute.fast_divmod_create_divisor_v2"
        last = binary(m_tiles, "-", binary(binary(binary(m_tiles, "-", 1), "//", band), "*", band))
        by_band = self._host("by_band", call(divisor, binary(n_tiles, "*", band)))
        by_last = self._host("by_last", call(divisor, last))
        by_plane = ""
        if len(out.shape) == 3 or splits_of(self.document) > 1:
            by_plane = self._host("by_plane", call(divisor, binary(m_tiles, "*", n_tiles)))
            self._argument(by_plane, "cute.FastDivmodDivisorV2")
        self._argument(m_tiles, "Int32")
        self._argument(by_band, "cute.FastDivmodDivisorV2")
        self._argument(by_last, "cute.FastDivmodDivisorV2")
        return TileGrid(m_tiles, band, by_band, by_last, by_plane)
