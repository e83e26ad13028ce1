"""WD405  descriptor-reuse: a tensor map is rewritten while a copy may still use it, or used before it is published."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Engine, OpKind, Resource, Space, Work
from ..findings import Finding
from ..races import Pair
from ..run import Run, join_clocks, prefix_steps
from .base import Hazard, error, unique
from .conflicts import races
from .examples import STORE, buffer, document, fence, group_commit, group_wait, loop, op, task, work
from .places import where

CODE, NAME = "WD405", "descriptor-reuse"


def examine(run: Run) -> Iterator[Finding]:
    """Updates that a copy in flight may still meet, and copies that may find the map as it was."""
    yield from races(run, CODE, NAME)
    for pair in run.execution.maps.missing.values():
        yield _unpublished(run, pair)


def _unpublished(run: Run, pair: Pair) -> Finding:
    x, y = pair
    name = x.access.resource
    return error(
        CODE,
        NAME,
        f"the copy by {where(run, y.stream, y.index)} uses {name}, which {where(run, x.stream, x.index)} has updated, with "
        "no fence of the tensor map between",
        ops=unique((y.event.op, x.event.op)),
        resources=(name,),
        tasks=unique((run.task(y.stream), run.task(x.stream))),
        expected=f"fence_tensormap({name}) after {x.event.op} and before {y.event.op}",
        actual="none",
        witness=prefix_steps(
            run,
            join_clocks(run, (x.stream, x.index, x.base), (y.stream, y.index, y.base)),
            [(y.stream, y.index, "")],
            [(x.stream, x.index)],
        ),
    )


def _groups(*drain) -> Document:
    out = Resource(
        "out", Space.GMEM, works=(Work("store", "producer", Engine.BULK_STORE, parameters=("tile", "map")),)
    )
    store = work("out", "store", tile="t")
    return document(
        "the map is updated once the store has read it" if drain else "the map is updated under the store",
        task(
            "store",
            0,
            1,
            work("stage", "fill"),
            fence(),
            work("stage", "tile", result="t"),
            loop(
                op(OpKind.TENSORMAP_UPDATE, "map"),
                op(OpKind.FENCE_TENSORMAP, "map"),
                op(store.kind, store.target, work=store.work, args=(*store.args, ("map", "map"))),
                group_commit("store_group"),
                *drain,
                stop=3,
            ),
            group_wait("store_group", 0, read=True),
        ),
        resources=(buffer("stage"), out, Resource("map", Space.GMEM)),
        groups=(STORE,),
        symbols=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="A tensor map is not rewritten while a copy uses it, and fenced before the next one does.",
    why="The engine reads the descriptor after the copy has been issued: it takes half of the new one, or the old one from "
    "its cache, and the wrong bytes are moved without an error.",
    bad=_groups(),
    good=_groups(group_wait("store_group", 0, read=True)),
    examine=examine,
)
