"""sm90.tile_coords: which tile of the output the CTA works on, and the k tile of the loop around it.

Returns coord_m, coord_n (tiles of the output, in the order that the work queue's ``band`` gives) and coord_k (the
innermost domain loop's variable), by the names that the work declares.
"""

from __future__ import annotations

from dataclasses import dataclass

from warpdraft.core.document import OpKind
from warpdraft.core.footprints import target_work
from warpdraft.core.tree import find_resource, ops_of

from ....vocabulary import band_of
from ...syntax import Line, Operand, Statement, assign, binary, call, expression
from ...task import Frame, TaskBuilder
from ...tokens import Variable
from ..body import WorkCall


@dataclass(frozen=True, slots=True)
class TileCoords:
    """Parameters: ``band`` for a kernel without a work queue (default 8: neighbouring CTAs share rows of A and
    columns of B in the L2 cache). With a queue its own ``band`` counts (default 1: row after row). ``parts`` = (down,
    across) and ``part``: coordinates of one of so many equal parts of the work tile, counted in such parts. ``splits``: the
    sums over k are cut into so many parts of as many k tiles as the domain loop has, each a work tile of its own."""

    name: str = "sm90.tile_coords"

    def lower(self, call: WorkCall) -> tuple[Statement, ...]:
        """``coord_m, coord_n, coord_k = m, n, k``; the tile's own arithmetic is done once a tile."""
        task, names, values = call.task, [], []
        for token, what in zip(call.op.results, call.work.returns, strict=False):
            if token not in task.used:
                continue
            value = expression(self._value(call, what))
            names.append(expression(task.variable(token)))
            values.append(value)
            task.bind(token, Variable(names[-1]))
        if not names:
            return ()
        target = names[0] if len(names) == 1 else expression(tuple(names))
        value = values[0] if len(values) == 1 else expression(tuple(values))
        return (Line(value, (target,), call.op.id),)

    def _value(self, call: WorkCall, what: str):
        letter = what.removeprefix("coord_")
        if letter == "l":
            return _tile_position(call)[2]
        if letter == "k":
            return _depth(call)
        if letter not in ("m", "n"):
            raise call.fail(f"there is no coordinate {what!r}, only coord_m, coord_n, coord_k, coord_l")
        which = "mn".index(letter)
        parts, part = call.parameter("parts")[which], call.parameter("part")[which]
        if part >= parts:
            raise call.fail(f"there is no part {part} of {parts}")
        return binary(binary(_tile_position(call)[which], "*", parts), "+", part)


def _depth(work: WorkCall) -> Operand:
    """The k tile: the variable of the loop around, behind those of the parts of the sum that other work tiles make."""
    loop = work.task.innermost("domain")
    if loop is None:
        raise work.fail("coord_k is used outside a domain loop")
    if work.parameter("splits") == 1:
        return loop.value
    return binary(binary(_tile_position(work)[2], "*", loop.trips), "+", loop.value)


def _tile_position(work: WorkCall) -> tuple[str, str, str]:
    """Variables with the tile's row, column and matrix, set at the start of the tile loop; without one, in the set-up."""
    task, frame = work.task, work.task.innermost("tile")
    if frame is None:
        return task.once("position", lambda: _in_set_up(work))
    if "position" not in frame.known:
        frame.known["position"] = _in_loop(work, frame)
    return frame.known["position"]


def _in_set_up(work: WorkCall) -> tuple[str, str, str]:
    names, lines = _position_lines(work, "block", work.stock(band_of, work.work, None))
    work.task.set_up += lines
    return names


def _in_loop(work: WorkCall, frame: Frame) -> tuple[str, str, str]:
    queue = find_resource(work.task.document, frame.queue)
    if queue is None:
        raise work.fail(f"the tile loop's queue {frame.queue!r} is no work queue")
    band = work.stock(band_of, work.work, queue)
    names, lines = _position_lines(work, work.task.work_tile(queue.name), band)
    frame.prologue += lines
    return names


def _position_lines(work: WorkCall, tile: str, band: int) -> tuple[tuple[str, str, str], list[Line]]:
    task = work.task
    grid = task.module.tile_grid(band)
    wanted = _wanted(task)
    m, n = (letter if letter in wanted else f"_{letter}" for letter in "mn")
    names = task.names.new(m), task.names.new(n)
    lines, cluster, matrix = [], task.module.cluster, ""
    if grid.by_plane:
        matrix, tile_ = task.names.new("matrix"), task.names.new("tile_in_matrix")
        lines.append(Line(call("divmod", tile, grid.by_plane), (expression((matrix, tile_)),)))
        tile = tile_
    elif "l" in wanted:
        raise work.fail("coord_l is for a batch: an output of three dimensions")
    if work.parameter("splits") > 1 and task.module.batched:
        raise work.fail("sums that are cut into parts are for one matrix, not for a batch")
    at = call("tile_at", tile, grid.m_tiles, band, grid.by_band, grid.by_last)
    lines.append(Line(at, (expression(names),)))
    for letter, name, of, place in zip(
        "mn", names, (cluster.down, cluster.across), (cluster.row, cluster.column), strict=True
    ):
        if of > 1 and letter in wanted:  # a cluster works on neighbouring tiles
            lines.append(assign(name, binary(binary(name, "*", of), "+", place)))
    return (*names, matrix), lines


def _wanted(task: TaskBuilder) -> set[str]:
    """Which of "m", "n", "k" the task's ops use."""
    found: set[str] = set()
    for op in ops_of(task.task):
        named = target_work(task.document, op) if op.kind is OpKind.WORK else None
        if named and named[1].body == TileCoords().name:
            pairs = zip(op.results, named[1].returns, strict=False)
            found |= {what.removeprefix("coord_") for token, what in pairs if token in task.used}
    return found
