"""sm90.tile_coords: which tile of the output this CTA works on now, and the k step.

Static persistent order: CTA c takes work tiles c, c + grid, ... Work tiles are numbered in bands of ``band`` tile rows (a
parameter of the work queue), each walked column by column; the last band may be thinner. A band of 1 is row-major.
"""

from __future__ import annotations

from warpdraft.core.document import Loop

from ..call import Body, Call
from ..outcome import EmulationError


def tile_at(number: int, rows: int, columns: int, band: int) -> tuple[int, int]:
    """Row and column of work tile ``number`` of ``rows`` x ``columns``; numbers past the end lie outside.

    >>> [tile_at(t, 3, 2, 2) for t in range(6)]
    [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]
    >>> [tile_at(t, 2, 3, 1) for t in range(4)]
    [(0, 0), (0, 1), (0, 2), (1, 0)]
    """
    if number >= rows * columns:
        return rows + number, columns
    first, rest = divmod(number, columns * band)
    height = min(band, rows - first * band)
    column, row = divmod(rest, height)
    return first * band + row, column


def run(call: Call) -> tuple[int, int, int]:
    tile = call.parameter("tile", call.launch.tile())
    output = call.launch.output
    if output.data.ndim != 2:
        raise EmulationError(f"{call.op.id}: tile_coords needs an output of two dimensions")
    rows, columns = (-(-extent // size) for extent, size in zip(output.data.shape, tile[:2], strict=True))
    number = call.cta + (call.index("tile") or 0) * call.launch.grid
    return *tile_at(number, rows, columns, band(call)), call.index("domain") or 0


def band(call: Call) -> int:
    """The band of the queue whose loop is around the call, or of the only queue."""
    queue = next(
        (loop.queue for loop, _ in reversed(call.loops) if isinstance(loop, Loop) and loop.queue), ""
    )
    resource = call.launch.resources.get(queue)
    value = dict(resource.params).get("band") if resource else None
    return max(1, value) if isinstance(value, int) else 1


BODY = Body("sm90.tile_coords", run)
