"""Where looking at a document must end: time, and sizes that no machine has."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from .document import Document

MAX_WARPS = 1024  # of a task; hardware has 32 a CTA (WD605 says so)
MAX_STAGES = 1 << 16  # of all pipelines and mbarriers together; shared memory holds fewer (WD601)
MAX_BYTES = 1 << 40  # of one stage, or columns: more than any memory; what fits is WD601's and WD602's
OUT_OF_TIME = "the time budget ran out"


class TimeUp(Exception):
    """The deadline has passed."""


def in_time(numbers: Iterator[int] | range | tuple[int, ...], deadline: float | None) -> Iterator[int]:
    """``numbers``, as long as `perf_counter` is not past ``deadline``. Raises TimeUp."""
    for number in numbers:
        if deadline is not None and perf_counter() > deadline:
            raise TimeUp
        yield number


def sizes(document: Document) -> Iterator[tuple[str, str, int, int]]:
    """The sizes that something declares, as (its name, of what, how many, the least that it can have)."""
    for r in document.resources:
        if r.pipeline:
            yield r.name, "stages", r.pipeline.stages, 1
        if r.storage:
            yield r.name, "stages of storage", r.storage.stages, 1
            yield r.name, "bytes", r.storage.bytes, 0
            yield r.name, "bytes of alignment", r.storage.alignment, 1
    for m in document.mbarriers:
        yield m.name, "stages", m.stages, 1


def too_large(document: Document) -> str:
    """Why ``document`` is not unrolled at all ("" if it is): what it declares is too large, or nothing at all."""
    for task in document.tasks:
        if task.num_warps > MAX_WARPS:
            return f"{task.name} has more than {MAX_WARPS} warps: it was not executed"
        if not 0 <= task.warp_idx <= MAX_WARPS:
            return f"{task.name} starts at warp {task.warp_idx}, of at most {MAX_WARPS}: it was not executed"
    for name, what, value, least in sizes(document):
        if value < least:
            return f"{name} has {value} {what}: it was not executed"
    if min(document.cluster, default=1) < 1:
        return f"the cluster is {document.cluster}: it was not executed"
    stages = sum(r.pipeline.stages for r in document.resources if r.pipeline)
    stages += sum(m.stages for m in document.mbarriers)
    return f"{stages} stages are more than {MAX_STAGES}: it was not executed" if stages > MAX_STAGES else ""
