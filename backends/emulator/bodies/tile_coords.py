"""sm90.tile_coords: which tile of the output this CTA works on now, and the k step.

Static persistent order: cluster c takes work tiles c, c + clusters, ..., each of them as many neighbouring tiles as the
cluster has CTAs; of a dynamic queue, it takes what its warps have read. Work tiles are numbered in bands of ``band`` tile
rows (a parameter of the work queue), each walked column by column; the last band may be thinner. A band of 1 is row-major.
"""

from __future__ import annotations

from ... import vocabulary
from ..call import Body, Call


def tile_at(number: int, rows: int, columns: int, band: int) -> tuple[int, int]:
    """Row and column of work tile ``number`` of ``rows`` x ``columns``; numbers past the end lie outside.

    >>> [tile_at(t, 3, 2, 2) for t in range(6)]
    [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]
    >>> [tile_at(t, 2, 3, 1) for t in range(4)]
    [(0, 0), (0, 1), (0, 2), (1, 0)]
    """
    if not 0 <= number < rows * columns:
        return rows + abs(number), columns
    first, rest = divmod(number, columns * band)
    height = min(band, rows - first * band)
    column, row = divmod(rest, height)
    return first * band + row, column


def run(call: Call) -> tuple[int | None, ...]:
    output = call.launch.output
    if output.data.ndim not in (2, 3):
        raise call.fail(f"needs an output of two or three dimensions, {output.name} has {output.data.ndim}")
    tile = call.stock(vocabulary.output_tile, tuple(call.launch.parameters.items()))
    cluster = call.launch.down, call.launch.across
    rows, columns = (
        -(-extent // (size * of))
        for extent, size, of in zip(output.data.shape[-2:], tile, cluster, strict=True)
    )
    size = cluster[0] * cluster[1]
    number = (call.cta + (call.index("tile") or 0) * call.launch.grid) // size
    if call.launch.dealt:
        number = call.cta // size if call.state.tile is None else call.state.tile
    matrix = None
    splits = call.parameter("splits")
    if splits > 1 and output.data.ndim == 3:
        raise call.fail("sums that are cut into parts are for one matrix, not for a batch")
    if output.data.ndim == 3 or splits > 1:
        matrix, number = divmod(number, rows * columns)
    m, n = tile_at(number, rows, columns, band(call))
    place = call.cta % size % cluster[0], call.cta % size // cluster[0]
    m, n = (at * of + own for at, of, own in zip((m, n), cluster, place, strict=True))
    parts, part = call.parameter("parts"), call.parameter("part")
    for own, of in zip(part, parts, strict=True):
        if own >= of:
            raise call.fail(f"there is no part {own} of {of}")
    m, n = (at * of + own for at, of, own in zip((m, n), parts, part, strict=True))
    depth = call.index("domain")
    if splits > 1 and depth is not None:
        depth += matrix * call.trips("domain")
    known = {
        "coord_m": m,
        "coord_n": n,
        "coord_k": depth,
        "coord_l": matrix,
    }  # no k outside a domain loop
    for what in call.work.returns:
        if what not in known:
            raise call.fail(f"there is no coordinate {what!r}, only {', '.join(known)}")
    return tuple(known[what] for what in call.work.returns)


def band(call: Call) -> int:
    """The band of the queue whose loop is around the call; without one, the work's."""
    tile = next((loop for loop, _ in reversed(call.loops) if loop.kind == "tile"), None)
    queue = call.launch.resources.get(tile.queue) if tile else None
    if tile and queue is None:
        raise call.fail(f"the tile loop's queue {tile.queue!r} is no work queue")
    return call.stock(vocabulary.band_of, call.work, queue)


BODY = Body("sm90.tile_coords", run)
