"""WD110  bad-routing: a value is used before anything has returned it, or does not fit the work that it goes to."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Op, OpKind, Task
from ..findings import Finding
from ..footprints import target_work
from ..tree import ops_of
from .base import Hazard, error, listed, unique
from .examples import (
    MMA,
    accumulator,
    acquire,
    commit,
    document,
    group_commit,
    group_wait,
    loop,
    release,
    ring,
    task,
    wait,
    work,
)
from .trace import Trace

CODE, NAME = "WD110", "bad-routing"


def check(document: Document) -> Iterator[Finding]:
    """Arguments that a work does not take, parameters left out, and wrong numbers of results."""
    barriers = {m.name for m in document.mbarriers}
    for t in document.tasks:
        for op in ops_of(t):
            found = target_work(document, op) if op.kind is OpKind.WORK else None
            if found is None:
                continue
            taken, given = found[1].parameters, [name for name, _ in op.args]
            completes = {name for name, value in op.args if isinstance(value, str) and value in barriers}
            unknown = [name for name in given if name not in taken and name not in completes]
            missing = [name for name in taken if name not in given]
            if unknown or missing:
                yield _arguments(t, op, unknown, missing)
            returned = found[1].returns
            if returned and op.results and len(op.results) != len(returned):
                yield _finding(
                    t,
                    op,
                    f"{op.target}.{op.work} returns {len(returned)} values, taken as {len(op.results)}",
                    listed(returned),
                )


def _arguments(t: Task, op: Op, unknown: list[str], missing: list[str]) -> Finding:
    parts = [f"does not take {listed(unknown)}"] if unknown else []
    parts += [f"is not given {listed(missing)}"] if missing else []
    return _finding(
        t, op, f"{op.target}.{op.work} {' and '.join(parts)}", listed(missing) or "known parameters"
    )


def _finding(t: Task, op: Op, message: str, expected: str) -> Finding:
    return error(
        CODE,
        NAME,
        f"{t.name} at {op.id}: {message}",
        ops=(op.id,),
        resources=unique((op.target,)),
        tasks=(t.name,),
        expected=expected,
        actual=listed(name for name, _ in op.args) or "nothing",
    )


def follow(trace: Trace) -> Iterator[Finding]:
    """Values that are used before they exist on some path of some warp."""
    for problem in trace.of("routing"):
        at = f" ({problem.at})" if problem.at else ""
        yield error(
            CODE,
            NAME,
            f"{problem.task} at {problem.op}{at}: {problem.text}",
            ops=(problem.op,),
            resources=unique((problem.resource,)),
            tasks=(problem.task,),
            expected="an earlier op of the same task that returns it",
            actual="none",
        )


def _gemm(name: str):
    return document(
        "mma takes the tile that was returned" if name == "t" else "mma takes a value that nothing returns",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task(
            "math",
            4,
            4,
            loop(
                wait("ab"),
                work("ab", "tile", result="t"),
                work("acc", "mma", tile=name),
                group_commit("mma_group"),
                group_wait("mma_group"),
                release("ab"),
            ),
        ),
        resources=(ring(), accumulator()),
        groups=(MMA,),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="A value is returned by an earlier op of the task before it is used, and fits the work that takes it.",
    why="The generated code would not compile, or would compute with what happens to be in a register.",
    bad=_gemm("other"),
    good=_gemm("t"),
    check=check,
    follow=follow,
)
