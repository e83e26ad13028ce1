"""Shared memory of a module: mbarriers first, then each resource at the place that `core.layout` gives it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from warpdraft.core.arrivals import empty_count, full_count, made_on_empty, made_on_full
from warpdraft.core.clusters import cluster_size
from warpdraft.core.document import Document, Op, OpKind, Resource, Space, Tensor
from warpdraft.core.footprints import stage_bytes, target_work
from warpdraft.core.layout import MBARRIER_BYTES, layout
from warpdraft.core.raw_counts import derived_raw_count
from warpdraft.core.tree import walk

from ..vocabulary import MULTIPLY, STORE
from .dtypes import Typed
from .errors import LoweringError
from .names import Names
from .syntax import (
    Comment,
    Expression,
    For,
    If,
    Statement,
    With,
    assign,
    attribute,
    binary,
    call,
    compare,
    expression,
    run,
)

SWIZZLE_ROWS = (
    8  # rows of one swizzle atom of the canonical wgmma layouts (PTX ISA, wgmma, shared memory matrix layout)
)
COUNTS = {"full": (full_count, made_on_full), "empty": (empty_count, made_on_empty)}
SCALES = "ue8m0"  # scale factors lie as tcgen05.cp reads them, not swizzled
ALIGNMENT = 1024  # bytes: of the whole, which covers the 128-byte swizzle atom


@dataclass(frozen=True, slots=True)
class SmemView:
    """A part of each stage of a resource, seen as rows x columns elements."""

    name: str
    resource: str
    part: str
    tile: tuple[int, int]
    type: Typed
    by_columns: bool  # whether columns are contiguous, not rows
    swizzled: bool
    offset: int  # bytes from the start of shared memory to stage 0 of the part
    stages: int
    stage_bytes: int

    @property
    def key(self) -> tuple[str, str]:
        """What tells views apart."""
        return self.resource, self.part

    def stage_layout(self) -> Expression:
        """The layout of one stage."""
        kind = "swizzled" if self.swizzled else "plain"
        return call(f"{kind}_columns" if self.by_columns else kind, *self.tile, self.type.constant)

    @property
    def contiguous(self) -> tuple[int, int]:
        """Bytes that lie together, and how many such runs there are."""
        rows, columns = self.tile[::-1] if self.by_columns else self.tile
        return columns * self.type.bytes, rows


@dataclass
class Storage:
    """Names and places of mbarriers and of the views that bodies ask for."""

    document: Document
    types: dict[str, Typed]
    names: Names
    total: int
    offsets: dict[str, int]
    swizzled: frozenset[str]
    barriers: dict[tuple[str, str], int] = field(default_factory=dict)  # (name, side) -> number of stage 0
    rings: dict[str, str] = field(default_factory=dict)  # resource or raw mbarrier -> variable
    addresses: dict[str, str] = field(default_factory=dict)  # allocation of tensor memory -> variable
    responses: dict[str, str] = field(default_factory=dict)  # dynamic queue -> variable
    places: dict[str, int] = field(default_factory=dict)  # the same -> byte that its address is written to
    views: dict[tuple[str, str], SmemView] = field(default_factory=dict)

    @classmethod
    def of(cls, document: Document, names: Names, types: dict[str, Typed]) -> Storage:
        """The storage of ``document`` before any view is asked for."""
        swizzled = swizzled_resources(document)
        places = layout(_aligned(document, swizzled))
        words = {**places.addresses, **places.responses}
        self = cls(document, types, names, places.smem_bytes, places.offsets, swizzled, places=words)
        number = 0
        for resource in document.resources:
            if resource.pipeline:
                for side in ("full", "empty"):
                    self.barriers[resource.name, side] = number
                    number += resource.pipeline.stages
                self.rings[resource.name] = names.new(resource.name)
        for mbarrier in document.mbarriers:
            self.barriers[mbarrier.name, "raw"] = number
            number += mbarrier.stages
            self.rings[mbarrier.name] = names.new(mbarrier.name)
        for name in places.responses:
            self.responses[name] = names.new(f"{name}_responses")
        for target in places.addresses:
            self.addresses[target] = names.new(f"{target or 'tensor_memory'}_address")
        return self

    def view(self, resource: Resource, part: str, tile: tuple[int, int], op: str) -> SmemView:
        """The view of ``part`` ("" is the whole stage) as ``tile``.

        Raises LoweringError where sizes or alignment don't fit, or another op sees the part as another tile.
        """
        found = self.views.get((resource.name, part))
        if found is None:
            found = self.views[resource.name, part] = self._make_view(resource, part, tile, op)
        if found.tile != tile:
            raise LoweringError(f"{resource.name} {part} is {found.tile} elsewhere and {tile} here", op)
        return found

    def content(self, resource: Resource, part: str, op: str) -> tuple[Typed, bool]:
        """The type of what ``part`` of a stage holds, and whether its columns are contiguous: by what fills it, or else by
        what it is copied to; the output's where fragments are stored."""
        copies = [
            w for w in resource.works if "tensor" in dict(w.params) and dict(w.params).get("part", "") == part
        ]
        loads = [w for w in copies if w.role == "producer"]
        tensors = {dict(w.params)["tensor"] for w in loads or copies}
        found = {
            (self.types[t.name], t.order[-1] != len(t.shape) - 1) for t in self._tensors if t.name in tensors
        }
        if len(found) > 1:
            raise LoweringError(
                f"{resource.name} {part} is filled from tensors of different types or orders", op
            )
        if found:
            return found.pop()
        role = "out" if any(w.body in STORE for w in resource.works) else "in"
        of_role = [t.name for t in self._tensors if t.role == role] or [t.name for t in self._tensors]
        if not of_role:
            raise LoweringError(f"nothing says what {resource.name} holds: the kernel has no tensor", op)
        return self.types[of_role[0]], False

    @property
    def _tensors(self) -> tuple[Tensor, ...]:
        return self.document.kernel.tensors if self.document.kernel else ()

    def _make_view(self, resource: Resource, part: str, tile: tuple[int, int], op: str) -> SmemView:
        if resource.storage is None or resource.space is not Space.SMEM:
            raise LoweringError(f"{resource.name} has no place in shared memory", op)
        size, inner = stage_bytes(resource), 0
        if part:
            found = next((p for p in resource.storage.parts if p.name == part), None)
            if found is None:
                raise LoweringError(f"{resource.name} has no part {part!r}", op)
            size, inner = found.bytes, found.offset
        typed, by_columns = self.content(resource, part, op)
        need = tile[0] * tile[1] * typed.bytes
        if need != size:
            whose = f"part {part!r} of {resource.name}" if part else f"a stage of {resource.name}"
            raise LoweringError(
                f"{tile[0]} x {tile[1]} {typed.dtype.name} are {need} bytes; {whose} has {size}", op
            )
        view = SmemView(
            self.names.new(f"{resource.name}_{part or 'tile'}"),
            resource.name,
            part,
            tile,
            typed,
            by_columns,
            resource.name in self.swizzled and typed.dtype.name != SCALES,
            self.offsets[resource.name] + inner,
            resource.storage.stages,
            resource.storage.bytes,
        )
        self._check_alignment(view, op)
        return view

    def _check_alignment(self, view: SmemView, op: str) -> None:
        unit = 128  # cp.async.bulk.tensor: shared memory address (PTX ISA)
        if view.swizzled:
            row, rows = view.contiguous
            width = next((w for w in (128, 64, 32) if row % w == 0), 0)
            if not width or rows % SWIZZLE_ROWS:
                raise LoweringError(f"no swizzle fits {rows} rows of {row} bytes", op)
            unit = width * SWIZZLE_ROWS
        if view.offset % unit or (view.stages > 1 and view.stage_bytes % unit):
            raise LoweringError(
                f"{view.resource} {view.part}: every stage must lie on a multiple of {unit} bytes", op
            )

    # -- statements
    def set_up(self) -> Iterator[Statement]:
        """Allocates shared memory and names what lies in it."""
        yield Comment("shared memory")
        if not self.total:
            return
        yield assign(
            "smem",
            call(
                attribute(call("cutlass.memory.SmemAllocator"), "allocate"),
                self.total,
                byte_alignment=ALIGNMENT,
            ),
        )
        if self.barriers:
            yield assign("barriers", call("cute.recast_ptr", "smem", dtype="cutlass.Int64"))
        for (name, side), number in self.barriers.items():
            if side == "raw":
                yield assign(self.rings[name], binary("barriers", "+", number))
            elif side == "full":
                empty = binary("barriers", "+", self.barriers[name, "empty"])
                yield assign(self.rings[name], call("Ring", binary("barriers", "+", number), empty))
        for dtype, variables in (("Int32", self.addresses), ("cutlass.Int128", self.responses)):
            for target, variable in variables.items():
                place = binary("smem", "+", self.places[target])
                yield assign(variable, call("cute.recast_ptr", place, dtype=dtype))
        for view in sorted(self.views.values(), key=lambda v: (v.offset, v.resource)):
            place = binary("smem", "+", view.offset)
            shape = view.stage_layout(), view.stages, view.stage_bytes, view.type.constant
            yield assign(view.name, call("stages_at", place, *shape))

    def init_barriers(self, atoms: list[str]) -> Iterator[Statement]:
        """Warp 0 initialises the mbarriers, then the CTA (the cluster, where it has several) synchronises."""
        yield Comment("mbarriers: arrival counts")
        body: list[Statement] = [run("cpasync.prefetch_descriptor", atom) for atom in atoms]
        inits = tuple(self._inits())
        if inits:
            body.append(With(call("cute.arch.elect_one"), inits))
            body.append(run("cute.arch.mbarrier_init_fence"))
        if body:
            yield If(((compare("warp_idx", "==", 0), tuple(body)),))
        if inits and cluster_size(self.document) > 1:
            yield run("cute.arch.cluster_arrive_relaxed")
            yield run("cute.arch.cluster_wait")
        elif inits:
            yield run("cute.arch.sync_threads")

    def _count(self, side: str, resource: Resource) -> int:
        """The arrival count, which must be the same in all CTAs of a cluster that anybody arrives in."""
        count, made = COUNTS[side]
        ctas = range(cluster_size(self.document))
        met = [cta for cta in ctas if made(self.document, resource, cta)] or ctas
        counts = {count(self.document, resource, cta) for cta in met}
        if len(counts) > 1:
            raise LoweringError(f"the CTAs' barriers of {resource.name} count {sorted(counts)} arrivals")
        return counts.pop()

    def _inits(self) -> Iterator[Statement]:
        for resource in self.document.resources:
            if resource.pipeline:
                ring, init = self.rings[resource.name], "cute.arch.mbarrier_init"
                full, empty = (binary(f"{ring}.{side}", "+", "stage") for side in ("full", "empty"))
                yield For(
                    expression("stage"),
                    call("cutlass.range_constexpr", resource.pipeline.stages),
                    (
                        run(init, full, self._count("full", resource)),
                        run(init, empty, self._count("empty", resource)),
                    ),
                )
        for mbarrier in self.document.mbarriers:
            pointer = self.rings[mbarrier.name]
            if mbarrier.address is not None:
                raise LoweringError(
                    f"{mbarrier.name} has a fixed address: mbarriers that share bytes are not lowered"
                )
            derived = mbarrier.count is None
            count = derived_raw_count(self.document, mbarrier.name) if derived else mbarrier.count
            for stage in range(mbarrier.stages):
                yield run("cute.arch.mbarrier_init", binary(pointer, "+", stage), count)


def _aligned(document: Document, swizzled: frozenset[str]) -> Document:
    """``document`` with the alignment that swizzled storage needs, where it asks for less."""
    resources = tuple(
        replace(r, storage=replace(r.storage, alignment=max(r.storage.alignment, ALIGNMENT)))
        if r.storage and r.name in swizzled and r.space is Space.SMEM
        else r
        for r in document.resources
    )
    return replace(document, resources=resources)


def swizzled_resources(document: Document) -> frozenset[str]:
    """The resources that the tensor core reads or fragments are stored in: their rows are swizzled."""
    found: set[str] = set()
    for task in document.tasks:
        viewed: dict[str, str] = {}
        for op in (n for n in walk(task.body) if isinstance(n, Op) and n.kind is OpKind.WORK):
            named = target_work(document, op)
            if named is None:
                continue
            resource, work = named
            if work.view:
                viewed |= dict.fromkeys(op.results, resource.name)
            if work.body in MULTIPLY:
                found |= {viewed[v.name] for _, v in op.args if getattr(v, "name", None) in viewed}
            if work.body in (*STORE, "sm90.add_tile"):
                found.add(resource.name)
    return frozenset(found)


assert MBARRIER_BYTES == 8  # the prelude addresses barriers as 64-bit words
