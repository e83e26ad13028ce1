"""WD402  alias-race: two resources share bytes, and their uses are not ordered."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import NamedBarrier
from ..findings import Finding
from ..run import Run
from .base import Hazard
from .conflicts import races
from .examples import buffer, document, sync, task, work
from .nearby import nearby

CODE, NAME = "WD402", "alias-race"


def examine(run: Run) -> Iterator[Finding]:
    """Races between two resources."""
    return races(run, CODE, NAME)


def _overlay(*meeting):
    return document(
        "two buffers in one place, in turn" if meeting else "two buffers in one place, at once",
        task("first", 0, 1, work("x", "fill"), work("x", "read"), *meeting),
        task("second", 4, 1, *meeting, work("y", "fill"), work("y", "read")),
        resources=(buffer("x", alias="shared", phase=0), buffer("y", alias="shared", phase=1)),
        barriers=(NamedBarrier("meet", 1, 64),),
        symbols=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Uses of resources that share bytes or columns are ordered.",
    why="Each pipeline may be right on its own and still destroy what lies in the same place.",
    bad=_overlay(),
    good=_overlay(sync("meet")),
    examine=examine,
    repair=nearby,
)
