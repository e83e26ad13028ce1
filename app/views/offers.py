"""What can be inserted into a task's schedule: the pipelines, works, groups, barriers and blocks that it may use."""

from __future__ import annotations

from dataclasses import dataclass

from warpdraft.core.clusters import CLUSTER_KINDS
from warpdraft.core.document import (
    Document,
    Engine,
    Guard,
    GuardKind,
    Loop,
    Node,
    Op,
    OpKind,
    Resource,
    Space,
    Task,
    Token,
    Work,
)
from warpdraft.core.edits import kinds_of
from warpdraft.core.event_kinds import PIPELINE_KINDS
from warpdraft.core.tree import find_resource, ops_of, walk

from . import words

_BY_MAP = (Engine.TMA, Engine.BULK_STORE)  # engines that read a tensor map
PRODUCER_KINDS = (OpKind.ACQUIRE, OpKind.COMMIT, OpKind.TRY_ACQUIRE, OpKind.PRODUCER_TAIL)
TENSOR_KINDS = (
    OpKind.TCGEN05_WAIT_LD,
    OpKind.TCGEN05_WAIT_ST,
    OpKind.TCGEN05_FENCE_BEFORE,
    OpKind.TCGEN05_FENCE_AFTER,
    OpKind.TMEM_ALLOC,
    OpKind.TMEM_DEALLOC,
    OpKind.TMEM_RELINQUISH,
)
REGISTERS = {  # a thread: what a producer may shrink to, and two warpgroups of three grow to
    OpKind.REGISTERS_DECREASE: 40,
    OpKind.REGISTERS_INCREASE: 232,
}
CONSUMER_KINDS = (OpKind.WAIT, OpKind.RELEASE, OpKind.TRY_WAIT)


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing to insert: ``node`` without an id, shown as ``label`` under ``group``; ``key`` names it in its task."""

    key: str
    group: str
    label: str
    node: Node


def offers(document: Document, task: Task) -> tuple[Offer, ...]:
    """All offers for ``task``, most used first: its own resources, then what every task may use."""
    found: list[tuple[str, Node]] = []
    for name in dict.fromkeys((*task.dst, *task.src)):
        resource = find_resource(document, name)
        if resource is not None:
            found += [(name, op) for op in _resource_ops(resource, task)]
            if resource.space is Space.TMEM or _may_be_map(resource):
                kinds = (
                    kind for kind in kinds_of(resource) if kind not in (*PIPELINE_KINDS, OpKind.PRODUCER_TAIL)
                )
                found += [(name, Op("", kind, name)) for kind in kinds]
    for pipelines in document.pipeline_groups:
        if {*task.src, *task.dst}.intersection(pipelines.members):
            found += [(pipelines.name, Op("", kind, pipelines.name)) for kind in kinds_of(pipelines)]
    for group in document.groups:
        for kind in kinds_of(group):
            count = None if kind is OpKind.GROUP_COMMIT else 0
            found.append((f"{group.name} ({group.kind.value})", Op("", kind, group.name, count=count)))
    for barrier in (*document.barriers, *document.mbarriers):
        found += [("barriers", Op("", kind, barrier.name)) for kind in kinds_of(barrier)]
    alone = [kind for kind in kinds_of(None) if kind not in (*TENSOR_KINDS, *CLUSTER_KINDS)]
    if not any(g.kind is Engine.WGMMA for g in document.groups):
        alone.remove(OpKind.WGMMA_FENCE)
    found += [("fences and warps", Op("", kind, count=REGISTERS.get(kind))) for kind in alone]
    if any(r.space is Space.TMEM for r in document.resources):
        found += [("tensor memory", Op("", kind)) for kind in TENSOR_KINDS]
    if document.cluster != (1, 1, 1):
        found += [("cluster", Op("", kind)) for kind in CLUSTER_KINDS]
        found.append(("blocks", Guard("", GuardKind.CTA_RANK, ())))
    found += [("blocks", block) for block in _blocks(document, task)]
    return tuple(Offer(f"{group}|{_label(node)}", group, _label(node), node) for group, node in found)


def _label(node: Node) -> str:
    text = words.node_text(node)
    return text if isinstance(node, Op) else f"{'loop' if isinstance(node, Loop) else 'guard'}: {text}"


def _may_be_map(resource: Resource) -> bool:
    """Whether it may stand for a tensor map: what copies read through one, or what has no works of its own."""
    outside = resource.space in (Space.GMEM, Space.NONE)
    return outside and (not resource.works or any(w.engine in _BY_MAP for w in resource.works))


def _resource_ops(resource: Resource, task: Task) -> list[Op]:
    roles = [
        role for role, names in (("producer", task.dst), ("consumer", task.src)) if resource.name in names
    ]
    # A resource that a task writes it may read again: an accumulator, a staging buffer.
    roles += ["consumer"] if "consumer" not in roles and resource.pipeline is None else []
    ops: list[Op] = []
    for role in roles:
        kinds = PRODUCER_KINDS if role == "producer" else CONSUMER_KINDS
        if resource.pipeline is not None:
            ops += [Op("", kind, resource.name) for kind in kinds]
        ops += [_work_op(resource, work) for work in resource.works if work.role == role]
    return ops


def _work_op(resource: Resource, work: Work) -> Op:
    args = tuple((name, Token(name)) for name in work.parameters)
    stage = 0 if resource.pipeline is None and resource.storage and resource.storage.stages > 1 else None
    return Op("", OpKind.WORK, resource.name, work.name, args, work.returns, stage)


def _blocks(document: Document, task: Task) -> list[Node]:
    loops = [node.var for node in walk(task.body) if isinstance(node, Loop)]
    blocks: list[Node] = [Guard("", GuardKind.ELECT_WARP, ()), Guard("", GuardKind.ELECT_LANE, ())]
    for loop in dict.fromkeys(loops):
        blocks += [
            Guard("", GuardKind.FIRST_ITER, (), loop),
            Guard("", GuardKind.LAST_ITER, (), loop),
            Guard("", GuardKind.EVERY, (), loop, start=1),
        ]
    blocks += [
        Guard("", GuardKind.WHEN_TRUE, (), key="condition"),
        Guard("", GuardKind.WHEN_FALSE, (), key="condition"),
    ]
    blocks.append(Guard("", GuardKind.SKIPPABLE, ()))
    taken = set(loops)
    var = next(name for name in ("k", "i", "j", *(f"i{n}" for n in range(99))) if name not in taken)
    stop = document.symbols[0] if document.symbols else 4
    blocks.append(Loop("", "domain", var, (), 0, stop))
    queues = [r.name for r in document.resources if r.space is Space.QUEUE]
    if queues and not any(isinstance(node, Loop) and node.kind == "tile" for node in walk(task.body)):
        blocks.append(Loop("", "tile", "tile", (), 0, stop, queue=queues[0]))
    return blocks


def tokens_before(task: Task, id: str) -> tuple[str, ...]:
    """The values that an op may take: made above it (newest first), made below it, then loop variables."""
    above: list[str] = []
    below: list[str] = []
    seen = False
    for op in ops_of(task):
        seen = seen or op.id == id
        (below if seen else above).extend(op.results)
    loops = [node.var for node in walk(task.body) if isinstance(node, Loop)]
    return tuple(dict.fromkeys((*reversed(above), *below, *loops)))
