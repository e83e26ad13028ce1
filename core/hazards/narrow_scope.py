"""WD503  narrow-scope: an mbarrier that crosses CTAs orders only accesses of one CTA."""

from __future__ import annotations

from collections.abc import Iterator

from ..clusters import cluster_size, nodes_of, targets
from ..document import Document, GuardKind, Mbarrier, Op, OpKind
from ..edits import SetBarrier
from ..findings import Finding, Fix
from .base import Hazard, error, plural, unique
from .examples import document, guard, mbar_arrive, mbar_wait, op, task

CODE, NAME = "WD503", "narrow-scope"
ARRIVES = (OpKind.MBARRIER_ARRIVE, OpKind.MBARRIER_ARRIVE_EXPECT)


def check(document: Document) -> Iterator[Finding]:
    """Mbarriers declared for one CTA on which another one arrives."""
    ranks = range(cluster_size(document))
    for m in document.mbarriers:
        if m.scope != "cta":
            continue
        remote = [
            (t.name, node.id)
            for t, node in nodes_of(document)
            if isinstance(node, Op) and node.target == m.name and node.kind in ARRIVES
            if any(set(targets(document, node.ctas, c)) - {c} for c in ranks)
        ]
        if remote:
            yield error(
                CODE,
                NAME,
                f"{m.name} has the scope of a CTA, but {plural(len(remote), 'arrive')} on it comes from another CTA: what "
                "was written before need not be seen behind the wait",
                ops=unique(id for _, id in remote),
                resources=(m.name,),
                tasks=unique(name for name, _ in remote),
                expected="scope cluster",
                actual="scope cta",
            )


def repair(document: Document, finding: Finding) -> Iterator[Fix]:
    """As far as it is used."""
    for name in finding.resources:
        yield Fix(f"let {name} order accesses of the cluster", (SetBarrier(name, "scope", "cluster"),))


def _signal(scope: str):
    return document(
        f"a remote arrive at the scope of a {scope}",
        task(
            "talk",
            0,
            1,
            guard(GuardKind.CTA_RANK, mbar_arrive("go", ctas=(1,)), cta=0),
            guard(GuardKind.CTA_RANK, mbar_wait("go"), cta=1),
            op(OpKind.CLUSTER_SYNC),
        ),
        mbarriers=(Mbarrier("go", 1, scope=scope),),
        symbols=(),
        cluster=(2, 1, 1),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Barriers that cross CTAs carry the scope of the cluster.",
    why="mbarrier.arrive.release.cta and try_wait.acquire.cta order accesses of threads of one CTA only: the other CTA may "
    "read what was there before (PTX ISA, memory consistency model, scopes).",
    bad=_signal("cta"),
    good=_signal("cluster"),
    check=check,
    repair=repair,
)
