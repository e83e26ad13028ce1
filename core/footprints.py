"""Which bytes an op touches, by which engine, and how many bytes a copy delivers.

The rules are those of the authoring interface: a warp-engine producer of several warps writes slices, everything else the
whole stage; several TMA works of one resource that say nothing share its stage in equal parts, in the order of their
declaration, because one bracket fills one stage. Where accesses are only assumed, those of one bracket share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from .document import (
    WARP_SLICE,
    WHOLE,
    Document,
    Engine,
    Footprint,
    Guard,
    GuardKind,
    Node,
    Op,
    OpKind,
    Resource,
    Space,
    Task,
    Work,
)
from .schedulers import RESPONSE_BYTES, has_slots

# Stage size of a resource that declares neither storage nor transaction bytes. Only its identity and slices matter.
NOMINAL_STAGE_BYTES = 1 << 16

# NVIDIA's pipeline types name the engines of both sides (CUTLASS `PipelineOp`: TmaLoad, TCGen05Mma, AsyncThread).
PRODUCER_ENGINES = {
    "TmaAsync": Engine.TMA,
    "TmaUmma": Engine.TMA,
    "ClcFetchAsync": Engine.TMA,
    "UmmaAsync": Engine.TCGEN05,
    "UmmaUmma": Engine.TCGEN05,
}


UNTRACKED = (Space.NONE, Space.GMEM, Space.QUEUE, Space.PDL)  # no storage is modelled
ELECTS = (GuardKind.ELECT_WARP, GuardKind.ELECT_LANE, GuardKind.CTA_RANK)  # all such blocks run, by somebody
TO_TENSOR_CORE = ("TmaUmma", "AsyncUmma", "UmmaUmma")


def engine_of(resource: Resource, work: Work) -> Engine:
    """The engine of ``work``: as declared, else that of its side of the pipeline, else the warp.

    What consumes a pipeline to the tensor core hands its stage to MMAs, which read it until a commit.
    """
    if work.engine is not None:
        return work.engine
    if work.role == "producer" and resource.pipeline and not work.auxiliary:
        return PRODUCER_ENGINES.get(resource.pipeline.type, Engine.WARP)
    if resource.pipeline and resource.pipeline.type in TO_TENSOR_CORE and not (work.auxiliary or work.view):
        return Engine.TCGEN05
    return Engine.WARP


def tracked(resource: Resource) -> bool:
    """Whether it is known which bytes an access of ``resource`` touches: of global memory, only where it has a storage, a
    workspace of each CTA; else every access may be of another tile."""
    if resource.pipeline is not None or resource.space not in UNTRACKED:
        return True
    return resource.space is Space.GMEM and resource.storage is not None


def stage_bytes(resource: Resource) -> int:
    """Bytes (columns in tensor memory) of one stage."""
    if resource.storage:
        return resource.storage.bytes
    if has_slots(resource):
        return RESPONSE_BYTES
    if resource.pipeline and resource.pipeline.bytes:
        return resource.pipeline.bytes
    return NOMINAL_STAGE_BYTES


def footprint_of(resource: Resource, work: Work, op: Op, task: Task, alone: bool = False) -> Footprint:
    """The footprint of ``op``: its own, its work's, or the default. ``alone``: one warp was elected to execute it."""
    if op.footprint or work.footprint:
        return op.footprint or work.footprint or WHOLE
    engine = engine_of(resource, work)
    if work.role == "producer" and engine is Engine.TMA:
        if not work.assumed:
            return _share_of_stage(resource, work)
        share = _share_of_bracket(resource, op, task)
        each = not alone and by_each_warp(resource, work, task)
        return Footprint("warp_slice", share.offset, share.bytes) if each else share
    if (
        work.role == "producer"
        and engine in (Engine.WARP, Engine.CP_ASYNC)
        and task.num_warps > 1
        and not alone
    ):
        return WARP_SLICE
    return WHOLE


def by_each_warp(resource: Resource, work: Work, task: Task) -> bool:
    """Whether every warp of ``task`` issues a part of a copy. Where that is not said, several warps that load are taken to
    share the work; one that is stated is issued by the task's first warp."""
    copies = work.role == "producer" and engine_of(resource, work) is Engine.TMA
    return work.assumed and copies and task.num_warps > 1


def byte_range(footprint: Footprint, size: int, warp: int, num_warps: int) -> tuple[int, int]:
    """The bytes [low, high) of a stage of ``size`` bytes that warp ``warp`` of ``num_warps`` touches."""
    if footprint.kind == "range":
        return footprint.offset, footprint.offset + footprint.bytes
    if footprint.kind == "ranges":
        offset, count = footprint.ranges[warp] if warp < len(footprint.ranges) else (0, 0)
        return offset, offset + count
    if footprint.kind == "warp_slice":
        low, high = (footprint.offset, footprint.offset + footprint.bytes) if footprint.bytes else (0, size)
        span = high - low
        return low + span * warp // num_warps, low + span * (warp + 1) // num_warps
    return 0, size


def tx_bytes(resource: Resource, work: Work, op: Op, task: Task, share: tuple[int, int] = (0, 1)) -> int:
    """Bytes that one TMA copy of ``op`` delivers to each CTA: as given, else the size of its footprint's ``share``."""
    given = op.tx if op.tx is not None else work.tx
    if given is not None:
        return given if work.ctas or op.ctas else cut((0, given), share)[1] - cut((0, given), share)[0]
    whole = byte_range(footprint_of(resource, work, op, task, alone=True), stage_bytes(resource), 0, 1)
    low, high = cut(whole, share)
    return high - low


def share_of(reached: Sequence[int], cta: int, alone: bool) -> tuple[int, int]:
    """Which part (number, parts) of its range a copy of CTA ``cta`` to the CTAs ``reached`` brings.

    Where every CTA of the group issues the copy, each brings an equal part to all (as CUTLASS cuts a multicast tile); one
    that alone issues it brings all of it.
    """
    return (0, 1) if alone or cta not in reached else (reached.index(cta), len(reached))


def cut(whole: tuple[int, int], share: tuple[int, int]) -> tuple[int, int]:
    """The part ``share`` of the bytes [low, high)."""
    (low, high), (number, parts) = whole, share
    return low + (high - low) * number // parts, low + (high - low) * (number + 1) // parts


def _share_of_stage(resource: Resource, work: Work) -> Footprint:
    silent = [
        w.name
        for w in resource.works
        if w.role == "producer" and not w.footprint and w.tx is None and engine_of(resource, w) is Engine.TMA
    ]
    if len(silent) < 2 or work.name not in silent:
        return WHOLE
    size, place = stage_bytes(resource), silent.index(work.name)
    low, high = size * place // len(silent), size * (place + 1) // len(silent)
    return Footprint("range", low, high - low)


def _share_of_bracket(resource: Resource, op: Op, task: Task) -> Footprint:
    """The part of a stage that a copy brings of which nothing is said: an equal share with the others of its bracket. Of
    copies in different guarded blocks, one block is taken to run."""
    bracket = _bracket_around(resource, op, task)
    blocks = [block for _, block in bracket]
    usual, place = min(blocks), next(i for i, (o, _) in enumerate(bracket) if o == op)
    alternatives = [blocks.count(b) for b in set(blocks) - {usual}]
    parts = blocks.count(usual) + max(alternatives, default=0)
    if parts == 1:
        return WHOLE
    number = sum(block in (usual, blocks[place]) for block in blocks[:place])
    size = stage_bytes(resource)
    low, high = size * number // parts, size * (number + 1) // parts
    return Footprint("range", low, high - low)


def _bracket_around(resource: Resource, op: Op, task: Task) -> list[tuple[Op, int]]:
    """The copies into ``resource`` between an acquire and a commit of it, ``op`` among them, each with a number for the
    guarded block that it is in."""
    names = {w.name for w in resource.works if w.role == "producer" and engine_of(resource, w) is Engine.TMA}
    found: list[tuple[Op, int]] = []
    for other, block in _with_blocks(task.body):
        if other.target != resource.name:
            continue
        if other.kind is OpKind.WORK and other.work in names:
            found.append((other, block))
        elif other.kind in (OpKind.ACQUIRE, OpKind.COMMIT):
            if any(o == op for o, _ in found):
                break
            found = []
    return found if any(o == op for o, _ in found) else [(op, 0)]


def _with_blocks(
    nodes: Iterable[Node], block: int = 0, counter: Iterator[int] | None = None
) -> Iterator[tuple[Op, int]]:
    """Every op with the number of the innermost guarded block around it, 0 for none."""
    counter = count(1) if counter is None else counter
    for node in nodes:
        if isinstance(node, Op):
            yield node, block
        else:
            chooses = isinstance(node, Guard) and node.kind not in ELECTS
            inner = next(counter) if chooses else block
            yield from _with_blocks(node.body, inner, counter)


def target_work(document: Document, op: Op) -> tuple[Resource, Work] | None:
    """The resource and work that a WORK op names, or None where either is unknown."""
    for resource in document.resources:
        if resource.name == op.target:
            for work in resource.works:
                if work.name == op.work:
                    return resource, work
    return None
