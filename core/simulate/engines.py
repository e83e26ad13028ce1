"""The asynchronous engines: when a copy or a matrix product that is issued now will be done.

Each engine serves its requests in the order of issue at a fixed rate; a latency follows that overlaps with the next
request. So the end is known at issue.
"""

from __future__ import annotations

from typing import NamedTuple

from ..document import Document, Engine, Task, Work
from ..program import Event
from .costs import Costs

SUBCORES = 4  # an SM has four, each with one tensor core; warp w runs on w % 4 (CUDA programming guide)
DTYPE_BYTES = {"fp8": 1, "e4m3": 1, "e5m2": 1, "int8": 1, "fp32": 4, "tf32": 4, "f32": 4}
LANES_OF_A_WARP = 32  # of tensor memory, 4 bytes each in a column
MOVES = (Engine.TCGEN05_LD, Engine.TCGEN05_ST, Engine.TCGEN05_CP)
LANES = {
    Engine.TMA: "TMA",
    Engine.WGMMA: "tensor core",
    Engine.TCGEN05: "tensor core",
    Engine.TCGEN05_SHIFT: "tensor core",
    Engine.TCGEN05_CP: "tensor memory",
    Engine.TCGEN05_LD: "tensor memory",
    Engine.TCGEN05_ST: "tensor memory",
    Engine.BULK_STORE: "store",
    Engine.CP_ASYNC: "cp.async",
}


REQUESTS = "tile requests"  # of cluster launch control


class Flight(NamedTuple):
    """When an asynchronous op is served, has read its source, and is done; and when its issue lets the warp go on."""

    start: int
    read: int
    end: int
    returns: int = 0


class Engines:
    """The engines of one SM, and when each is next free."""

    def __init__(self, document: Document, costs: Costs) -> None:
        self.costs = costs
        self.parameters = dict(document.kernel.parameters) if document.kernel else {}
        self.busy: dict[str, int] = {}
        self._free: dict[object, int] = {}

    def issue_cost(self, engine: Engine) -> int:
        """Cycles that the warp spends on starting one op."""
        costs = {Engine.TMA: self.costs.tma_issue, Engine.BULK_STORE: self.costs.store_issue}
        by_threads = (Engine.CP_ASYNC, *MOVES)
        return costs.get(engine, self.costs.work if engine in by_threads else self.costs.mma_issue)

    def fly(self, event: Event, task: Task, warp: int, work: Work | None, time: int) -> Flight:
        """Queues ``event``, issued by ``warp`` of ``task`` up to ``time``."""
        engine, costs = event.engine, self.costs
        if engine is Engine.TMA:
            return self._copy(
                engine, event.bytes or _touched(event), costs.tma_bytes_per_cycle, 0, costs.tma_latency, time
            )
        if engine is Engine.BULK_STORE:
            read, done = costs.store_read_latency, costs.store_latency
            return self._copy(engine, _touched(event), costs.store_bytes_per_cycle, read, done, time)
        if engine is Engine.CP_ASYNC:
            rate, latency = costs.cp_async_bytes_per_cycle, costs.cp_async_latency
            return self._copy(engine, _touched(event), rate, latency, latency, time)
        if engine in MOVES:  # a warp's worth of columns at the rate of its shared memory: not measured
            rate, latency = costs.work_bytes_per_cycle, costs.mma_latency
            quarter = (
                0 if engine is Engine.TCGEN05_CP else (task.warp_idx + warp) % SUBCORES
            )  # each has its own lanes
            nbytes = 4 * LANES_OF_A_WARP * _columns(event)
            return self._copy(engine, nbytes, rate, latency, latency, time, quarter)
        return self._product(engine, task, warp, work, time)

    def ask(self, time: int) -> Flight:
        """A request for a tile: no engine of the SM works on it."""
        end = time + self.costs.tma_latency
        return Flight(time, end, end)

    def _copy(
        self, engine: Engine, nbytes: int, rate: int, read: int, done: int, time: int, part: int = 0
    ) -> Flight:
        """``part``: which of the engine's equal parts, side by side, serves it; the first stands for all when they are
        counted."""
        cycles = -(-nbytes // rate)
        start = max(time, self._free.get((engine, part), 0))
        self._free[engine, part] = start + cycles
        if part == 0:
            self._work(engine, cycles)
        return Flight(start, start + cycles + read, start + cycles + done)

    def _product(self, engine: Engine, task: Task, warp: int, work: Work | None, time: int) -> Flight:
        """wgmma: each warp's share runs on its own subcore; tcgen05: one product uses all four."""
        whole = engine is not Engine.WGMMA
        pipe = (Engine.TCGEN05 if whole else engine, 0 if whole else (task.warp_idx + warp) % SUBCORES)
        cycles = self._mma_cycles(work, 1 if whole else task.num_warps, 1 if whole else SUBCORES)
        start = max(time, self._free.get(pipe, 0))
        end = start + cycles
        self._free[pipe] = end
        if pipe[1] == 0:
            self._work(engine, cycles)
        returns = (
            0 if whole else start - self.costs.mma_ahead
        )  # wgmma fills a short queue, then its issue blocks
        return Flight(start, end, end + self.costs.mma_latency, returns)

    def _mma_cycles(self, work: Work | None, warps: int, pipes: int) -> int:
        """2 m n k flop, shared evenly by ``warps``, at the rate of one of ``pipes``; rate halves with each doubling of the
        operands' 2 bytes. Without a tile: as for 64 x 128 x 64."""
        m, n, k = self._tile(work)
        dtype = self.parameters.get("dtype", "")
        size = DTYPE_BYTES.get(dtype, 2) if isinstance(dtype, str) else 2
        return max(1, 2 * m * n * k * size * pipes // (2 * warps * self.costs.tensor_flop_per_cycle))

    def _tile(self, work: Work | None) -> tuple[int, int, int]:
        tile = dict(work.params).get("tile") if work else None
        if isinstance(tile, str):
            tile = self.parameters.get(tile)
        if isinstance(tile, tuple) and len(tile) == 3 and all(isinstance(x, int) for x in tile):
            return tile
        return 64, 128, 64

    def _work(self, engine: Engine, cycles: int) -> None:
        lane = LANES[engine]
        self.busy[lane] = self.busy.get(lane, 0) + cycles


def _columns(event: Event) -> int:
    return sum(a.high - a.low for a in event.accesses if a.space.startswith("tmem"))


def _touched(event: Event) -> int:
    return sum(a.high - a.low for a in event.accesses)
