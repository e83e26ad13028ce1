"""What a run needs to know before its first step: sizes, grid, tensors, trip counts."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from warpdraft.core.clusters import cluster_layout, cluster_size
from warpdraft.core.document import Document, Kernel, Loop, Resource, Value
from warpdraft.core.expressions import (
    OPERATORS,
    Symbol,
    ceil_div,
    evaluate,
    symbols_of,
    unknown_operators,
)
from warpdraft.core.layout import layout, smem_capacity, tmem_capacity
from warpdraft.core.occupancy import ctas_per_sm
from warpdraft.core.schedulers import has_slots, is_dynamic
from warpdraft.core.tree import walk

from ..vocabulary import StockError, added_tensors, minimums, output_tile, whole_grid
from .dtypes import UE8M0, Dtype, dtype_of, encode
from .outcome import EmulationError

MOST_ELEMENTS = 2**28  # of a tensor: 1 GiB of float32
LEAST_RUNNING = 2  # clusters of a kernel that requests tiles: one alone would be given all of them in order
SMS = 2  # of the emulated device: a persistent kernel then works on several tiles a CTA at small sizes


@dataclass(frozen=True, slots=True)
class GlobalTensor:
    """A tensor with its elements in stored form."""

    name: str
    dtype: Dtype
    data: np.ndarray
    role: str


@dataclass(frozen=True)
class Launch:
    """One launch of a document's kernel."""

    document: Document
    resources: dict[str, Resource]
    sizes: dict[str, int]
    parameters: dict[str, Value]
    tensors: dict[str, GlobalTensor]
    offsets: dict[str, int]  # first byte of each resource in shared memory
    columns: dict[str, int]  # first column of each resource in tensor memory
    smem_bytes: int
    tmem_columns: int
    grid: int  # CTAs
    work_tiles: int
    responses: dict[str, int] = field(default_factory=dict)  # first byte of the slots of each dynamic queue
    dealt: tuple[tuple[int, ...], ...] = ()  # by cluster, the work tiles of a dynamic queue

    @property
    def size(self) -> int:
        """CTAs of a cluster."""
        return cluster_size(self.document)

    @property
    def down(self) -> int:
        """CTAs of a cluster along M; a pair lies along M, too."""
        pairs, m, _, _ = cluster_layout(self.document)
        return pairs * m

    @property
    def across(self) -> int:
        """CTAs of a cluster along N."""
        return cluster_layout(self.document)[2]

    @property
    def output(self) -> GlobalTensor:
        """The first output tensor."""
        for tensor in self.tensors.values():
            if tensor.role == "out":
                return tensor
        raise EmulationError(f"kernel {self.document.kernel.name} has no output tensor")

    def tile(self) -> tuple[int, int] | None:
        """Rows and columns of the output tile that one CTA makes at a time, if the kernel says so. Raises EmulationError."""
        if "tile" not in self.parameters:
            return None
        try:
            return output_tile(tuple(self.parameters.items()))
        except StockError as error:
            raise EmulationError(str(error)) from None

    def trip_counts(self, cta: int) -> dict[str, int]:
        """The schedule's symbols for CTA ``cta``: a tile count ends where the work tiles do."""
        known = {**self.sizes, "grid": self.grid, "cta": cta}
        values = {n: _evaluate(e, known, n) for n, e in self.document.kernel.trip_counts}
        missing = [s.name for s in self.document.symbols if s.name not in values]
        if missing:
            raise EmulationError(f"the kernel does not say how {', '.join(missing)} follows from its sizes")
        tiles, clusters = self.work_tiles // self.size, self.grid // self.size
        own = ceil_div(max(0, tiles - cta // self.size), clusters)
        if self.dealt:
            own = len(self.dealt[cta // self.size])
        for name in _tile_counts(self.document):
            values[name] = min(values[name], own)
        for name, least in minimums(self.document, self.document.kernel).items():
            value = values.get(name, self.sizes.get(name))
            if value is not None and value < least:
                raise EmulationError(f"{name} is {value}; the kernel needs at least {least}")
        return values


def prepare(
    document: Document,
    sizes: Mapping[str, int] | None,
    parameters: Mapping[str, Any] | None,
    seed: int,
    sms: int = SMS,
) -> Launch:
    """The launch of ``document`` with random inputs (standard normal, rounded to their type).

    ``sizes`` and ``parameters`` replace the kernel's own small sizes and parameters. Raises EmulationError.
    """
    kernel = document.kernel
    if kernel is None:
        raise EmulationError(f"{document.name} says nothing of tensors and sizes (it has no kernel)")
    dynamic = [r.name for r in document.resources if is_dynamic(r)]
    if bare := [r.name for r in document.resources if is_dynamic(r) and not has_slots(r)]:
        raise EmulationError(f"{bare[0]} has no slots for the responses to its requests")
    if per_tile := [s.name for s in document.symbols if s.per_tile]:
        raise EmulationError(f"trip counts that differ from tile to tile are not emulated ({per_tile[0]})")
    if per_cta := [s.name for s in document.symbols if s.per_cta]:
        raise EmulationError(f"trip counts that differ from CTA to CTA are not emulated ({per_cta[0]})")
    taken = {**dict(kernel.small_sizes or kernel.sizes), **(sizes or {})}
    known = {**dict(kernel.parameters), **(parameters or {})}
    sized = {s.name for t in kernel.tensors for extent in t.shape for s in symbols_of(extent)}
    _refuse_unknown("size", sizes, sized | set(dict(kernel.small_sizes)) | set(dict(kernel.sizes)), kernel)
    _refuse_unknown("parameter", parameters, set(dict(kernel.parameters)), kernel)
    for name, value in taken.items():
        if type(value) is not int:
            raise EmulationError(f"size {name} must be an integer, not {value!r}")
    numbers = np.random.default_rng(seed)
    tensors, added = {}, _added(document)
    for tensor in kernel.tensors:
        dtype = dtype_of(known.get(tensor.dtype, tensor.dtype))
        shape = tuple(_evaluate(e, taken, f"the shape of {tensor.name}") for e in tensor.shape)
        if any(extent < (tensor.role != "in") for extent in shape):  # a sum may have no terms
            raise EmulationError(f"tensor {tensor.name} would have shape {shape}")
        if math.prod(shape) > MOST_ELEMENTS:
            raise EmulationError(
                f"tensor {tensor.name} would have shape {shape}: at most {MOST_ELEMENTS} elements are emulated"
            )
        values = np.full(shape, 0 if tensor.name in added else np.nan, np.float32)
        if tensor.role == "in":
            values = numbers.standard_normal(shape, np.float32)
        if dtype is UE8M0:
            values = np.exp2(np.round(values))
        tensors[tensor.name] = GlobalTensor(tensor.name, dtype, encode(values, dtype), tensor.role)
    work_tiles = _evaluate(kernel.grid, taken, "the grid")
    persistent = bool(_tile_counts(document))
    size = cluster_size(document)
    _check_grid(document, kernel, work_tiles, taken)
    most = sms * ctas_per_sm(document) if persistent else work_tiles
    if dynamic:
        most = max(most, LEAST_RUNNING * size)
    grid = max(1, min(work_tiles, most) // size) * size
    dealt = _deal(work_tiles // size, grid // size, seed) if dynamic else ()
    placed = layout(document)
    if placed.smem_bytes > smem_capacity(document):
        raise EmulationError(
            f"{placed.smem_bytes} bytes of shared memory are needed; a CTA has {smem_capacity(document)}"
        )
    if placed.tmem_columns > tmem_capacity(document):
        raise EmulationError(
            f"{placed.tmem_columns} columns of tensor memory are needed; a CTA has {tmem_capacity(document)}"
        )
    resources = {r.name: r for r in document.resources}
    offsets = {n: o for n, o in placed.offsets.items() if resources[n].space == "smem"}
    columns = {n: o for n, o in placed.offsets.items() if resources[n].space == "tmem"}
    sizes = placed.smem_bytes, placed.tmem_columns
    made = Launch(document, resources, taken, known, tensors, offsets, columns, *sizes, grid, work_tiles)
    return replace(made, responses=placed.responses, dealt=dealt)


def _deal(tiles: int, clusters: int, seed: int) -> tuple[tuple[int, ...], ...]:
    """The tiles that each running cluster works on: its own, then those that it is given when it asks; who asks first is a
    matter of chance."""
    chance = random.Random(f"tiles {seed}")
    found = [[cluster] for cluster in range(clusters)]
    for tile in range(clusters, tiles):
        found[chance.randrange(clusters)].append(tile)
    return tuple(map(tuple, found))


def _check_grid(document: Document, kernel: Kernel, work_tiles: int, sizes: Mapping[str, int]) -> None:
    try:
        whole = whole_grid(document, kernel)
    except StockError:
        return  # the bodies say it
    if whole is not None and work_tiles != (wanted := _evaluate(whole, sizes, "the grid")):
        raise EmulationError(
            f"the kernel's grid has {work_tiles} CTAs; in whole clusters, the output's tiles need {wanted}"
        )


def _added(document: Document) -> tuple[str, ...]:
    try:
        return added_tensors(document)
    except StockError as error:
        raise EmulationError(str(error)) from None


def _tile_counts(document: Document) -> set[str]:
    loops = (n for task in document.tasks for n in walk(task.body) if isinstance(n, Loop))
    return {n.stop.name for n in loops if n.kind == "tile" and isinstance(n.stop, Symbol)}


def _evaluate(expression: Any, values: Mapping[str, int], what: str) -> int:
    if unknown := unknown_operators(expression):
        raise EmulationError(f"{what}: operator {unknown[0]!r} is not one of {', '.join(OPERATORS)}")
    try:
        return evaluate(expression, values)
    except TypeError:
        raise EmulationError(f"{what} is no number: the sizes must be integers") from None
    except KeyError as missing:
        raise EmulationError(f"{what} needs the size {missing.args[0]}, which is not given") from None
    except ZeroDivisionError:
        raise EmulationError(f"{what} divides by zero") from None


def _refuse_unknown(what: str, given: Mapping[str, Any] | None, known: set[str], kernel: Any) -> None:
    for name in given or ():
        if name not in known:
            raise EmulationError(
                f"kernel {kernel.name} has no {what} {name}; it has {', '.join(sorted(known))}"
            )
