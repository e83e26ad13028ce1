"""WD404  early-reuse: the source of an async group is rewritten before the group wait that covers it."""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Finding
from ..run import Run
from .base import Hazard
from .conflicts import races
from .examples import STORE, buffer, document, fence, group_commit, group_wait, loop, output, task, work
from .nearby import nearby

CODE, NAME = "WD404", "early-reuse"


def examine(run: Run) -> Iterator[Finding]:
    """Writes under an asynchronous read that a group wait should end."""
    return races(run, CODE, NAME)


def _store(in_loop, after):
    return document(
        "the staging buffer is rewritten once it has been read"
        if in_loop
        else "the staging buffer is rewritten at once",
        task(
            "store",
            0,
            1,
            loop(
                work("stage", "fill"),
                fence(),
                work("stage", "tile", result="t"),
                work("out", "store", tile="t"),
                group_commit("store_group"),
                *in_loop,
            ),
            *after,
        ),
        resources=(buffer("stage"), output()),
        groups=(STORE,),
    )


_READ = group_wait("store_group", 0, read=True)

HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="A source of an async group is not rewritten before the group wait that covers it.",
    why="A bulk store reads shared memory, and wgmma its registers, after the instruction has been issued: the copy takes "
    "the new bytes.",
    bad=_store((), (_READ,)),
    good=_store((_READ,), ()),
    examine=examine,
    repair=nearby,
)
