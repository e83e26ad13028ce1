"""WD214  interleave: stages that cannot be dealt out to lanes, or lanes that nobody is."""

from __future__ import annotations

from collections.abc import Iterator

from ..arrivals import made_in_lanes
from ..document import Document, OpKind, Resource, Task
from ..findings import Finding
from ..interleave import CURSORS, PLAIN, stride_of, task_lane, task_lanes
from ..tree import ops_of
from .base import Hazard, error, listed, plural
from .examples import K, acquire, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD214", "interleave"
CURSOR_OF = {
    OpKind.ACQUIRE: "acquire",
    OpKind.TRY_ACQUIRE: "acquire",
    OpKind.COMMIT: "commit",
    OpKind.WAIT: "wait",
    OpKind.TRY_WAIT: "wait",
    OpKind.RELEASE: "release",
}
# barrier -> (who arrives on it, who waits for it)
SIDES = {"full": ("commit", "wait"), "empty": ("release", "acquire")}


def check(document: Document) -> Iterator[Finding]:
    """Strides that do not divide the stages or differ where one cursor serves both, and lanes without an owner."""
    for resource in document.resources:
        if resource.pipeline is None or resource.pipeline.interleave == PLAIN:
            continue
        wrong = [*_strides(resource), *_pairs(resource)]
        wrong = wrong or [*_owners(document, resource)]
        yield from wrong or _arrivals(document, resource)


def _strides(resource: Resource) -> Iterator[Finding]:
    stages = resource.pipeline.stages
    for cursor, stride in zip(CURSORS, resource.pipeline.interleave, strict=False):
        if stride < 1 or stages % stride:
            text = f"{resource.name} has {stages} stages, which its {cursor} stride {stride} does not divide"
            yield _finding(resource, text, f"a stride that divides {stages}", f"{stride}")


def _pairs(resource: Resource) -> Iterator[Finding]:
    """Without a cursor of its own, an acquire goes by that of commit, and a wait by that of release."""
    pipeline = resource.pipeline
    flags = {"advance_on_acquire": CURSORS[:2], "advance_on_wait": CURSORS[2:]}
    for flag, (opens, closes) in flags.items():
        one, two = stride_of(resource, opens), stride_of(resource, closes)
        if one != two and not getattr(pipeline, flag):
            text = (
                f"{resource.name} has {opens} stride {one} and {closes} stride {two}, but one cursor for both"
            )
            yield _finding(resource, text, f"equal strides, or {flag}", f"{one} and {two}")


def _owners(document: Document, resource: Resource) -> Iterator[Finding]:
    """One finding for each task and stride that has no lane."""
    for t in document.tasks:
        used: dict[int, list[tuple[str, str]]] = {}
        for op in ops_of(t):
            if op.target == resource.name and op.kind in CURSOR_OF:
                cursor = CURSOR_OF[op.kind]
                used.setdefault(stride_of(resource, cursor), []).append((cursor, op.id))
        for stride, ops in used.items():
            lanes = task_lanes(t, resource, stride)
            if stride == 1 or t.num_warps == stride or len(lanes) == 1:
                continue
            actual = f"{plural(t.num_warps, 'warp')}, and no loop in steps of {stride} from a constant"
            if lanes:
                actual = f"loops that begin in lanes {listed(map(str, lanes))}"
            cursors = listed(dict.fromkeys(cursor for cursor, _ in ops))
            text = f"{t.name} is no lane of {resource.name}, whose {cursors} stride is {stride}"
            expected = f"{stride} warps, or one loop in steps of {stride} from a constant start"
            yield _finding(resource, text, expected, actual, tuple(i for _, i in ops), (t.name,))


def _arrivals(document: Document, resource: Resource) -> Iterator[Finding]:
    """All stages of a pipeline have one arrival count: each lane has to reach it."""
    for side, (arrives, waits) in SIDES.items():
        made = made_in_lanes(document, resource, side)
        asked = set(_stages(document, resource, waits))
        short = [
            lane for lane, n in enumerate(made) if n < max(made) and any(s % len(made) == lane for s in asked)
        ]
        if short:
            owners = tuple(t.name for t in document.tasks if _does(t, resource, arrives))
            text = (
                f"{side} of {resource.name} gets {listed(map(str, made))} arrivals in lanes "
                f"{listed(map(str, range(len(made))))}, but has one count"
            )
            ops = [o.id for t in document.tasks for o in ops_of(t) if _is(o, resource, arrives)]
            yield _finding(resource, text, f"{max(made)} in each", listed(map(str, made)), tuple(ops), owners)


def _stages(document: Document, resource: Resource, cursor: str) -> Iterator[int]:
    """The stages that tasks reach with ``cursor``."""
    stride = stride_of(resource, cursor)
    for t in document.tasks:
        if _does(t, resource, cursor):
            lane = task_lane(t, resource, stride)
            lanes = range(min(stride, t.num_warps)) if lane is None else (lane,)
            yield from (s for s in range(resource.pipeline.stages) if s % stride in lanes)


def _does(task: Task, resource: Resource, cursor: str) -> bool:
    return any(_is(o, resource, cursor) for o in ops_of(task))


def _is(op, resource: Resource, cursor: str) -> bool:
    return op.target == resource.name and op.kind == cursor


def _finding(
    resource: Resource,
    text: str,
    expected: str,
    actual: str,
    ops: tuple[str, ...] = (),
    tasks: tuple[str, ...] = (),
) -> Finding:
    return error(
        CODE, NAME, text, ops=ops, resources=(resource.name,), tasks=tasks, expected=expected, actual=actual
    )


def _two_readers(second: int):
    def read(name: str, warp: int, start: int):
        return task(
            name, warp, 4, loop(wait("x"), work("x", "read"), release("x"), start=start, step=2, stop=K)
        )

    return document(
        "two tasks take the stages in turn" if second else "two tasks are the same lane",
        task("load", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"))),
        read("even", 4, 0),
        read("odd", 8, second),
        resources=(channel("x", stages=4, interleave=(1, 1, 2, 2)),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="Each interleave stride divides the stages, and each lane is a warp of a task of as many warps, or a task whose "
    "loop goes in such steps.",
    why="Where two lanes meet in one stage, or a lane is nobody's, some stages get too many arrivals and others none.",
    bad=_two_readers(0),
    good=_two_readers(1),
    check=check,
)
