"""Async groups in an execution: closing them, and what a warp knows after it has waited for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import phases
from .document import Engine
from .program import Event

if TYPE_CHECKING:
    from .clocks import Execution


def group_commit(run: Execution, w: int, j: int, e: Event) -> bool:
    run.groups[w, e.engine] = phases.commit(run.groups[w, e.engine])
    return True


def group_wait(run: Execution, w: int, j: int, e: Event) -> bool:
    comp = run.channel[w, e.engine]
    _know(run, w, (comp, comp + 1), phases.complete_after_wait(run.groups[w, e.engine], e.number or 0))
    return True


def group_wait_read(run: Execution, w: int, j: int, e: Event) -> bool:
    if e.engine is not Engine.BULK_STORE:
        return group_wait(run, w, j, e)
    comp = run.channel[w, e.engine]
    _know(run, w, (comp + 1,), phases.complete_after_wait(run.groups[w, e.engine], e.number or 0))
    return True


def _know(run: Execution, w: int, components: tuple[int, ...], groups: int) -> None:
    base = run.base[w]
    if all(base[c] >= groups for c in components):
        return
    clock = list(base)
    for c in components:
        clock[c] = max(clock[c], groups)
    run.base[w] = tuple(clock)
