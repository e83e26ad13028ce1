"""Documents as source for Task Scheduling: what it says, what it refuses, and that an import gives the document again."""

import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from forms import FORMS

from warpdraft.backends.nvidia_ts.annotations import dump_annotations, loads_annotations
from warpdraft.backends.nvidia_ts.apply import apply_annotations
from warpdraft.backends.nvidia_ts.scanning.instructions import Sync
from warpdraft.backends.nvidia_ts.scanning.scan import scan
from warpdraft.backends.nvidia_ts.scanning.sources import Sources
from warpdraft.backends.nvidia_ts.writing.bodies import split
from warpdraft.backends.nvidia_ts.writing.errors import NotExpressible
from warpdraft.backends.nvidia_ts.writing.module import to_task_scheduling
from warpdraft.core.document import (
    Document,
    Edge,
    Guard,
    GuardKind,
    Loop,
    Mbarrier,
    Op,
    OpKind,
    Part,
    Pipeline,
    Resource,
    Space,
    Storage,
    Task,
    Work,
)
from warpdraft.core.equality import equal_schedules
from warpdraft.core.expressions import symbol
from warpdraft.core.hazards import HAZARDS
from warpdraft.core.store import load, loads
from warpdraft.core.verify import verify

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[2] / "assets" / "examples"
needs_ts = pytest.mark.skipif(
    importlib.util.find_spec("cutlass") is None,
    reason="Task Scheduling (nvidia-cutlass-dsl) is not installed",
)
# What comes back otherwise, or cannot be built by Task Scheduling at all.
OTHERWISE = {
    "C09 full = 0": "CooperativeGroup must be greater than 0",
    "C09 empty = 0": "CooperativeGroup must be greater than 0",
    "C56 after a failure": "not allowed outside work_tile_loop()",
    "P19 on the same warps": "load_then_use0",  # two tasks on one warp are one after an import
}


def everything():
    """All schedules of the cases, the hazards and the examples."""
    for form in FORMS:
        yield f"{form.case} {form.name}", form.build()
    for hazard in HAZARDS:
        yield f"{hazard.code} bad", hazard.bad
        yield f"{hazard.code} good", hazard.good
    for path in sorted(EXAMPLES.glob("*.json")):
        yield path.name.partition(".")[0], load(path)


@pytest.fixture(scope="module")
def written():
    """Name -> (document, what is written of it), of all that Task Scheduling has words for; the others' refusals."""
    found, refused = {}, {}
    for name, document in everything():
        try:
            found[name] = document, to_task_scheduling(document)
        except NotExpressible as error:
            refused[name] = str(error)
    return found, refused


def bare(document):
    """Without the bounds of symbols, which the annotation file says, and the columns that an allocator chooses."""
    symbols = {s.name: replace(s, min=0) for s in document.symbols}

    def least(node):
        if isinstance(node, Op):
            return node
        body = tuple(least(n) for n in node.body)
        if isinstance(node, Loop):
            return replace(node, body=body, stop=symbols.get(getattr(node.stop, "name", ""), node.stop))
        return replace(node, body=body)

    def anywhere(resource):
        kept = tuple(
            (k, v) for k, v in resource.params if k != "num_bytes_per_warp_per_cta"
        )  # of its own tasks
        resource, storage = replace(resource, params=kept), resource.storage
        if storage is None or resource.space is not Space.TMEM:
            return resource
        return replace(resource, storage=replace(storage, offset=None, alias="", phase=0))

    tasks = tuple(replace(t, body=tuple(least(n) for n in t.body)) for t in document.tasks)
    return replace(
        document,
        symbols=tuple(symbols.values()),
        tasks=tasks,
        resources=tuple(map(anywhere, document.resources)),
        name="x",
        target="",
    )


def test_sources_compile_and_annotations_read_back(written):
    found, refused = written
    assert len(found) > 140
    for name, (_, made) in found.items():
        compile(made.text, name, "exec")
        assert loads_annotations(dump_annotations(made.annotations)) == made.annotations, name
    for name, message in refused.items():
        assert "\n" not in message and len(message) > 25, name


def test_the_examples(written):
    found, refused = written
    for name in ("persistent_gemm", "gemm", "attention", "tma_copy"):
        document, made = found[name]
        said = [left for left in made.left_out if left.startswith("what the kernel computes")]
        assert len(said) == (document.kernel is not None)
    assert "a second domain loop in load" in refused["ping_pong"]


@needs_ts
def test_an_import_gives_the_document_again(written, tmp_path):
    found, _ = written
    names = dict(enumerate(found))
    for i, name in names.items():
        (tmp_path / f"m{i}.py").write_text(found[name][1].text)
    command = [sys.executable, str(HERE / "take_in.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    accepted, unbuilt, different = [], {}, {}
    for line in map(json.loads, done.stdout.splitlines()):
        name = names[int(line["name"][1:])]
        if "theirs" not in line:
            accepted.append(name)
        elif "built" not in line:
            unbuilt[name] = line["theirs"]
        if "refused" in line:
            different[name] = line["refused"]
        elif not equal_schedules(bare(loads(line["document"])), bare(found[name][1].document)):
            different[name] = str((bare(loads(line["document"])).tasks, bare(found[name][1].document).tasks))
        if "refused" not in line:
            document, made = found[name]
            annotated = apply_annotations(loads(line["document"]), made.annotations)
            assert split(annotated)[1] == made.annotations, name
            if document.kernel is not None and name != "broken_arrival_count":  # its tail waits for ever, too
                before, after = verify(document), verify(annotated)
                assert before.verdict == after.verdict, name
                assert {f.code for f in before.errors} == {f.code for f in after.errors}, name
    assert set(different) == set(OTHERWISE), different
    assert all(OTHERWISE[name] in why for name, why in different.items())
    # Of the others Task Scheduling's own check refuses some, as broken, or by policies of its own.
    assert len(accepted) > 100
    assert set(unbuilt) <= set(OTHERWISE) | {"WD115 bad", "C56 one request a tile"}, unbuilt
    assert {"C22 wait(0)", "P12 N = k, S = 2", "P09 bytes of their own"} <= set(accepted)


def test_bodies_that_only_synchronise_do_what_their_annotation_says(written, tmp_path):
    found, _ = written
    seen = 0
    for name in ("persistent_gemm", "attention", "tma_copy", "C22 wait(0)"):
        made = found[name][1]
        path = tmp_path / "made.py"
        path.write_text(made.text)
        bodies = {(b.cls, b.work): b for b in scan(Sources(path))}
        classes = {
            r.name: r.cls.rpartition(":")[2].rpartition(".")[2] or r.name.capitalize()
            for r in made.document.resources
        }
        for key, work in made.annotations.works.items():
            resource, method = key.split(".")
            body = bodies.get((classes[resource], method))
            if work.only_sync and body is not None:
                (sync,) = [s for s in body.seen if isinstance(s.what, Sync)]
                assert sync.what.kind is work.sync[0].op and sync.what.group is work.sync[0].group
                barrier = made.annotations.barriers.get(work.sync[0].barrier)
                assert (sync.count or 0) == (barrier.id if barrier else work.sync[0].count or 0)
                seen += 1
    assert seen >= 3


# -- what has no words ------------------------------------------------------------------------------------------------------
X = Resource(
    "x",
    Space.SMEM,
    Pipeline(2, "AsyncAsync"),
    Storage(64, 2),
    works=(Work("fill", "producer"), Work("read", "consumer", parameters=("t",))),
)
APART = (Part("low", 0, 32, 0), Part("high", 32, 32, 4096))
LOOP = Loop("t.1", "domain", "k", (Op("t.2", OpKind.ACQUIRE, "x"),), stop=symbol("k"))


def document(*body, resources=(X,), **more):
    task = Task("t", 0, 1, body, dst=("x",))
    return Document("d", resources=resources, tasks=(task,), graph=(Edge("x", "x"),), **more)


def guard(kind, *body, **more):
    return Guard("t.9", kind, body, **more)


@pytest.mark.parametrize(
    "given, message",
    [
        (document(LOOP, mbarriers=(Mbarrier("m"),)), "m: Task Scheduling has no raw mbarriers"),
        (
            document(replace(LOOP, start=symbol("s", per_tile=True))),
            "t.1: the loop starts or steps by s, another in each tile",
        ),
        (document(replace(LOOP, body=(LOOP,))), "t.1: a second domain loop in t"),
        (document(guard(GuardKind.ELECT_WARP, *LOOP.body)), "t.2: Task Scheduling's acquire is of all warps"),
        (document(guard(GuardKind.CTA_RANK, LOOP), LOOP), "t.9: Task Scheduling has no cta_rank"),
        (document(guard(GuardKind.FIRST_ITER, *LOOP.body)), "t.9: first_iter outside a domain loop"),
        (
            document(
                replace(LOOP, body=(guard(GuardKind.FIRST_ITER, guard(GuardKind.LAST_ITER, *LOOP.body)),))
            ),
            "t.9: last_iter inside first_iter",
        ),
        (document(Op("t.3", OpKind.TMEM_ALLOC, "x")), "t.3: Task Scheduling has no tmem_alloc"),
        (document(Op("t.3", OpKind.WORK, "x", "nothing")), "t.3: x has no work 'nothing'"),
        (
            document(
                Op("t.3", OpKind.RELEASE, "x"),
                resources=(replace(X, pipeline=Pipeline(2, consumer_count=7)),),
            ),
            "x: its consumer_count 7 is not what its tasks arrive with (1), and Task Scheduling counts other arrivals (32)",
        ),
        (replace(document(LOOP), graph=()), "d: it has no dependency graph"),
        (
            document(LOOP, resources=(replace(X, storage=Storage(64, 2, parts=APART, offset=0)),)),
            "x: its allocations lie apart from each other",
        ),
        (
            document(replace(LOOP, body=(), kind="tile", queue="x", skip_if="Outer.Inner.empty")),
            "skip_if Outer.Inner.empty: a method of a class inside another",
        ),
        (
            document(Op("t.3", OpKind.WORK, "x", "read", (("t", 1),)), Op("t.4", OpKind.WORK, "x", "read")),
            "t.4: read is called without t",
        ),
    ],
)
def test_refusals(given, message):
    with pytest.raises(NotExpressible, match=re.escape(message)):
        to_task_scheduling(given)


def test_what_is_left_out_is_said():
    given = document(replace(LOOP, stop=symbol("k") + 1), ctas_per_sm=2)
    left = to_task_scheduling(given).left_out
    assert "that 2 CTAs share a multiprocessor" in left and "that t_stop is (k + 1)" in left


def test_one_task_with_two_loops_is_two_tasks_on_its_warps():
    found = to_task_scheduling(document(LOOP, replace(LOOP, id="t.5", var="j")))
    assert found.document.tasks[0].name == "t_1_then_t_2"
    assert 'name="t_1"' in found.text and 'name="t_2"' in found.text


def test_a_trip_count_of_each_tile_is_asked_for():
    found = to_task_scheduling(document(replace(LOOP, stop=symbol("blocks", per_tile=True))))
    assert (
        "class BlocksTask(Task):" in found.text and "domain_loop(0, BlocksTask.get_domain, 1)" in found.text
    )
