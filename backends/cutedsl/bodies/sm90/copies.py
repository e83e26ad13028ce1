"""What bulk tensor copies in both directions share: the partitioned pair of stages and tiles, and tile coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from warpdraft.core.routes import copied_to

from .... import vocabulary
from ...storage import SmemView
from ...syntax import Expression, Line, binary, call, expression
from ..body import WorkCall


@dataclass(frozen=True, slots=True)
class Copy:
    """An atom, its shared memory by (values, stage) and its global tensor by (values, tile coordinates)."""

    atom: str
    stages: str
    tiles: str


@dataclass(frozen=True, slots=True)
class Multicast:
    """A copy to several CTAs of the cluster: which, as bits, and the part of ``parts`` that this CTA brings to them."""

    ctas: Expression
    number: Expression
    parts: int


def multicast(work: WorkCall) -> Multicast | None:
    """Whom a copy goes to, by the table of `core.routes`; None: to its own CTA alone. Raises LoweringError."""
    task, op = work.task, work.op
    cluster = task.module.cluster
    found = task.module.routes(work.resource, op) if work.resource.pipeline else None
    copies = [
        list(copied_to(task.document, work.resource, found, op, work.work, cta, task.ranked))
        for cta in range(cluster.size)
    ]
    sets = tuple(tuple(cta for cta, _ in reached) for reached in copies)
    if cluster.alone(sets):
        return None
    shares = [{share for _, share in reached} for reached in copies]
    parts = {of for each in shares for _, of in each}
    if any(len(each) != 1 for each in shares) or len(parts) != 1:
        raise work.fail("brings different parts to the CTAs of the cluster")
    number = cluster.number([each.copy().pop()[0] for each in shares], op.id)
    return Multicast(task.ctas(sets, op), number, parts.pop())


def partitioned(
    work: WorkCall,
    tensor: str,
    view: SmemView,
    *,
    store: bool,
    to: Multicast | None = None,
    pair: bool = False,
) -> Copy:
    """The copy between ``view`` and ``tensor``, declared in the task's set-up."""
    task = work.task
    task.module.tensor(tensor, work.op.id)
    reduce = work.parameter("reduce") if store else ""
    tma = task.module.tma(tensor, view, store, to.parts if to else 0, reduce, pair)

    def make() -> Copy:
        copy = Copy(tma.atom, task.names.new(f"{tensor}_stages"), task.names.new(f"{tensor}_tiles"))
        part = (to.number, to.parts) if to else ()
        value = call("partition", tma.atom, view.name, tma.tensor, view.tile, *part)
        task.copies.append((tma.order, Line(value, (expression((copy.stages, copy.tiles)),))))
        return copy

    return task.once(("copy", tma.atom), make)


def lands_in_leader(work: WorkCall) -> bool:
    """Whether the bytes of a copy count on the barrier of the pair's leader. Raises LoweringError."""
    if work.resource.pipeline is None:
        return False
    found = work.task.module.routes(work.resource, work.op)
    if found.landing == tuple(range(len(found.landing))):
        return False
    if found.pair != 2 or any(to != rank - rank % 2 for rank, to in enumerate(found.landing)):
        raise work.fail("its bytes count in another CTA than the leader of a pair")
    return True


def coordinates(work: WorkCall) -> list[Expression]:
    """The tile coordinates that the body's ``coords`` name, one for each dimension of the tensor."""
    named, task = work.parameter("coords"), work.task
    tensor = task.module.tensor(work.parameter("tensor"), work.op.id)
    if len(named) != len(tensor.shape):
        raise work.fail(
            f"names {len(named)} coordinates of {tensor.name}, which has {len(tensor.shape)} dimensions"
        )
    found = [task.number(work.op, name) for name in named]
    if dict(work.op.args).get("subtile") is not None:  # the last one then counts accumulator tiles
        count = work.stock(vocabulary.columns_of_subtile, task.document, work.parameter("tile"))
        found[-1] = binary(binary(found[-1], "*", count), "+", task.number(work.op, "subtile"))
    return found
