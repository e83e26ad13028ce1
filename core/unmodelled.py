"""What a document holds and the verifier does not look at: no verdict may pass over it in silence.

A feature that changes who waits for whom makes a verdict *incomplete*. What the document cannot state at all, since it
happens inside works, is an assumption that the scope of the verdict names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from .arrivals import routes
from .clusters import MAX_CTAS, looked_at
from .conditions import condition_keys
from .document import Document, Engine, Pipeline, Resource, Signal, Space
from .footprints import engine_of
from .grid_dependency import dependents
from .retries import distant_peeks
from .routes import own_copies

CHECKED = ("sm_90a", "sm_100a")  # targets whose limits the rules know
# Compute capabilities (CUDA programming guide, "Compute Capabilities"), also with the suffixes a and f.
KNOWN = re.compile(r"sm_(70|72|75|80|86|87|88|89|90|100|101|103|110|120|121)[af]?")
PLAIN = (1, 1, 1, 1)


def unmodelled(document: Document) -> tuple[str, ...]:
    """One reason for each feature that is not modelled, with the place where it is used; empty if all is."""
    return tuple(dict.fromkeys(_reasons(document)))


def assumed(document: Document) -> tuple[str, ...]:
    """What a verdict takes for granted: a document does not state it, so works are trusted with it."""
    tensor = (reason for resource in document.resources for reason in _tensor_core(resource))
    return tuple(dict.fromkeys((*tensor, *_grids(document), *_clusters(document))))


def _clusters(document: Document) -> Iterator[str]:
    """What is not said of the CTAs of a cluster."""
    if looked_at(document) == 1:
        return
    for resource in document.resources:
        if resource.pipeline and not own_copies(routes(document, resource)):
            yield (
                f"the CTAs that share {resource.name} fill its stages together, in equal parts (no work says whom it is "
                "multicast to)"
            )
    if condition_keys(document):
        yield "a condition at run time comes out alike in all CTAs of a cluster"


def _grids(document: Document) -> Iterator[str]:
    """What no edge says of the grids before and behind this one."""
    barriers = [r for r in document.resources if r.space is Space.PDL]
    waiting = [r.name for r in barriers if any(w.role == "consumer" for w in r.works)]
    if waiting and not dependents(document, waiting):
        yield f"nothing here depends on the preceding grid (no edge of the graph leads from {waiting[0]})"
    if barriers and not waiting:
        yield f"no preceding grid still runs when this one starts ({barriers[0].name}: nobody waits for it)"
    for r in barriers:
        if dict(r.params).get("successor_waits") is False:
            yield f"works fence their stores at the scope of the GPU before {r.name} launches the next grid"


def known_target(target: str) -> bool:
    """Whether ``target`` names an architecture at all."""
    return KNOWN.fullmatch(target) is not None


def _reasons(document: Document) -> Iterator[str]:
    if document.target not in CHECKED:
        yield f"target {document.target} is not modelled, only {' and '.join(CHECKED)}"
    size = prod(document.cluster)
    if size > MAX_CTAS:
        yield f"a cluster of {size} CTAs is more than hardware launches ({MAX_CTAS}): it was not executed"
    for resource in document.resources:
        if resource.pipeline:
            yield from _pipeline(resource.name, resource.pipeline)
    for task in document.tasks:
        for peek in distant_peeks(document, task):
            yield f"a peek at an mbarrier whose wait comes later is not modelled ({peek})"


def _pipeline(name: str, pipeline: Pipeline) -> Iterator[str]:
    layout = pipeline.cta_layout
    if prod(layout) != 1 and (len(layout) != 4 or layout[0] > 2):
        yield f"a cluster that is not laid out as (V, M, N, K) with V = 1 or 2 is not modelled ({name}: cta_layout {layout})"
    if pipeline.interleave != PLAIN:
        yield f"stages that lanes share are not modelled ({name}: interleave {pipeline.interleave})"
    if pipeline.type == "ClcFetchAsync":
        yield f"the protocol of a dynamic tile scheduler is not modelled ({name})"


def _tensor_core(resource: Resource) -> Iterator[str]:
    """tcgen05 works, tensor memory, and barriers that tcgen05.commit arrives on."""
    works = [w.name for w in resource.works if engine_of(resource, w) is Engine.TCGEN05]
    pipeline = resource.pipeline
    committed = pipeline and (
        Signal.COMMIT in (pipeline.producer_signal, pipeline.consumer_signal) or "Umma" in pipeline.type
    )
    if works or committed or resource.space is Space.TMEM:
        where = f"{resource.name}.{works[0]}" if works else resource.name
        yield f"works fence and wait for tcgen05 rightly, and tensor memory is there when they use it ({where})"
