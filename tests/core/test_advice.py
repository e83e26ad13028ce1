"""Advice: what is called redundant is proved to be, and what the model does not see is not."""

import pytest

from warpdraft.assets.examples import attention, gemm
from warpdraft.core.advice import advise
from warpdraft.core.document import (
    Engine,
    NamedBarrier,
    OpKind,
    PipelineGroup,
    PipelineGroupMode,
    Resource,
    Space,
    Work,
)
from warpdraft.core.expressions import Operation
from warpdraft.core.findings import Severity
from warpdraft.core.fixes import applied
from warpdraft.core.hazards import HAZARDS
from warpdraft.core.hazards.base import no_advice, no_document_check, no_run_check, no_trace_check
from warpdraft.core.hazards.examples import (
    K,
    acquire,
    buffer,
    channel,
    commit,
    document,
    fence,
    loop,
    op,
    release,
    ring,
    sync,
    task,
    tensor,
    wait,
    wait_ld,
    work,
)
from warpdraft.core.verify import verify

MEET = NamedBarrier("meet", 1, 64)
SECOND = NamedBarrier("again", 2, 64)
GLOBAL = Resource("partial", Space.GMEM, works=(Work("put", "producer"), Work("get", "consumer")))


def redundant(schedule):
    return [f.ops for f in advise(schedule).findings if f.code == "WD801"]


def met_twice(*between, resource, fill="fill", read="read"):
    name = resource.name
    return document(
        "met twice",
        task("left", 0, 1, work(name, fill), sync("meet"), *between, sync("again")),
        task("right", 4, 1, sync("meet"), sync("again"), work(name, read)),
        resources=(resource,),
        barriers=(MEET, SECOND),
        symbols=(),
    )


def test_all_who_meet_at_a_barrier_are_taken_out_together():
    found = [f for f in advise(met_twice(resource=buffer("scratch"))).findings if f.code == "WD801"]
    assert [set(f.ops) for f in found] == [{"left.01", "right.00"}, {"left.02", "right.01"}]
    assert any("not together with" in note for note in found[1].notes)
    assert all("proof:" in found[0].notes[0] for f in found)


def test_a_barrier_that_something_needs_is_not_called_redundant():
    schedule = document(
        "met once",
        task("left", 0, 1, work("scratch", "fill"), sync("meet")),
        task("right", 4, 1, sync("meet"), work("scratch", "read")),
        resources=(buffer("scratch"),),
        barriers=(MEET,),
        symbols=(),
    )
    assert redundant(schedule) == []


def test_memory_that_is_not_modelled_keeps_its_barrier():
    schedule = document(
        "partial sums through global memory",
        task("left", 0, 1, work("partial", "put"), sync("meet")),
        task("right", 4, 1, sync("meet"), work("partial", "get")),
        resources=(GLOBAL,),
        barriers=(MEET,),
        symbols=(),
    )
    given = advise(schedule)
    assert not given.findings and any("partial, which are not modelled" in note for note in given.notes)


def test_memory_that_is_not_modelled_needs_only_one_barrier():
    assert len(redundant(met_twice(resource=GLOBAL, fill="put", read="get"))) == 2


def test_a_copy_that_reads_unmodelled_memory_keeps_every_barrier():
    """The graph says that works of ab read it; no op names that access."""
    load = document(
        "reloaded",
        task("left", 0, 1, work("partial", "put"), sync("meet")),
        task("right", 4, 1, sync("meet"), work("scratch", "fill"), work("scratch", "read")),
        resources=(GLOBAL, buffer("scratch")),
        barriers=(MEET,),
        symbols=(),
        graph=(("partial", "scratch"),),
    )
    assert redundant(load) == []


def test_what_would_then_be_trusted_is_not_redundant():
    """Without its only tcgen05.wait a task's works are taken to wait by themselves."""
    acc = tensor("acc", 1)
    schedule = document(
        "one wait",
        task("mma", 0, 1, loop(acquire("acc"), work("acc", "mma"), commit("acc"))),
        task("read", 4, 4, loop(wait("acc"), work("acc", "load"), wait_ld(), release("acc"))),
        resources=(acc,),
        target="sm_100a",
    )
    assert verify(schedule).verdict == "safe"
    assert redundant(schedule) == []


def test_listed_trip_counts_prove_nothing():
    stop = Operation("*", K, K)
    listed = document(
        "no constant growth",
        task("load", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"), stop=stop)),
        task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"), stop=stop)),
        resources=(channel("x"),),
    )
    assert verify(listed).scope.kind == "listed"
    given = advise(listed)
    assert not any(f.code == "WD801" for f in given.findings)
    assert any(note.startswith("WD801") for note in given.notes)


def test_a_wait_behind_another_that_covers_it():
    """In the attention the lower half's turn comes after the upper half has waited for the same keys."""
    schedule = attention.build().document
    (finding,) = (f for f in advise(schedule, 120).findings if f.code == "WD801")
    after = verify(applied(schedule, finding.fixes[0]))
    assert after.verdict == "safe" and after.scope.kind == "all" and not after.findings
    assert any("it holds if works fence for wgmma" in note for note in finding.notes)


def test_what_one_more_stage_would_buy():
    findings = [f for f in advise(gemm.build().document).findings if f.code == "WD803"]
    assert findings and "smem_ab" in findings[0].message and "does not verify with 4" in findings[0].notes[0]
    assert findings[0].fixes == ()


def test_unsafe_schedules_get_none():
    schedule = document(
        "stuck",
        task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"))),
        resources=(channel("x"),),
    )
    given = advise(schedule)
    assert not given.findings and "this one is unsafe" in given.notes[0]


def test_no_time_no_advice():
    given = advise(gemm.build().document, budget=0, report=verify(gemm.build().document))
    assert not given.findings and not given.finished and any("budget" in note for note in given.notes)


@pytest.mark.parametrize("hazard", [h for h in HAZARDS if h.advise is not no_advice], ids=lambda h: h.code)
def test_a_check_does_not_look_for_advice(hazard):
    detectors = hazard.check, hazard.follow, hazard.examine
    assert detectors == (no_document_check, no_trace_check, no_run_check)
    assert hazard.code.startswith("WD8")
    assert all(f.severity is not Severity.ADVICE for f in verify(hazard.bad).findings)


def test_engines_do_not_hide_unmodelled_accesses():
    """A bulk store into global memory that another task reads back."""
    out = Resource(
        "out",
        Space.GMEM,
        works=(
            Work("store", "producer", Engine.BULK_STORE, parameters=("tile",)),
            Work("get", "consumer"),
        ),
    )
    schedule = document(
        "stored and read back",
        task(
            "left",
            0,
            1,
            work("scratch", "fill"),
            work("scratch", "tile", result="t"),
            sync("meet"),
            work("out", "get"),
        ),
        task("right", 4, 1, work("out", "get"), sync("meet")),
        resources=(buffer("scratch"), out),
        barriers=(MEET,),
        symbols=(),
    )
    assert len(redundant(schedule)) == 1  # both only read


def test_a_schedule_that_runs_nothing_has_no_bottleneck():
    schedule = document(
        "no trips",
        task("load", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"), stop=0)),
        task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"), stop=0)),
        resources=(channel("x"),),
    )
    given = advise(schedule)
    assert given.finished and not any(f.code in ("WD802", "WD803") for f in given.findings)


def grouped(stages, together):
    """Two copies of a k tile, which are handed on at once; ``together``: each is answered before the next."""
    answered = (wait("done"), release("done")) if together else ()
    answer = (acquire("done"), commit("done")) if together else ()
    load = [loop(acquire(n), work(n, "load"), commit(n), *(answered)) for n in "ab"]
    names = "a", "b"
    return document(
        "a group",
        task("load_a", 0, 1, load[0]),
        task("load_b", 1, 1, load[1]),
        task(
            "use",
            4,
            1,
            loop(wait("ab"), *(work(n, "read") for n in names), fence(), release("ab"), *answer),
            src=names,
            dst=("done",) if together else (),
        ),
        resources=(*(ring(n, stages) for n in names), *([channel("done", 1)] if together else [])),
        pipeline_groups=(PipelineGroup("ab", PipelineGroupMode.FusedMerge, names),),
        graph=(("a", "done"), ("b", "done")) if together else (),
    )


@pytest.mark.parametrize(("together", "code", "stages"), [(True, "WD802", 1), (False, "WD803", 4)])
def test_stages_of_a_pipeline_group_are_changed_together(together, code, stages):
    schedule = grouped(3, together)
    (finding,) = (f for f in advise(schedule).findings if f.code == code)
    assert finding.resources == ("a", "b")
    after = applied(schedule, finding.fixes[0])
    assert verify(after).verdict == "safe" and not verify(after).findings
    assert [r.pipeline.stages for r in after.resources if r.name in "ab"] == [stages] * 2


@pytest.mark.parametrize("implicit", [True, False])
def test_a_drain_that_nothing_needs(implicit):
    """Not one that the run time adds: no line could be taken out."""
    schedule = document(
        "drained",
        task(
            "load",
            0,
            1,
            loop(acquire("x"), work("x", "fill"), commit("x")),
            op(OpKind.PRODUCER_TAIL, "x", implicit=implicit),
        ),
        task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"))),
        resources=(channel("x"),),
    )
    assert redundant(schedule) == ([] if implicit else [("load.04",)])
