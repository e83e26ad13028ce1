"""The bytes that works touch, as annotations say them: one range for all calls, or a formula of their arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from warpdraft.core.document import WHOLE, Document, Footprint, Op, OpKind, Resource, Storage, Task, Work
from warpdraft.core.footprints import footprint_of, stage_bytes
from warpdraft.core.tree import find_resource, find_work

from ..annotations import Access
from ..formulas import Formula
from .errors import NotExpressible
from .trees import with_ops

BUFFER = "buffer"  # the argument that says which of several stages without a pipeline a work is for
MODULI = range(2, 17)  # of an argument, that are tried for a formula


def touched_by(work: Work, calls: Sequence[Op]) -> Access | None:
    """What ``work`` touches in ``calls``; None: the default. Raises NotExpressible where no formula says it."""
    found = [op.footprint or work.footprint for op in calls] or [work.footprint]
    if all(f is None for f in found):
        return None
    where = calls[0].id if calls else work.name
    ranges = [access_of(f or WHOLE, where) for f in found]
    if all(r == ranges[0] for r in ranges):
        return ranges[0]
    slices = {r.slices for r in ranges}
    offset, size = (_formula(calls, [getattr(r, what) or 0 for r in ranges]) for what in ("offset", "bytes"))
    if len(slices) > 1 or offset is None or size is None:
        raise NotExpressible(
            f"{where}: calls of {work.name} touch other bytes each, and no formula of their arguments says which; make it "
            "several works"
        )
    return Access(offset=offset, bytes=size or None, slices=slices.pop())


def in_short(access: Access, resource: Resource) -> Access:
    """``access`` without the number of bytes, where it is the whole rest of a stage."""
    if isinstance(access.offset, int) and access.bytes == stage_bytes(resource) - access.offset:
        return replace(access, bytes=None)
    return access


def multicast_of(work: Work, calls: Sequence[Op]) -> str:
    """To which CTAs the copies of all calls go."""
    if work.role != "producer" and any(op.ctas for op in calls):
        raise NotExpressible(
            f"{calls[0].id}: {work.name} reaches another CTA, which no schedule of Task Scheduling and no annotation says"
        )
    found = {op.ctas or work.ctas for op in calls} or {work.ctas}
    if len(found) > 1:
        raise NotExpressible(
            f"{calls[0].id}: calls of {work.name} are multicast to different CTAs; make it several works"
        )
    ctas = found.pop()
    return ctas if isinstance(ctas, str) else ", ".join(map(str, ctas))


def tx_of(work: Work, calls: Sequence[Op]) -> int | None:
    """The transaction bytes of all calls."""
    found = {op.tx if op.tx is not None else work.tx for op in calls} or {work.tx}
    if len(found) > 1:
        raise NotExpressible(
            f"{calls[0].id}: calls of {work.name} bring different numbers of bytes; make it several works"
        )
    return found.pop()


def access_of(footprint: Footprint, where: str) -> Access:
    """A footprint as an annotation says it."""
    if footprint == WHOLE:
        return Access()
    if footprint.kind == "warp_slice":
        return Access(offset=footprint.offset, bytes=footprint.bytes or None, slices=True)
    if footprint.kind == "range":
        return Access(offset=footprint.offset, bytes=footprint.bytes)
    sizes = {count for _, count in footprint.ranges}
    starts = [offset for offset, _ in footprint.ranges]
    steps = {b - a for a, b in pairwise(starts)} or {0}
    if len(sizes) == 1 and len(steps) == 1:
        (step,), (size,) = steps, sizes
        first = f"{starts[0]} + " if starts[0] else ""
        return Access(offset=f"{first}warp * {step}" if step else starts[0], bytes=size)
    raise NotExpressible(f"{where}: the ranges of the warps are no equal steps, which no formula says")


def _formula(calls: Sequence[Op], values: Sequence[Formula]) -> Formula | None:
    """A formula of a constant argument that gives each call its value; None: none was found."""
    if len(set(values)) == 1:
        return values[0]
    if not all(isinstance(v, int) for v in values):
        return None
    for text, arguments in _candidates(calls):
        pairs = sorted(set(zip(arguments, values, strict=True)))
        if len({a for a, _ in pairs}) != len(pairs):
            continue
        (a, low), (b, high) = pairs[0], pairs[-1]
        step, rest = divmod(high - low, b - a)
        first = low - step * a
        if not rest and all(first + step * x == y for x, y in pairs):
            return f"{text} * {step}" + (f" + {first}" if first else "")
    return None


def _candidates(calls: Sequence[Op]) -> Iterator[tuple[str, list[int]]]:
    for name in dict(calls[0].args):
        given = [dict(op.args).get(name) for op in calls]
        if all(type(v) is int for v in given):
            yield name, given
            yield from ((f"{name} % {m}", [v % m for v in given]) for m in MODULI)


def one_buffer(document: Document) -> Document:
    """``document`` with stages of resources without a pipeline as ranges of one buffer, since Task Scheduling has no such
    stages; the works are told which, by an argument."""
    lone = {r.name: r.storage for r in document.resources if r.pipeline is None and r.storage is not None}
    staged = {name: storage for name, storage in lone.items() if storage.stages > 1}
    if not lone:
        return document

    def moved(op: Op, task: Task) -> Op:
        if op.kind is not OpKind.WORK or op.target not in lone:
            return op
        if op.target not in staged:
            return replace(op, stage=None)  # the only one
        resource = find_resource(document, op.target)
        work = find_work(resource, op.work)
        if op.stage is not None and not isinstance(op.stage, int):
            raise NotExpressible(
                f"{op.id}: stage {op.stage} of {op.target}, which has no pipeline; Task Scheduling has no such stages"
            )
        if work is None or work.auxiliary:
            return replace(op, stage=None)
        own, number = footprint_of(resource, work, op, task), op.stage or 0
        arguments = (*op.args, (BUFFER, number))
        return replace(op, stage=None, args=arguments, footprint=_shifted(own, staged[op.target], number))

    tasks = tuple(replace(t, body=with_ops(t.body, lambda op, t=t: moved(op, t))) for t in document.tasks)
    resources = tuple(_joined(r) if r.name in staged else r for r in document.resources)
    return replace(document, tasks=tasks, resources=resources)


def _joined(resource: Resource) -> Resource:
    storage = resource.storage
    whole = Storage(
        storage.bytes * storage.stages,
        alignment=storage.alignment,
        alias=storage.alias,
        phase=storage.phase,
        offset=storage.offset,
    )
    works = tuple(
        w if w.auxiliary else replace(w, parameters=(*w.parameters, BUFFER)) for w in resource.works
    )
    return replace(resource, storage=whole, works=works)


def _shifted(footprint: Footprint, storage: Storage, stage: int) -> Footprint:
    """The same bytes, counted from the first stage."""
    base = stage * storage.bytes
    if footprint.kind == "ranges":
        return replace(footprint, ranges=tuple((base + o, b) for o, b in footprint.ranges))
    kind = "warp_slice" if footprint.kind == "warp_slice" else "range"
    size = footprint.bytes if footprint.kind != "whole" else 0
    return Footprint(kind, base + (footprint.offset if size else 0), size or storage.bytes)
