"""WD212  bad-target: a mask, a remote arrival or a guard names a CTA that the cluster does not have."""

from __future__ import annotations

from collections.abc import Iterator

from ..authoring.ctas import WORDS
from ..clusters import cluster_size, ctas_of, nodes_of
from ..document import Ctas, Document, Guard, GuardKind, Mbarrier, Op, OpKind, Space
from ..findings import Finding
from ..footprints import engine_of
from ..tensor_core import COMMITTED
from ..tree import find_resource, find_work
from .base import Hazard, error, listed
from .examples import document, guard, mbar_arrive, mbar_wait, op, task

CODE, NAME = "WD212", "bad-target"
LOCAL = (OpKind.MBARRIER_WAIT,)  # mbarrier.test_wait and try_wait take only the own CTA's mbarrier (PTX ISA)


def check(document: Document) -> Iterator[Finding]:
    """Ranks outside the cluster, words that mean none, and remote accesses to what no other CTA can reach."""
    size = cluster_size(document)
    for t, node in nodes_of(document):
        if isinstance(node, Guard) and node.kind is GuardKind.CTA_RANK and not 0 <= node.cta < size:
            yield _finding(t.name, node.id, "", f"cta_rank({node.cta})", size)
        if not isinstance(node, Op):
            continue
        resource = find_resource(document, node.target)
        work = find_work(resource, node.work)
        ctas = ctas_of(node, work)
        wrong = _wrong(ctas, size)
        if wrong:
            yield _finding(t.name, node.id, node.target, wrong, size)
        elif ctas not in ("", "own") and node.kind in LOCAL:
            yield _unreachable(t.name, node, "waits only for mbarriers of its own CTA")
        elif ctas not in ("", "own") and resource is not None and resource.space in (Space.RMEM, Space.TMEM):
            if work is not None and engine_of(resource, work) in COMMITTED and _pair(ctas, size):
                continue  # cta_group::2 multiplies in the tensor memory of both
            yield _unreachable(t.name, node, f"cannot reach the {resource.space.value} of another CTA")


def _wrong(ctas: Ctas, size: int) -> str:
    """Of ``ctas``, what is not in a cluster of ``size`` CTAs ("" if all is)."""
    if isinstance(ctas, str):
        if ctas == "peer" and size % 2:
            return "the peer of a pair"
        return "" if ctas in ("", *WORDS) else repr(ctas)
    outside = [str(c) for c in ctas if not 0 <= c < size]
    return f"CTA {listed(outside)}" if outside else ""


def _pair(ctas: Ctas, size: int) -> bool:
    """Whether ``ctas`` names a pair of CTAs, whose tensor cores work together (PTX ISA, "CTA pair")."""
    ranks = tuple(range(size)) if ctas == "all" else ctas
    return not isinstance(ranks, str) and len(ranks) == 2 and ranks[0] % 2 == 0 and ranks[1] == ranks[0] + 1


def _finding(task: str, id: str, resource: str, what: str, size: int) -> Finding:
    have = "CTA 0" if size == 1 else f"CTAs 0 to {size - 1}"
    return error(
        CODE,
        NAME,
        f"{task} names {what} at {id}, but the cluster has {have}",
        ops=(id,),
        resources=(resource,) if resource else (),
        tasks=(task,),
        expected=have,
        actual=what,
    )


def _unreachable(task: str, op: Op, why: str) -> Finding:
    return error(
        CODE,
        NAME,
        f"{task} names another CTA at {op.id}, but it {why}",
        ops=(op.id,),
        resources=(op.target,),
        tasks=(task,),
        expected="the own CTA",
        actual=str(op.ctas),
    )


def _signal(rank: int):
    return document(
        f"CTA 0 signals CTA {rank} of two",
        task(
            "talk",
            0,
            1,
            guard(GuardKind.CTA_RANK, mbar_arrive("go", ctas=(rank,)), cta=0),
            guard(GuardKind.CTA_RANK, mbar_wait("go"), cta=1),
            op(OpKind.CLUSTER_SYNC),
        ),
        mbarriers=(Mbarrier("go", 1),),
        symbols=(),
        cluster=(2, 1, 1),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Multicast masks, remote arrivals and guards name CTAs inside the cluster.",
    why="An address in a CTA that is not there is a fault: the whole launch fails. What waits for the signal hangs.",
    bad=_signal(2),
    good=_signal(1),
    check=check,
)
