"""WD109  unknown-work: a schedule calls something that is no work of the resource, or names a stage or bytes that are not
there."""

from __future__ import annotations

from collections.abc import Iterator

from ..consistency import PARITIES
from ..document import Document, Guard, GuardKind, Loop, Op, OpKind, Task
from ..findings import Finding
from ..footprints import stage_bytes, target_work
from ..op_integers import unknown_names
from ..program import Stray
from ..run import Run
from ..tree import Placed, find_node, find_target, find_work, placed
from .base import Hazard, error, listed
from .examples import acquire, channel, commit, document, loop, release, task, wait, work

CODE, NAME = "WD109", "unknown-work"
PIPELINE = (
    OpKind.ACQUIRE,
    OpKind.COMMIT,
    OpKind.TRY_ACQUIRE,
    OpKind.WAIT,
    OpKind.RELEASE,
    OpKind.TRY_WAIT,
    OpKind.PRODUCER_TAIL,
)
PARITY = "0 or 1 (PTX ISA, mbarrier.test_wait)"


def check(document: Document) -> Iterator[Finding]:
    """Unknown works, targets and stages, and stages computed with what is not known there."""
    for place in placed(document):
        op = place.node
        if not isinstance(op, Op):
            continue
        problem = _problem(document, op) or _outside(document, place)
        if problem:
            message, expected = problem
            yield _finding(place.task, op, message, expected)
        loops = [n for n in place.parents if isinstance(n, Loop)]
        for field, name in unknown_names(op, loops, document.symbols):
            what = "the parity" if field == "count" else "the stage"
            yield _finding(
                place.task,
                op,
                f"{what} of {op.id} depends on {name}, which is neither a declared symbol nor the variable of a loop around",
                "the variable of a loop around, or a declared symbol",
                str(getattr(op, field)),
            )


def examine(run: Run) -> Iterator[Finding]:
    """Stages and parities that come out of range."""
    for stream in run.program.streams:
        for stray in stream.strays:
            place = find_node(run.document, stray.op)
            if place is None or any(
                unknown_names(
                    place.node, (n for n in place.parents if isinstance(n, Loop)), run.document.symbols
                )
            ):
                continue  # `check` says why
            yield _astray(run, place.task, place.node, stray)


def _astray(run: Run, t: Task, op: Op, stray: Stray) -> Finding:
    at = ", ".join(f"{var} {i}" for var, i in stray.at)
    where = f"{op.id} ({at})" if at else op.id
    expression = op.count if stray.field == "parity" else op.stage
    if stray.value is None:
        message, expected = f"the {stray.field} {expression} of {where} cannot be computed", "a number"
    elif stray.field == "parity":
        message, expected = (
            f"{where} waits for parity {stray.value} of {op.target}",
            PARITY,
        )
    else:
        message = f"{op.target} has no stage {stray.value}, which {where} computes"
        expected = f"a stage below {_stages(find_target(run.document, op.target))}"
    return _finding(t, op, message, expected, str(expression))


def _problem(document: Document, op: Op) -> tuple[str, str] | None:
    target = find_target(document, op.target) if op.target else None
    if op.target and target is None:
        return f"{op.id} names {op.target}, which does not exist", "a declared name"
    if op.kind is OpKind.WORK and hasattr(target, "works") and find_work(target, op.work) is None:
        names = listed(w.name for w in target.works) or "none"
        return f"{op.target} has no work {op.work}", names
    if op.kind in PIPELINE and getattr(target, "pipeline", None) is None:
        return f"{op.kind.value} of {op.target}, which has no pipeline", "a resource with a pipeline"
    if op.kind in PARITIES and isinstance(op.count, int) and op.count not in (0, 1):
        return f"{op.id} waits for parity {op.count} of {op.target}", PARITY
    stages = _stages(target)
    if isinstance(op.stage, int) and stages and not 0 <= op.stage < stages:
        return f"{op.target} has no stage {op.stage}", f"a stage below {stages}"
    return None


def _outside(document: Document, place: Placed) -> tuple[str, str] | None:
    """Of a footprint that reaches beyond its stage, or that leaves out warps of its task."""
    op, found = place.node, target_work(document, place.node)
    if found is None or found[0].storage is None or found[1].auxiliary:
        return None
    resource, work = found
    footprint = op.footprint or work.footprint
    if footprint is None or footprint.kind == "whole":
        return None
    ranges = footprint.ranges if footprint.kind == "ranges" else ((footprint.offset, footprint.bytes),)
    size = stage_bytes(resource)
    for offset, count in ranges:
        if offset < 0 or count < 0 or offset + count > size:
            name = f"{op.target}.{op.work}"
            return f"{name} touches [{offset}, {offset + count}) of a stage of {size}", f"[0, {size})"
    elected = [n.warp for n in place.parents if isinstance(n, Guard) and n.kind is GuardKind.ELECT_WARP]
    last = elected[0] if elected else place.task.num_warps - 1
    if footprint.kind == "ranges" and len(ranges) <= last:
        return (
            f"{op.target}.{op.work} has ranges for {len(ranges)} of {place.task.num_warps} warps, and warp {last} does it",
            "a range for each warp",
        )
    return None


def _stages(target) -> int:
    if getattr(target, "pipeline", None) is not None:
        return 0
    if hasattr(target, "storage"):
        return target.storage.stages if target.storage else 0
    return getattr(target, "stages", 0)


def _finding(t: Task, op: Op, message: str, expected: str, actual: str = "") -> Finding:
    return error(
        CODE,
        NAME,
        f"{t.name}: {message}",
        ops=(op.id,),
        resources=(op.target,) if op.target else (),
        tasks=(t.name,),
        expected=expected,
        actual=actual or op.work or op.target,
    )


def _ring(name: str):
    return document(
        f"the producer calls {name}",
        task("load", 0, 1, loop(acquire("x"), work("x", name), commit("x")), dst=("x",)),
        task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"))),
        resources=(channel("x"),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="What a schedule calls is a decorated work method of the resource, on a stage and bytes of it that exist.",
    why="Nothing can be lowered or checked for it: the step would silently be missing, or meant for other memory.",
    bad=_ring("fil"),
    good=_ring("fill"),
    check=check,
    examine=examine,
)
