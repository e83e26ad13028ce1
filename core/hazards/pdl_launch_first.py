"""WD701  pdl-launch-first: the next grid may start before this one has waited for the preceding grid, or has stored."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Loop
from ..findings import Finding
from ..incidents import Note
from ..run import Run, prefix_steps
from ..tree import ops_of, placed
from ..unroll import trip_count
from .base import Hazard, error, listed, unique, warning
from .examples import (
    PDL_LAUNCH,
    PDL_WAIT,
    acquire,
    commit,
    document,
    fence,
    launch_grid,
    loop,
    release,
    ring,
    task,
    wait,
    wait_grid,
    work,
)
from .pdl_unwaited_access import grid_waited
from .places import where

CODE, NAME = "WD701", "pdl-launch-first"


def examine(run: Run) -> Iterator[Finding]:
    """Launches before any wait (a warning), grids that end without one, and stores that a grid which does not wait may
    miss."""
    grid = run.machine.grid
    if not grid.launches or run.execution.stopped:
        return
    launches = [n for n in run.execution.notes if n.op in grid.launches]
    if grid.declared:
        yield from _never_waits(run)
        for op in dict.fromkeys(n.op for n in launches):
            early = next((n for n in launches if n.op == op and not grid_waited(run, n)), None)
            if early is not None:
                yield _early(run, early)
    if grid.unheeded:
        yield from _missed(run, launches)


def _early(run: Run, launch: Note) -> Finding:
    return warning(
        CODE,
        NAME,
        f"{where(run, launch.stream, launch.index)} lets the next grid start before any has waited for the preceding one",
        ops=(launch.op,),
        resources=_targets(run, launch.op),
        tasks=(run.task(launch.stream),),
        expected="griddepcontrol.wait before launch_dependents",
        actual="nothing orders a wait before it",
        witness=prefix_steps(run, launch.base, [(launch.stream, launch.index, "")]),
    )


def _never_waits(run: Run) -> Iterator[Finding]:
    """A grid that ends: what waits for it does not wait for the grid before it."""
    grid = run.machine.grid
    if run.execution.blocked or any(n.op in grid.waits for n in run.execution.notes) or _idle(run):
        return
    launches = sorted(grid.launches)
    waits = [o.id for t in run.document.tasks for o in ops_of(t) if o.id in grid.waits]
    yield error(
        CODE,
        NAME,
        f"the grid can end without having waited for the preceding one, though it launches the next at {listed(launches)}",
        ops=unique((*launches, *waits)),
        resources=unique(r for op in launches for r in _targets(run, op)),
        expected="some warp waits on every path, since the next grid waits only for this one",
        actual="no warp does",
    )


def _idle(run: Run) -> bool:
    """Whether the waits are in tile loops that have no tile here: other CTAs of the grid have some."""
    values = dict(run.case)
    inside = [
        loop
        for p in placed(run.document)
        if getattr(p.node, "id", "") in run.machine.grid.waits
        for loop in p.parents
        if isinstance(loop, Loop) and loop.kind == "tile"
    ]
    return bool(inside) and all(trip_count(loop, values) == 0 for loop in inside)


def _missed(run: Run, launches: list[Note]) -> Iterator[Finding]:
    """Stores that are not complete at a launch, where the next grid does not wait for this one."""
    stores, races, seen = run.machine.grid.stores, run.execution.races, set()
    for store in run.execution.notes:
        if store.op not in stores or store.op in seen:
            continue
        late = (n for n in launches if not races.finished(store, n.stream, n.index, n.base))
        launch = next(late, None)
        if launch is not None:
            seen.add(store.op)
            yield error(
                CODE,
                NAME,
                f"{where(run, launch.stream, launch.index)} lets the next grid start, which does not wait, and the store to "
                f"{stores[store.op]} by {where(run, store.stream, store.index)} may come later",
                ops=unique((launch.op, store.op)),
                resources=unique((run.machine.grid.unheeded, stores[store.op])),
                tasks=unique((run.task(launch.stream), run.task(store.stream))),
                expected="all stores before the launch, or a griddepcontrol.wait in the next grid",
                actual="nothing orders the store before the launch",
                witness=prefix_steps(run, launch.base, [(launch.stream, launch.index, "")]),
            )


def _targets(run: Run, op: str) -> tuple[str, ...]:
    return unique(o.target for t in run.document.tasks for o in ops_of(t) if o.id == op)


def _chain(*loading):
    return document(
        "the grid waits, then launches the next"
        if len(loading) > 1
        else "the grid launches the next and never waits",
        task("load", 0, 1, *loading, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab"))),
        resources=(ring(), PDL_WAIT, PDL_LAUNCH),
        graph=(("pdl_wait", "ab"),) if len(loading) > 1 else (),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="A grid that launches the next one waits for the preceding one, and has stored what a next grid that does not wait "
    "will read.",
    why="The next grid waits for this one to end, not for the ones before it: if this one never waited, the next may run "
    "beside the grid before last. And a launch makes no store visible; only the next grid's wait does.",
    bad=_chain(launch_grid()),
    good=_chain(wait_grid(), launch_grid()),
    examine=examine,
)
