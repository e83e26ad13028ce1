"""WD410  unwritten-read: bytes are read that nobody has written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..allocations import allocated
from ..document import Document, Footprint, Work
from ..findings import Finding
from ..races import Misread
from ..run import Run, prefix_steps
from ..tree import find_resource
from .base import Hazard, error, listed, unique, warning
from .examples import acquire, channel, commit, document, loop, release, task, wait, work
from .misreads import filled, idle_loops, misreads, writers
from .nearby import nearby
from .places import accessed, where

CODE, NAME = "WD410", "unwritten-read"


def examine(run: Run) -> Iterator[Finding]:
    """Reads of memory that the schedule fills, before anything has filled it; tensor memory that it allocates, nobody else
    can fill."""
    for found in misreads(run, unwritten=True):
        resource = find_resource(run.document, found.read.access.resource)
        guessed = resource is not None and resource.storage is None  # then only its stages tell bytes apart
        name = found.read.access.resource
        own = name in filled(run.document) or name in allocated(run.document)
        if own and not (found.partly and guessed):
            yield _finding(run, found, whole=guessed or not found.partly)


def _finding(run: Run, found: Misread, whole: bool) -> Finding:
    read = found.read
    name = read.access.resource
    stored = writers(run.document, name)
    idle = idle_loops(run, stored)
    start = read.access.low if whole else found.low
    unit = "columns" if read.access.space == "tmem" else "bytes"
    part = "" if whole else f"{unit} {start} to {found.high - 1} of "
    notes = [f"it is written at {listed(stored)}"] if stored else [f"no op writes {name}"]
    if idle:
        notes.append(f"the loop {listed(idle)} around it runs zero times here")
    if "@" in read.access.space and read.access.space.partition("@")[0] == name:
        notes.append("registers are private to each warp: what another warp writes does not count")
    resource = find_resource(run.document, name)
    unknown = [w.name for w in resource.works if w.assumed] if resource else []
    if unknown:
        notes.append(f"nobody has said what {listed(unknown)} of {name} do: one may write it")
    return (warning if unknown else error)(
        CODE,
        NAME,
        f"{where(run, read.stream, read.index)} reads {part}{accessed(read)}, which nobody has written",
        ops=unique((read.event.op, *stored)),
        resources=(name,),
        tasks=(run.task(read.stream),),
        expected="a write before the read",
        actual="none",
        notes=tuple(notes),
        witness=prefix_steps(run, _before(run, read), [(read.stream, read.index, "")]),
    )


def _before(run: Run, read) -> list[int]:
    clock = list(read.base[: len(run.program.streams)])
    clock[read.stream] = read.index - 1
    return clock


def _ring(part: Footprint, name: str) -> Document:
    ring = channel("x")
    fill = Work("fill", "producer", footprint=part)
    return document(
        name,
        task("load", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"))),
        task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"))),
        resources=(replace(ring, works=(fill, *ring.works[1:])),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="What a schedule fills is written before it is read, every byte of it.",
    why="The reader takes what an earlier kernel left in shared memory or in registers: results that are right by luck.",
    bad=_ring(Footprint("range", 0, 512), "the producer fills 512 of 1024 B of a stage"),
    good=_ring(Footprint("range", 0, 1024), "the producer fills all of a stage"),
    examine=examine,
    repair=nearby,
)
