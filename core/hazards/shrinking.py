"""Repairs of what does not fit: pipelines with fewer stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ..document import Document
from ..edits import SetPipeline
from ..findings import Finding, Fix
from ..tree import find_resource
from .base import plural


def fewer_stages(
    document: Document, finding: Finding, check: Callable[[Document], Iterable[Finding]]
) -> Iterator[Fix]:
    """For each pipeline that ``finding`` names: the most stages, if any, with which ``check`` finds nothing."""
    for name in finding.resources:
        resource = find_resource(document, name)
        stages = resource.pipeline.stages if resource is not None and resource.pipeline is not None else 0
        for fewer in range(stages - 1, 0, -1):
            edit = SetPipeline(name, "stages", fewer)
            if not any(check(edit.apply(document))):
                yield Fix(f"give {name} {plural(fewer, 'stage')}", (edit,))
                break
