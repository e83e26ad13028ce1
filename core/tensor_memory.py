"""Which lanes and columns of tensor memory a work reaches.

Tensor memory has 128 lanes of 512 columns. The tensor core reaches all of it; a warp's loads and stores only the 32 lanes
from 32 * (warp % 4) on (PTX ISA, "tcgen05: access restrictions"). So a resource's columns are four spaces, one for
each quarter of the lanes, where some thread reaches less than all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from .document import Document, Engine, Footprint, Op, OpKind, Resource, Space, Task, Work
from .footprints import byte_range, engine_of
from .tensor_core import AWAITED
from .tree import ops_of

QUARTERS, LANES = 4, 32
WAITS = (OpKind.TCGEN05_WAIT_LD, OpKind.TCGEN05_WAIT_ST)
Ranges = tuple[tuple[int, int], ...]


def quarter(task: Task, warp: int) -> int:
    """The quarter of the lanes that warp ``warp`` of ``task`` reaches."""
    return (task.warp_idx + warp) % QUARTERS


def lanes(number: int) -> str:
    """ "lanes 32-63"."""
    return f"lanes {LANES * number}-{LANES * number + LANES - 1}"


def space_of(name: str, number: int) -> str:
    """Quarter ``number`` of the space ``name``."""
    return f"{name}:{LANES * number}"


def part_of(name: str, number: int) -> str:
    """Quarter ``number`` of the space ``name``, or all of it (-1)."""
    return name if number < 0 else space_of(name, number)


def place(space: str) -> str:
    """A space as messages name it: "tmem lanes 32-63"."""
    name, _, lane = space.partition("@")[0].partition(":")
    return f"{name} {lanes(int(lane) // LANES)}" if lane else name


def states_waits(task: Task) -> bool:
    """Whether ``task`` says itself when it waits for its loads and stores."""
    return any(op.kind in WAITS for op in ops_of(task))


def issued_as(resource: Resource, work: Work, task: Task) -> Engine:
    """The engine of ``work`` in ``task``. Threads reach tensor memory by `tcgen05.ld` and `.st` alone: where a task states
    its waits, works that name no engine end with them; where it states none, they wait inside."""
    engine = engine_of(resource, work)
    undecided = engine is Engine.WARP and work.engine is None and not work.view and not work.auxiliary
    if undecided and resource.space is Space.TMEM and states_waits(task):
        return Engine.TCGEN05_LD if work.role == "consumer" else Engine.TCGEN05_ST
    return engine


def by_threads(engine: Engine) -> bool:
    """Whether each warp does the work for itself."""
    return engine is Engine.WARP or engine in AWAITED


def has_lanes(engine: Engine, task: Task, alone: bool) -> bool:
    """Whether the work reaches its warps' lanes only. Of works that wait inside we take it from a whole warpgroup on: fewer
    warps stand for a body that says nothing of lanes."""
    return engine in AWAITED or (engine is Engine.WARP and task.num_warps >= QUARTERS and not alone)


def slices(
    footprint: Footprint | None, size: int, task: Task, warps: Iterable[int], alone: bool
) -> dict[int, Ranges]:
    """By quarter of the lanes, the columns [low, high) of a stage of ``size`` columns that ``warps`` of ``task`` reach.

    By default, and for a warp slice: all columns of the warp's lanes, shared evenly by the warps that have the same lanes.
    """
    found: dict[int, list[tuple[int, int]]] = {}
    sharing = 1 if alone else -(-task.num_warps // QUARTERS)
    for warp in warps:
        if footprint is None or footprint.kind == "warp_slice":
            low, high = (0, size)
            if footprint is not None and footprint.bytes:
                low, high = footprint.offset, footprint.offset + footprint.bytes
            place, span = (0 if alone else warp // QUARTERS), high - low
            columns = low + span * place // sharing, low + span * (place + 1) // sharing
        else:
            columns = byte_range(footprint, size, warp, task.num_warps)
        found.setdefault(quarter(task, warp), []).append(columns)
    return {number: merged(columns) for number, columns in sorted(found.items())}


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """``ranges`` in order, as disjoint ones."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        elif low < high:
            found.append((low, high))
    return tuple(found)


def divided(document: Document) -> bool:
    """Whether some thread reaches less than all lanes, so that the quarters must be told apart."""
    works = {(r.name, w.name): (r, w) for r in document.resources if r.space is Space.TMEM for w in r.works}
    return any(_divides(op, task, works) for task in document.tasks for op in ops_of(task))


def _divides(op: Op, task: Task, works: dict[tuple[str, str], tuple[Resource, Work]]) -> bool:
    found = works.get((op.target, op.work)) if op.kind is OpKind.WORK else None
    return found is not None and has_lanes(issued_as(*found, task), task, False)
