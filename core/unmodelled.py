"""What a document holds and the verifier does not look at: no verdict may pass over it in silence.

A feature that changes who waits for whom makes a verdict *incomplete*. What the document cannot state at all, since it
happens inside works, is an assumption that the scope of the verdict names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from .clusters import MAX_CTAS
from .document import Document, Pipeline
from .lifetimes import again
from .retries import distant_peeks

CHECKED = ("sm_90a", "sm_100a")  # targets whose limits the rules know
# Compute capabilities (CUDA programming guide, "Compute Capabilities"), also with the suffixes a and f.
KNOWN = re.compile(r"sm_(70|72|75|80|86|87|88|89|90|100|101|103|110|120|121)[af]?")


def unmodelled(document: Document) -> tuple[str, ...]:
    """One reason for each feature that is not modelled, with the place where it is used; empty if all is."""
    return tuple(dict.fromkeys(_reasons(document)))


def known_target(target: str) -> bool:
    """Whether ``target`` names an architecture at all."""
    return KNOWN.fullmatch(target) is not None


def _reasons(document: Document) -> Iterator[str]:
    yield from document.gaps
    if not document.tasks:
        yield "there is no task to look at"
    if document.target not in CHECKED:
        yield f"target {document.target} is not modelled, only {' and '.join(CHECKED)}"
    size = prod(document.cluster)
    if size > MAX_CTAS:
        yield f"a cluster of {size} CTAs is more than hardware launches ({MAX_CTAS}): it was not executed"
    for name in again(document):
        yield f"an mbarrier is initialised again, and a wait for it does not name its parity ({name})"
    for resource in document.resources:
        if resource.pipeline:
            yield from _pipeline(resource.name, resource.pipeline)
        waits = dict(resource.params).get("consumer_wait_signaling_threads")
        if (
            waits is not None
            and resource.pipeline
            and ("CtaLeader" in str(waits)) != resource.pipeline.consumer_cta_leader
        ):
            yield f"waits by other CTAs than releases are not modelled ({resource.name})"
    for task in document.tasks:
        for peek in distant_peeks(document, task):
            yield f"a peek at an mbarrier whose wait comes later is not modelled ({peek})"


def _pipeline(name: str, pipeline: Pipeline) -> Iterator[str]:
    layout = pipeline.cta_layout
    if prod(layout) != 1 and (len(layout) != 4 or layout[0] > 2):
        yield f"a cluster that is not laid out as (V, M, N, K) with V = 1 or 2 is not modelled ({name}: cta_layout {layout})"
