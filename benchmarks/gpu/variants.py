"""Edits of an example, as the editor makes them: each must reach the kernel and still compute the right result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from warpdraft.core.document import Document, Guard, GuardKind, Op, OpKind, Work
from warpdraft.core.edits import DeleteNode, MoveNode, SetField, SetPipeline, SplitTask, UnwrapNode
from warpdraft.core.tree import find_task, placed, walk


def three_stages(document: Document) -> Document:
    """The ring of A and B with three stages."""
    return SetPipeline("smem_ab", "stages", 3).apply(document)


def split_load(document: Document) -> Document:
    """B is loaded by a task of its own, on warp 1."""
    return SplitTask("load", ("load_b",), "load_b", 1).apply(document)


def b_first(document: Document) -> Document:
    """B is loaded before A."""
    load_a = next(p for p in placed(document) if isinstance(p.node, Op) and p.node.work == "load_a")
    loop = load_a.parents[-1]
    return MoveNode(load_a.node.id, loop.id, loop.body.index(load_a.node) + 1).apply(document)


def release_at_once(document: Document) -> Document:
    """Each k step waits for its own product and then releases its own stage."""
    body = find_task(document, "math").body
    wait = next(n for n in walk(body) if isinstance(n, Op) and n.kind is OpKind.GROUP_WAIT)
    guard = next(n for n in walk(body) if isinstance(n, Guard) and n.kind is GuardKind.EVERY)
    edits = (SetField(wait.id, "count", 0), UnwrapNode(guard.id), DeleteNode(_last_release(document).id))
    for edit in edits:
        document = edit.apply(document)
    return document


def release_late(document: Document) -> Document:
    """The last stage of a tile goes back only after the result has been stored."""
    last = _last_release(document)
    place = next(p for p in placed(document) if p.node.id == last.id)
    outer = place.parents[-1] if place.parents else place.task
    parent = outer.id if place.parents else outer.name
    return MoveNode(last.id, parent, len(outer.body) - 2).apply(document)


def chunked(document: Document, columns: int, stages: int) -> Document:
    """The copy example with chunks of ``columns`` columns in a ring of ``stages``."""

    def widened(work: Work) -> Work:
        return replace(work, params=tuple((k, (v[0], columns) if k == "tile" else v) for k, v in work.params))

    resources = tuple(replace(r, works=tuple(map(widened, r.works))) for r in document.resources)
    rows, width, _ = dict(document.kernel.parameters)["tile"]
    ring = next(r for r in resources if r.name == "ring")
    storage = replace(ring.storage, bytes=rows * columns * 2, parts=())
    resources = tuple(replace(r, storage=storage) if r is ring else r for r in resources)
    parameters = (("dtype", "fp16"), ("tile", (rows, width, columns)))
    trips = tuple((n, width // columns if n == "chunks" else v) for n, v in document.kernel.trip_counts)
    kernel = replace(document.kernel, parameters=parameters, trip_counts=trips)
    document = replace(document, resources=resources, kernel=kernel)
    return SetPipeline("ring", "stages", stages).apply(document)


def _last_release(document: Document) -> Op:
    body = find_task(document, "math").body
    return [n for n in walk(body) if isinstance(n, Op) and n.kind is OpKind.RELEASE][-1]


VARIANTS: dict[str, Callable[[Document], Document]] = {
    "stages 3": three_stages,
    "split load": split_load,
    "B before A": b_first,
    "release at once": release_at_once,
    "release late": release_late,
}
