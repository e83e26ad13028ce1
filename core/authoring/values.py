"""Declarations that Task Scheduling's work bodies use; a schedule only needs their names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MISSING = object()


@dataclass(frozen=True)
class StageInfo:
    """What a work's body is given: the iteration, the stage and its barrier, the work tile."""

    loop_offset: int = 0
    loop_start: int = 0
    loop_end: int = 0
    loop_step: int = 1
    stage_idx: int | None = None
    label: Any = None
    barrier: Any = None
    work_tile: Any = None
    num_active_stages: int = 0
    context: Any = None
    task_cache: Any = None


@dataclass
class WorkTileInfo:
    """A work tile as a body sees it; a schedule passes it on as a token."""

    tile_idx: Any = None
    is_valid_tile: Any = None


@dataclass(frozen=True)
class ResourceContext:
    """Where a running kernel's memory begins; for annotations."""

    smem_base: Any = None
    tmem_ptr_i32: Any = None


@dataclass(eq=False)
class TaskLocalVariable:
    """A variable of a resource that consumer works return: its type and initial value."""

    dtype: Any = None
    default: Any = MISSING
    default_factory: Callable[[], Any] | None = None
    docs: str | None = None
    runtime_slot_name: str | None = None

    @staticmethod
    def uninitialized() -> Any:
        """A dataclass field for such a variable, to be set in ``__post_init__``; usable in ``returns=``."""
        return dataclasses.field(init=False, metadata={"task_local_variable": True})
