"""Thread block clusters: how many CTAs one has, how they are laid out, and whom an op of one CTA reaches in others.

Ranks count as CUTLASS lays a cluster out: along V (the CTAs of one tcgen05 pair) first, then M, N, K. The multicast mode
"m" reaches the CTAs of the same M, which share a tile of A, "n" those of the same N, which share a tile of B (CUTLASS
`create_tma_multicast_mask`; PTX ISA, "cp.async.bulk.tensor", .multicast::cluster, and "mapa" for remote addresses).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import TypeVar

from .document import Document, Guard, GuardKind, Loop, Node, Op, OpKind, Pipeline, Task, Work
from .tree import ops_of, walk

T = TypeVar("T")
Layout = tuple[int, int, int, int]  # CTAs along V, M, N, K
MODES = ("m", "n")
MAX_CTAS = 16  # of a cluster, not portably; 8 portably (CUDA programming guide, "Thread Block Clusters")
CLUSTER_KINDS = (OpKind.CLUSTER_SYNC, OpKind.CLUSTER_ARRIVE, OpKind.CLUSTER_WAIT)


def cluster_size(document: Document) -> int:
    """CTAs of a cluster (`core.unmodelled` names one that has more than hardware can launch)."""
    return min(MAX_CTAS, max(1, prod(document.cluster)))


def looked_at(document: Document) -> int:
    """How many CTAs of the cluster have to be looked at: one stands for all where none ever touches another."""
    size = cluster_size(document)
    return size if size > 1 and _crossing(document) else 1


def _crossing(document: Document) -> bool:
    if any(r.pipeline and prod(r.pipeline.cta_layout) > 1 for r in document.resources):
        return True
    if any(w.ctas for r in document.resources for w in r.works) or any(s.per_cta for s in document.symbols):
        return True
    for task in document.tasks:
        if any(isinstance(n, Guard) and n.kind is GuardKind.CTA_RANK for n in walk(task.body)):
            return True
        if any(o.ctas or o.kind in CLUSTER_KINDS for o in ops_of(task)):
            return True
    return False


def cluster_layout(document: Document, pipeline: Pipeline | None = None) -> Layout:
    """The cluster as (V, M, N, K): as ``pipeline`` says, else as any pipeline does, else without pairs."""
    size = cluster_size(document)
    pipelines = [pipeline, *(r.pipeline for r in document.resources)]
    for layout in (p.cta_layout for p in pipelines if p is not None):
        if len(layout) == 4 and prod(layout) == size and min(layout) > 0:
            return layout  # type: ignore[return-value]
    plain = min(document.cluster) > 0 and prod(document.cluster) == size
    return (1, *document.cluster) if plain else (1, size, 1, 1)


def coordinates(layout: Layout, rank: int) -> Layout:
    """Where CTA ``rank`` lies."""
    found = []
    for extent in layout:
        found.append(rank % extent)
        rank //= extent
    return tuple(found)  # type: ignore[return-value]


def leader_of(layout: Layout, rank: int) -> int:
    """The CTA of ``rank``'s pair that issues its MMAs (V = 0); itself without pairs."""
    return rank - rank % layout[0]


def same_group(layout: Layout, rank: int, mode: str) -> tuple[int, ...]:
    """The CTAs that a multicast along ``mode`` reaches from ``rank``: all but the other coordinate alike."""
    free = 2 if mode == "m" else 1
    mine = coordinates(layout, rank)
    return tuple(
        other
        for other in range(prod(layout))
        if all(
            a == b for i, (a, b) in enumerate(zip(mine, coordinates(layout, other), strict=True)) if i != free
        )
    )


def targets(
    document: Document, ctas: str | Sequence[int], rank: int, pipeline: Pipeline | None = None
) -> tuple[int, ...]:
    """The CTAs that ``ctas`` of an op or work names, seen from CTA ``rank``; without those outside the cluster."""
    size = cluster_size(document)
    if ctas in ("", "own", ()):
        return (rank,)
    if ctas == "all":
        return tuple(range(size))
    if ctas == "peer":
        return (rank ^ 1,) if rank ^ 1 < size else ()
    if ctas in MODES:
        return same_group(cluster_layout(document, pipeline), rank, ctas)
    return tuple(dict.fromkeys(c for c in ctas if isinstance(c, int) and 0 <= c < size))


def ctas_of(op: Op, work: Work | None = None) -> str | tuple[int, ...]:
    """Which CTAs ``op`` is for: as it says, else as its work does."""
    return op.ctas or (work.ctas if work else "")


def runs_in(guard: Node, cta: int) -> bool:
    """Whether CTA ``cta`` may enter ``guard``."""
    return not (isinstance(guard, Guard) and guard.kind is GuardKind.CTA_RANK and guard.cta != cta)


def nodes_in(nodes: Iterable[Node], cta: int) -> Iterator[Node]:
    """The nodes below ``nodes`` that CTA ``cta`` may reach, in order."""
    for node in nodes:
        if runs_in(node, cta):
            yield node
            if not isinstance(node, Op):
                yield from nodes_in(node.body, cta)


def symbol_of(name: str, cta: int) -> str:
    """What a symbol with a value of its own in each CTA is called in CTA ``cta``: "n" in CTA 0, "n@1" in CTA 1."""
    return f"{name}@{cta}" if cta else name


def plain_symbol(name: str) -> str:
    """The symbol that ``name`` is a value of."""
    return name.partition("@")[0]


def for_each_cta(document: Document, by_symbol: Mapping[str, T]) -> dict[str, T]:
    """``by_symbol`` with the same for the values that a symbol has in the other CTAs, where it is not given for those."""
    own = {s.name for s in document.symbols if s.per_cta}
    ctas = looked_at(document) if own.intersection(by_symbol) else 1
    found: dict[str, T] = {}
    for name, item in by_symbol.items():
        copies = [symbol_of(name, c) for c in range(ctas)] if name in own else [name]
        found |= {copy: by_symbol.get(copy, item) for copy in copies}
    return found


def values_of_cta(document: Document, values: Mapping[str, int], cta: int) -> Mapping[str, int]:
    """``values`` as CTA ``cta`` sees them: under the plain names of the symbols."""
    own = {
        s.name: values[symbol_of(s.name, cta)]
        for s in document.symbols
        if s.per_cta and symbol_of(s.name, cta) in values
    }
    return {**values, **own} if cta and own else values


def nodes_of(document: Document) -> Iterator[tuple[Task, Node]]:
    """Every node of every task."""
    return ((task, node) for task in document.tasks for node in walk(task.body))


def ops_of_warp(nodes: Iterable[Node], warp: int, cta: int = 0) -> Iterator[Op]:
    """The ops that warp ``warp`` of a task may execute in CTA ``cta``."""
    for node in nodes:
        if isinstance(node, Op):
            yield node
        elif isinstance(node, Loop) or (
            (node.kind is not GuardKind.ELECT_WARP or node.warp == warp) and runs_in(node, cta)
        ):
            yield from ops_of_warp(node.body, warp, cta)
