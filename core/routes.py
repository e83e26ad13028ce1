"""Which CTAs of a cluster the signals and copies of a pipeline reach: the masks of CUTLASS's pipeline classes as a table.

Sources, by the kinds of producer and consumer (CuTe DSL, `cutlass.pipeline`): PipelineTmaAsync arms the own full barrier and
releases on every CTA of the multicast modes; PipelineTmaUmma arms the full barrier of the pair's leader, on which the copies
of both CTAs complete, and its commit frees the stage in every CTA of the modes and in their pairs; PipelineAsyncUmma commits
on the leader (cp.async on the own CTA) and frees both CTAs of the pair; PipelineUmmaAsync fills both and is released on the
leader; PipelineClcFetchAsync is driven by CTA 0 for all. PipelineAsync stays within its CTA.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import NamedTuple

from .clusters import MODES, Layout, cluster_layout, cluster_size, ctas_of, leader_of, same_group, targets
from .document import Document, Engine, Op, Pipeline, Resource, Signal, Work
from .footprints import engine_of, share_of
from .tree import ops_of

TMA = "tma"  # the full barrier is armed by acquire and completed by the copies
CLC = "ClcFetchAsync"


class Routes(NamedTuple):
    """By CTA: those on whose ``full`` barrier its acquire or commit arrives, on whose ``empty`` barrier its release does,
    on whose full barrier bytes ``landing`` in its memory complete, whether it runs the producer and consumer side, and whom
    ``copies`` go to where no work says so. ``pair``: CTAs that one MMA works for. ``whole``: one CTA issues the copies for
    all, so that none is cut into parts."""

    full: tuple[tuple[int, ...], ...]
    empty: tuple[tuple[int, ...], ...]
    landing: tuple[int, ...]
    produces: tuple[bool, ...]
    consumes: tuple[bool, ...]
    copies: tuple[tuple[int, ...], ...]
    pair: int = 1
    whole: bool = False

    @property
    def crossing(self) -> bool:
        """Whether a CTA reaches another one."""
        alone = all(reached in ((c,), ()) for side in self[:2] for c, reached in enumerate(side))
        return not alone or self.landing != tuple(range(len(self.landing)))


WITHIN = Routes(((0,),), ((0,),), (0,), (True,), (True,), ((0,),))  # of a cluster of one CTA


def routed(document: Document, resource: Resource, producer: str, consumer: str) -> Routes:
    """The routes of ``resource``'s pipeline between these signals; within each CTA where it has no layout of the cluster."""
    size, pipeline = cluster_size(document), resource.pipeline
    if size == 1:
        return WITHIN
    shared = len(pipeline.cta_layout) == 4 and prod(pipeline.cta_layout) == size
    layout = cluster_layout(document, pipeline) if shared else (1, size, 1, 1)
    ranks = range(size)
    own = tuple((c,) for c in ranks)
    leads = tuple(leader_of(layout, c) == c for c in ranks)
    if pipeline.type == CLC:
        leads = tuple(c == 0 for c in ranks)
    full, empty, landing, copies = own, own, tuple(ranks), own
    if shared:
        full, empty = _masks(resource, layout, producer, consumer)
        if producer == TMA and not _declared(document, resource):
            copies = tuple(_along_modes(pipeline, layout, c) for c in ranks)
        if (producer, consumer) == (TMA, Signal.COMMIT):
            landing = tuple(leader_of(layout, c) for c in ranks)
    return Routes(
        full,
        empty,
        landing,
        leads if pipeline.producer_cta_leader else (True,) * size,
        leads if pipeline.consumer_cta_leader else (True,) * size,
        copies,
        layout[0],
        pipeline.type == CLC,
    )


def copied_to(
    document: Document, resource: Resource, found: Routes | None, op: Op, work: Work, cta: int, alone: bool
) -> Iterator[tuple[int, tuple[int, int]]]:
    """The CTAs that a copy of CTA ``cta`` goes to, each with the part (number, parts) of its range that it brings there.

    Where every CTA of a group issues the copy, each brings an equal part to all (as CUTLASS cuts a multicast tile); one
    that ``alone`` issues it brings all of it, as does a scheduler's request (PTX ISA, clusterlaunchcontrol.try_cancel with
    ``.multicast::cluster::all``: the response is written, and completed, at the same offset in every CTA). Where no work
    says whom it is multicast to, a stage is taken to be filled in equal parts by the CTAs that wait for its release: those
    of the pipeline's modes.
    """
    named, alone = ctas_of(op, work), alone or (found is not None and found.whole)
    if named or found is None:
        reached = targets(document, named, cta, resource.pipeline)
        yield from ((c, share_of(reached, cta, alone)) for c in reached)
    else:
        yield from ((c, share_of(found.copies[c], cta, alone)) for c in found.copies[cta])


def own_copies(found: Routes) -> bool:
    """Whether copies without a word go to the own CTA alone, or are known to go to all."""
    return found.whole or found.copies == tuple((c,) for c in range(len(found.copies)))


def _declared(document: Document, resource: Resource) -> bool:
    named = any(w.ctas for w in resource.works)
    return named or any(o.ctas and o.target == resource.name for t in document.tasks for o in ops_of(t))


def _along_modes(pipeline: Pipeline, layout: Layout, cta: int) -> tuple[int, ...]:
    """The CTAs of the pipeline's multicast modes, with ``cta`` itself."""
    if pipeline.type == CLC:
        return tuple(range(prod(layout)))
    chosen = [mode for mode, on in zip(MODES, pipeline.multicast, strict=True) if on]
    return tuple(sorted({cta} | {c for mode in chosen for c in same_group(layout, cta, mode)}))


def _masks(resource: Resource, layout: Layout, producer: str, consumer: str) -> tuple[tuple, tuple]:
    """Where full and empty are arrived on, by CTA."""
    pipeline, ranks = resource.pipeline, range(prod(layout))

    def by(reached: Callable[[int], tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
        return tuple(reached(c) for c in ranks)

    def own(c: int) -> tuple[int, ...]:
        return (c,)

    def leader(c: int) -> tuple[int, ...]:
        return (leader_of(layout, c),)

    def pair(c: int) -> tuple[int, ...]:
        return tuple(range(leader_of(layout, c), leader_of(layout, c) + layout[0]))

    def modes(c: int) -> tuple[int, ...]:
        return _along_modes(pipeline, layout, c)

    def modes_of_pair(c: int) -> tuple[int, ...]:
        return tuple(sorted({other for member in pair(c) for other in modes(member)}))

    if pipeline.type == CLC:
        return by(lambda c: tuple(ranks) if c == 0 else ()), by(lambda c: (0,))
    if producer == TMA and consumer == Signal.COMMIT:
        return by(lambda c: (c,) if leader(c) == (c,) else ()), by(modes_of_pair)
    if producer == TMA:
        return by(own), by(modes)
    if consumer == Signal.COMMIT:
        loads = any(engine_of(resource, w) is Engine.CP_ASYNC for w in resource.works)
        return by(pair if producer == Signal.COMMIT else own if loads else leader), by(pair)
    if producer == Signal.COMMIT:
        return by(pair), by(leader)
    return by(own), by(own)
