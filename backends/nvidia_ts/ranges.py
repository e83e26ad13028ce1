"""The bytes of an annotated access, for one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpdraft.core.document import WHOLE, Footprint, Resource, Task
from warpdraft.core.footprints import stage_bytes

from .annotations import Access
from .formulas import Formula, FormulaError, names_in, value_of


def footprint_of(
    access: Access, resource: Resource, task: Task, arguments: Mapping[str, Any], warp: int | None = None
) -> Footprint:
    """Which bytes of a stage of ``resource`` the call touches. ``warp``: the only warp that does.

    A range that depends on the stage is taken to be all that it may be in any stage. Raises FormulaError.
    """
    size = stage_bytes(resource)
    known = {name: int(v) for name, v in arguments.items() if isinstance(v, int)} | {"warps": task.num_warps}
    per_warp = any("warp" in names_in(f) for f in (access.offset, _given(access.bytes)))
    if access.bytes is None and access.offset == 0 and not access.slices:
        return WHOLE
    ranges = [_over_stages(access, resource, known | {"warp": w}, size) for w in range(task.num_warps)]
    if not per_warp or warp is not None:
        low, high = ranges[warp or 0]
        return Footprint("warp_slice" if access.slices else "range", low, high - low)
    if access.slices:
        raise FormulaError("slices = true with a range that depends on the warp: give the range of each warp")
    return Footprint("ranges", ranges=tuple((low, high - low) for low, high in ranges))


def _over_stages(access: Access, resource: Resource, known: dict[str, int], size: int) -> tuple[int, int]:
    """[low, high) of what is touched in any stage."""
    formulas = (access.offset, _given(access.bytes))
    staged = any("stage" in names_in(f) for f in formulas)
    stages = (
        resource.pipeline.stages if resource.pipeline else resource.storage.stages if resource.storage else 1
    )
    found = [_range(access, known | {"stage": s}, size) for s in (range(stages) if staged else (0,))]
    low, high = min(low for low, _ in found), max(high for _, high in found)
    if low < 0 or high > size:
        raise FormulaError(f"bytes {low} to {high} of {resource.name}, whose stage has {size}")
    return low, high


def _range(access: Access, known: dict[str, int], size: int) -> tuple[int, int]:
    low = value_of(access.offset, known)
    length = size - low if access.bytes is None else value_of(access.bytes, known)
    return low, low + max(0, length)


def _given(formula: Formula | None) -> Formula:
    return 0 if formula is None else formula
