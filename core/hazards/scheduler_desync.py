"""WD705  scheduler-desync: requests for tiles and the reads of their responses are out of step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..document import Document, Guard, GuardKind, OpKind, Pipeline, Resource, Space, Task, Work
from ..findings import Finding, Severity
from ..incidents import Note
from ..run import Run, join_clocks, prefix_steps
from ..schedulers import CLC, has_slots, is_dynamic, requests_and_reads, supports_requests, tile_loops, uses
from ..tree import find_resource, find_work, ops_of, placed
from ..unroll import trip_count
from .base import Hazard, error, listed, plural, unique
from .conflicts import races
from .examples import acquire, commit, document, op, release, task, tiles, wait, work
from .missing_proxy_fence import finding_of
from .places import where

CODE, NAME = "WD705", "scheduler-desync"


def check(document: Document) -> Iterator[Finding]:
    """Schedulers that the target does not have, that nobody or several warps ask, and readers that are not counted."""
    for resource in document.resources:
        if not is_dynamic(resource):
            continue
        if not supports_requests(document.target):
            yield _wrong(
                resource,
                f"{resource.name} requests tiles at run time, which {document.target} cannot",
                expected="sm_100a or later, or a static queue",
                actual=document.target,
            )
        if not has_slots(resource):
            yield _wrong(
                resource,
                f"{resource.name} requests tiles at run time, but has no pipeline in whose slots responses could arrive",
                expected=f"a pipeline of type {CLC}",
                actual=resource.pipeline.type if resource.pipeline else "none",
            )
            continue
        yield from _requests(document, resource)
        yield from _readers(document, resource)


def _requests(document: Document, resource: Resource) -> Iterator[Finding]:
    asking = {t.name: t for t in document.tasks if _works(t, resource, "producer")}
    if not asking and tile_loops(document, resource.name):
        yield _wrong(
            resource,
            f"nobody requests the tiles of {resource.name}",
            expected="one warp that does",
            actual="none",
        )
    if len(asking) > 1:
        yield _wrong(
            resource,
            f"{listed(asking)} all request tiles of {resource.name}",
            ops=tuple(o for t in asking.values() for o in _works(t, resource, "producer")),
            tasks=tuple(asking),
            expected="one warp",
            actual=plural(len(asking), "task"),
        )
    for t in asking.values():
        ops = [o for o in _works(t, resource, "producer") if not _elected(document, o)]
        if t.num_warps > 1 and ops:
            yield _wrong(
                resource,
                f"each of the {t.num_warps} warps of {t.name} requests a tile of {resource.name}",
                ops=tuple(ops),
                tasks=(t.name,),
                expected="one warp, or elect_warp()",
                actual=f"{t.num_warps} warps",
            )


def _readers(document: Document, resource: Resource) -> Iterator[Finding]:
    for t in document.tasks:
        reads = _works(t, resource, "consumer")
        waits = [o.id for o in ops_of(t) if uses(o, resource.name, OpKind.WAIT)]
        frees = [o.id for o in ops_of(t) if uses(o, resource.name, OpKind.RELEASE)]
        if reads and not waits:
            lacks, what = "reads a response that it has not waited for", "wait()"
        elif (reads or waits) and not frees:
            lacks, what = (
                "reads a response and is not counted: the next request does not wait for it",
                "release()",
            )
        else:
            continue
        yield _wrong(
            resource,
            f"{t.name} {lacks}",
            ops=unique((*reads, *waits)),
            tasks=(t.name,),
            expected=f"{resource.name}.{what} for every response",
            actual="none",
        )


def examine(run: Run) -> Iterator[Finding]:
    """Slots that are overwritten while they are read, or read through another proxy without a fence, and requests behind a
    response that said no."""
    yield from races(run, CODE, NAME)
    for pair in run.execution.races.unfenced.values():
        if has_slots(find_resource(run.document, pair.first.access.resource)):
            yield replace(finding_of(run, pair, CODE, NAME), severity=Severity.ERROR)
    if not run.execution.stopped:
        for resource in run.document.resources:
            if has_slots(resource):
                yield from _behind_a_failure(run, resource)


def _behind_a_failure(run: Run, resource: Resource) -> Iterator[Finding]:
    """Of T tiles the first came with the launch, so T - 1 requests succeed."""
    loops = tile_loops(run.document, resource.name)
    trips = {trip_count(loop, dict(run.case)) for loop in loops}
    if len(trips) != 1 or not (tiles := trips.pop()):
        return
    requests, reads = _numbered(run, resource)
    failed = [(n, x) for n, x in reads if n >= tiles - 1]
    seen = set()
    for number, y in requests:
        late = next((x for _, x in failed if number >= tiles and _before(x, y)), None)
        if late is not None and y.op not in seen:
            seen.add(y.op)
            yield error(
                CODE,
                NAME,
                f"{where(run, y.stream, y.index)} requests a tile of {resource.name} though "
                f"{where(run, late.stream, late.index)} has read before that none is left",
                ops=unique((y.op, late.op)),
                resources=(resource.name,),
                tasks=unique((run.task(y.stream), run.task(late.stream))),
                expected="no request once a response has failed",
                actual=f"request {number + 1} of a CTA with {plural(tiles, 'tile')}",
                witness=prefix_steps(
                    run,
                    join_clocks(run, (y.stream, y.index, y.base), (late.stream, late.index, late.base)),
                    [(late.stream, late.index, ""), (y.stream, y.index, "")],
                ),
            )


def _before(x: Note, y: Note) -> bool:
    """Whether whoever makes request ``y`` knows of read ``x``."""
    return x.index < y.index if x.stream == y.stream else y.base[x.stream] >= x.index


def _numbered(run: Run, resource: Resource) -> tuple[list[tuple[int, Note]], list[tuple[int, Note]]]:
    """Requests and reads with the number of the response: a warp's next use of a slot is the next turn of the ring."""
    stages, known = max(1, resource.pipeline.stages), requests_and_reads(run.document)
    turns: dict[tuple[int, str, int], int] = {}
    found: tuple[list, list] = ([], [])
    for note in run.execution.notes:
        name, reads = known.get(note.op, ("", False))
        if name == resource.name and _here(run, note):
            stage = run.event(note.stream, note.index).stage
            key = note.stream, note.op if reads else "", stage
            turn = turns[key] = turns.get(key, -1) + 1
            found[reads].append((turn * stages + stage, note))
    return found


def _here(run: Run, note: Note) -> bool:
    """Whether it is not the copy of a request's response that goes to another CTA of the cluster."""
    barrier = run.event(note.stream, note.index).barrier
    return barrier < 0 or run.program.barriers[barrier].cta == run.program.streams[note.stream].cta


def _works(t: Task, resource: Resource, role: str) -> list[str]:
    ops = (o for o in ops_of(t) if uses(o, resource.name, OpKind.WORK))
    works = ((o, find_work(resource, o.work)) for o in ops)
    return [o.id for o, w in works if w and w.role == role and not w.auxiliary]


def _elected(document: Document, id: str) -> bool:
    at = next(p for p in placed(document) if p.node.id == id)
    return any(isinstance(p, Guard) and p.kind is GuardKind.ELECT_WARP for p in at.parents)


def _wrong(resource: Resource, message: str, **fields) -> Finding:
    return error(CODE, NAME, message, resources=(resource.name,), **fields)


def scheduler(stages: int = 1, **params) -> Resource:
    """A dynamic work queue: `fetch_work_tile` requests, `get_and_advance_work_tile` reads the response."""
    return Resource(
        "queue",
        Space.QUEUE,
        Pipeline(stages, CLC),
        works=(
            Work("get_and_advance_work_tile", "consumer", returns=("work_tile",)),
            Work("fetch_work_tile", "producer"),
        ),
        params=tuple(params.items()),
    )


def _persistent(*tail):
    advance = work("queue", "get_and_advance_work_tile")
    fetch = acquire("queue"), work("queue", "fetch_work_tile"), commit("queue")
    read = wait("queue"), advance, release("queue")
    return document(
        "the scheduler requests once more, behind the loop" if tail else "one request a tile",
        task("sched", 0, 1, tiles(*fetch, *read), *(fetch if tail else ())),
        task("math", 4, 1, tiles(*read)),
        resources=(scheduler(),),
        target="sm_100a",
        graph=(),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Every reader of a scheduler's slot is counted, reads and fences before it gives the slot back, and nobody "
    "requests a tile once a response has said that none is left.",
    why="A reader that is not counted decodes the next response half written, and its warp works on another tile than the "
    "others. A request behind a failed one is undefined behaviour, and sm_90 has no such requests at all.",
    bad=_persistent(op(OpKind.COMMIT)),
    good=_persistent(),
    check=check,
    examine=examine,
)
