"""Async groups in an execution: closing them, and what a warp knows after it has waited for them.

Loads and stores of tensor memory are channels too; `tcgen05.wait` closes their group and waits for all. A store comes behind
the loads before it (its values are made from theirs), so its wait is enough for both.
"""

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


def drain(run: Execution, w: int, j: int, e: Event) -> bool:
    """tcgen05.wait: everything so far is one group, and complete; so are loads that came before a store waited for."""
    if (w, e.engine) in run.channel:
        run.groups[w, e.engine] = phases.commit(run.groups[w, e.engine])
        comp = run.channel[w, e.engine]
        _know(run, w, (comp, comp + 1), run.groups[w, e.engine].committed)
    loads = w, Engine.TCGEN05_LD
    if e.engine is Engine.TCGEN05_ST and loads in run.channel:
        comp = run.channel[loads]
        _know(run, w, (comp, comp + 1), run.groups[loads].committed)
    return True


def behind_store(run: Execution, w: int) -> None:
    """A store to tensor memory is issued: the loads before it are a group, which the store's wait covers too."""
    loads = w, Engine.TCGEN05_LD
    if loads in run.channel and run.groups[loads].open:
        run.groups[loads] = phases.commit(run.groups[loads])


def _know(run: Execution, w: int, components: tuple[int, ...], groups: int) -> None:
    base = run.base[w]
    news = [c for c in components if base[c] < groups]
    if news:
        clock = list(base)
        for c in news:
            clock[c] = groups
        run.base[w] = tuple(clock)
