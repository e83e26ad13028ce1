"""Mutants of the shipped examples, in a reduced form that can be explored in full: each with one mistake."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from explorer import explore

from warpdraft.core.consistency import problem
from warpdraft.core.document import Document, Node, Op, Pipeline, Resource
from warpdraft.core.machine import Machine
from warpdraft.core.program import Program
from warpdraft.core.store import load
from warpdraft.core.unroll import unroll
from warpdraft.core.verify import verify

EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"
SAFE = sorted(
    name
    for path in EXAMPLES.glob("*.warpdraft.json")
    if not (name := path.name.partition(".")[0]).startswith("broken_")
)
OUTER = ("tiles", "pairs")  # loops around another one
WARPGROUP = 4
TRIPS = (1, 2, 4)
CAP = 60_000  # states
Mutant = tuple[str, Document]


def reduced(name: str) -> Document:
    """The example with two stages at most, and one warpgroup where a task has two: wgmma takes whole ones, and two of them
    do the same."""
    found = load(EXAMPLES / f"{name}.warpdraft.json")
    warps = {t.name: min(WARPGROUP, t.num_warps) for t in found.tasks}
    fewer = sum(t.num_warps - warps[t.name] for t in found.tasks)
    tasks = tuple(replace(t, num_warps=warps[t.name]) for t in found.tasks)
    barriers = tuple(replace(b, threads=b.threads - 32 * fewer) for b in found.barriers)
    return replace(found, tasks=tasks, barriers=barriers, resources=tuple(map(_two_stages, found.resources)))


def _two_stages(r: Resource) -> Resource:
    if r.pipeline is None or r.pipeline.stages <= 2:
        return r
    return replace(
        r, pipeline=replace(r.pipeline, stages=2), storage=r.storage and replace(r.storage, stages=2)
    )


def mutants(found: Document) -> Iterator[Mutant]:
    """All documents with one op dropped, doubled, swapped with the next node, or moved to another place of its block; and
    with a count, a number of stages, or a number of bytes that is off by one."""
    for at, t in enumerate(found.tasks):
        for what, body in _changed(t.body):
            yield (
                f"{t.name}: {what}",
                replace(found, tasks=(*found.tasks[:at], replace(t, body=body), *found.tasks[at + 1 :])),
            )
    for at, r in enumerate(found.resources):
        if r.pipeline:
            for what, pipeline in _pipelines(r.pipeline):
                changed = replace(r, pipeline=pipeline)
                yield (
                    f"{r.name}: {what}",
                    replace(found, resources=(*found.resources[:at], changed, *found.resources[at + 1 :])),
                )
    for at, b in enumerate(found.barriers):
        for by in (-32, 32):
            changed = replace(b, threads=b.threads + by)
            yield (
                f"{b.name}: threads {by:+}",
                replace(found, barriers=(*found.barriers[:at], changed, *found.barriers[at + 1 :])),
            )


def _changed(body: tuple[Node, ...]) -> Iterator[tuple[str, tuple[Node, ...]]]:
    for i, node in enumerate(body):
        rest = body[:i] + body[i + 1 :]
        if isinstance(node, Op):
            yield f"without {node.id}", rest
            yield f"{node.id} twice", (*body[: i + 1], replace(node, id=f"{node.id}b"), *body[i + 1 :])
            for j in range(len(body)):
                if j != i and not (j == i - 1):  # one place back is the other one's place forward
                    yield f"{node.id} to place {j}", (*rest[:j], node, *rest[j:])
            if node.count is not None:
                for by in (-1, 1):
                    if node.count + by >= 0:
                        yield (
                            f"{node.id} count {by:+}",
                            (*body[:i], replace(node, count=node.count + by), *body[i + 1 :]),
                        )
        else:
            for what, inner in _changed(node.body):
                yield what, (*body[:i], replace(node, body=inner), *body[i + 1 :])


def _pipelines(p: Pipeline) -> Iterator[tuple[str, Pipeline]]:
    for field in ("stages", "producer_count", "consumer_count", "bytes"):
        value = getattr(p, field, None)
        if isinstance(value, int):
            for by in (-1, 1):
                yield f"{field} {by:+}", replace(p, **{field: value + by})


def noticed(found: Document) -> bool:
    """Whether ``found`` is refused or not called safe: at one choice of trip counts, or at all (which takes longer)."""
    if problem(found):
        return True
    few = {s.name: (2,) for s in found.symbols}
    return verify(found, trip_counts=few).verdict == "unsafe" or verify(found).verdict != "safe"


def programs(found: Document) -> Iterator[Program]:
    """What the reduced form is explored at: two tiles of a few iterations."""
    machine = Machine(found)
    for trips in TRIPS:
        yield unroll(machine, {s.name: 2 if s.name in OUTER else trips for s in found.symbols})


def truth(found: Document) -> str:
    """What all interleavings of a mutant say: "wrong", "equivalent", or "unknown" where there are too many."""
    for program in programs(found):
        outcome = explore(program, CAP, first=True)
        if outcome.wrong:
            return "wrong"
        if outcome.capped:
            return "unknown"
    return "equivalent"


def fate(found: Document) -> str:
    """What becomes of a mutant: "noticed", "equivalent", "unknown", or "missed"."""
    if noticed(found):
        return "noticed"
    said = truth(found)
    return "missed" if said == "wrong" else said


def main() -> None:
    """Print what becomes of every mutant: python tests/core/example_mutants.py [NAME]..."""
    for name in sys.argv[1:] or SAFE:
        found = Counter()
        for what, mutant in mutants(reduced(name)):
            said = fate(mutant)
            found[said] += 1
            if said != "noticed":
                print(f"{name}: {said}: {what}", flush=True)
        print(f"{name}: {dict(found)}", flush=True)


if __name__ == "__main__":
    main()
