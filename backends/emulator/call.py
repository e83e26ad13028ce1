"""What the NumPy twin of a work body is given, and what it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from warpdraft.core.document import Loop, Op, Resource, Task, Work
from warpdraft.core.expressions import evaluate
from warpdraft.core.footprints import stage_bytes
from warpdraft.core.unroll import trip_count

from .. import vocabulary
from .dtypes import Dtype
from .launch import GlobalTensor, Launch
from .memory import SharedMemory, TensorMemory
from .outcome import EmulationError

T = TypeVar("T")


class View(NamedTuple):
    """A stage that a token stands for; it is read where the token is used."""

    resource: str
    stage: int


class Registers(NamedTuple):
    """One warp's part of an accumulator tile of ``height`` x ``width``: ``rows``, and columns from ``left`` on."""

    data: np.ndarray
    rows: np.ndarray
    left: int
    height: int
    width: int


class Fragment(NamedTuple):
    """One warp's part of an accumulator; ``subtile`` of its columns is meant, one of ``subtiles`` (0: as many as fit)."""

    held: Registers
    subtile: int
    subtiles: int


def name_of(task: str, warp: int) -> str:
    """ "math.w3": what a warp is called in its CTA."""
    return f"{task}.w{warp}"


@dataclass(slots=True)
class WarpState:
    """What a warp's bodies keep: the values of its tokens, its accumulators by (resource, stage), and its work tile."""

    values: dict[str, Any] = field(default_factory=dict)
    registers: dict[tuple[str, int], Registers] = field(default_factory=dict)
    tile: int | None = (
        None  # the work tile that a dynamic queue gave last; None: the one that came with the launch
    )


@dataclass(frozen=True, slots=True)
class Call:
    """One execution of a work: by ``warp`` of ``task`` in ``cta``, with ``args`` as they were when it was issued.

    ``results`` are what the tokens of an asynchronous work stand for: its completion fills them in. ``pair``: the memories
    of the two CTAs that an MMA of a pair works for."""

    launch: Launch
    memory: SharedMemory
    tensor_memory: TensorMemory
    state: WarpState
    cta: int
    task: Task
    warp: int
    op: Op
    resource: Resource
    work: Work
    stage: int
    loops: tuple[tuple[Loop, int], ...]
    values: dict[str, int]
    args: dict[str, Any]
    target: int = 0  # the CTA of the cluster whose memory is meant
    window: tuple[int, int] | None = None  # bytes of shared memory that a multicast copy brings there
    pair: tuple[tuple[SharedMemory, TensorMemory], ...] = ()
    results: tuple[Any, ...] = ()

    @property
    def warp_name(self) -> str:
        """ "math.w3"."""
        return name_of(self.task.name, self.warp)

    def parameter(self, name: str) -> Any:
        """Parameter ``name`` of the stock body, as `vocabulary` reads it; None for an optional one that is not given."""
        return self.stock(vocabulary.read, self.work, name)

    def stock(self, function: Callable[..., T], *arguments: object) -> T:
        """What a function of `vocabulary` says; EmulationError where it refuses."""
        try:
            return function(*arguments)
        except vocabulary.StockError as error:
            raise self.fail(str(error)) from None

    def arg(self, name: str) -> Any:
        """The argument called ``name``; EmulationError where there is none."""
        value = self.args.get(name)
        if value is None:
            raise self.fail(f"argument {name!r} is missing")
        return value

    def number(self, name: str) -> int:
        """The argument called ``name``, which must be a number: a coordinate, a subtile."""
        value = self.arg(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.fail(f"argument {name!r} must be a number, not {value!r:.40}")
        return value

    def corner(self, tensor: GlobalTensor) -> tuple[int, int]:
        """The first row and column of the tile of ``tensor`` that the body's ``coords`` name."""
        _, down, across = self._coordinates(tensor)
        rows, columns = self.parameter("tile")
        if self.args.get("subtile") is not None:  # the last coordinate then counts accumulator tiles
            count = self.stock(vocabulary.columns_of_subtile, self.launch.document, (rows, columns))
            across = across * count + self.number("subtile")
        return down * rows, across * columns

    def plane(self, tensor: GlobalTensor) -> np.ndarray:
        """The matrix of ``tensor`` that the body's ``coords`` name: the only one, or one of a batch."""
        batch, _, _ = self._coordinates(tensor)
        data = tensor.data
        if not batch:
            return data
        return data[batch[0]] if batch[0] < len(data) else data[0][:0]

    def _coordinates(self, tensor: GlobalTensor) -> tuple[list[int], int, int]:
        named = self.parameter("coords")
        if len(named) != tensor.data.ndim:
            raise self.fail(
                f"names {len(named)} coordinates of {tensor.name}, which has {tensor.data.ndim} dimensions"
            )
        *batch, down, across = (self.number(name) for name in named)
        if min(*batch, down, across) < 0:
            at = ", ".join(map(str, (*batch, down, across)))
            raise self.fail(f"tile {at} of {tensor.name} does not exist: coordinates count from 0")
        return batch, down, across

    def tensor(self) -> GlobalTensor:
        """The kernel's tensor that the body's ``tensor`` names."""
        name = self.parameter("tensor")
        found = self.launch.tensors.get(name)
        if found is None:
            raise self.fail(f"the kernel has no tensor {name!r}")
        return found

    def view(self, parameter: str = "") -> View:
        """The one stage that the call is given to read, or that which argument ``parameter`` names."""
        if parameter:
            found = self.args[parameter]
            if not isinstance(found, View):
                raise self.fail(f"argument {parameter!r} is not a view of a stage")
            return found
        stages = [v for v in self.args.values() if isinstance(v, View)]
        views = [v for v in stages if v.resource not in self.launch.columns]  # those of shared memory
        if len(views) != 1:
            raise self.error(f"needs one view to read, and is given {len(views)}")
        return views[0]

    def place(self, view: View, part: str = "") -> tuple[int, int]:
        """First byte and size of a stage (or of its part) in shared memory."""
        resource = self.launch.resources[view.resource]
        offset = self.launch.offsets.get(view.resource)
        if offset is None:
            raise self.error(f"uses {view.resource}, which has no shared memory")
        size = stage_bytes(resource)
        offset += view.stage * size
        if part:
            found = next((p for p in resource.storage.parts if p.name == part), None)
            if found is None:
                raise self.error(f"uses part {part} of {view.resource}, which has no such part")
            offset, size = offset + found.offset, found.bytes
        if offset < 0 or size < 0 or offset + size > self.launch.smem_bytes:
            raise self.error(
                f"uses stage {view.stage} of {view.resource}, which lies outside of shared memory"
            )
        return offset, size

    def matrix(self, view: View, part: str, shape: tuple[int, int], dtype: Dtype) -> np.ndarray:
        """Stored elements of a stage's part as the async proxy sees them now."""
        offset, size = self.place(view, part)
        wanted = shape[0] * shape[1] * dtype.bytes
        if wanted != size:
            raise self.error(
                f"reads {shape[0]} x {shape[1]} x {dtype.bytes} bytes of {part or view.resource}, which has {size}"
            )
        return self.memory.read_async(offset, wanted).view(dtype.storage).reshape(shape)

    def columns(self, resource: str, stage: int, size: int, first: int = 0) -> np.ndarray:
        """``size`` columns of tensor memory, from column ``first`` of a stage on: all lanes, as they are now."""
        offset = self.launch.columns.get(resource)
        if offset is None:
            raise self.error(f"uses {resource}, which has no columns of tensor memory")
        wide = stage_bytes(self.launch.resources[resource])
        if first + size > wide:
            raise self.error(
                f"uses columns {first} to {first + size} of {resource}, whose stages have {wide}"
            )
        low = offset + stage * wide + first
        if not self.tensor_memory.usable(low, low + size):
            return np.full((TensorMemory.LANES, size), np.nan, np.float32)  # of nobody, or of another CTA
        return self.tensor_memory.cells[:, low : low + size]

    def index(self, kind: str) -> int | None:
        """The value of the innermost loop variable of this kind ("domain" or "tile"); None outside such a loop."""
        for loop, i in reversed(self.loops):
            if loop.kind == kind:
                return evaluate(loop.start, self.values) + i * evaluate(loop.step, self.values)
        return None

    def trips(self, kind: str) -> int:
        """How often the innermost loop of this kind runs."""
        loop = next(loop for loop, _ in reversed(self.loops) if loop.kind == kind)
        return trip_count(loop, self.values)

    def first_iteration(self, period: int | None = None) -> bool:
        """Whether this is the first iteration of the innermost domain loop (or outside of one), or of ``period`` of them."""
        i = next((i for loop, i in reversed(self.loops) if loop.kind == "domain"), 0)
        return (i % period if period else i) == 0

    def error(self, text: str) -> EmulationError:
        """An error that names the op and its work."""
        return EmulationError(f"{self.op.id}: {self.resource.name}.{self.work.name} {text}")

    def fail(self, text: str) -> EmulationError:
        """An error that names the op and its stock body."""
        return EmulationError(f"{self.op.id}: {self.work.body}: {text}")


@dataclass(frozen=True, slots=True)
class Body:
    """The NumPy twin of stock body ``name``. ``run`` gives the values of the work's tokens; an asynchronous work runs when
    it completes, and ``start`` gives what its tokens stand for from its issue on."""

    name: str
    run: Callable[[Call], tuple[Any, ...] | None]
    start: Callable[[Call], tuple[Any, ...]] | None = None
