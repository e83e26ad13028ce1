"""Attention with two softmax warpgroups that take tiles in turn, and a GEMM whose operands are one group; and mutants."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from warpdraft import assets
from warpdraft.app.views.details import details_view
from warpdraft.app.views.forms import form_of
from warpdraft.app.views.offers import offers
from warpdraft.app.views.resources import resources_view
from warpdraft.app.views.schedule import schedule_view
from warpdraft.app.views.selection import selection_view
from warpdraft.backends.cutedsl.errors import LoweringError
from warpdraft.backends.cutedsl.lower import lower
from warpdraft.backends.emulator.emulate import emulate
from warpdraft.core import (
    AsyncGroup,
    MemoryResource,
    PipelineConfig,
    PipelineGroup,
    Signal,
    SmemAllocation,
    Task,
    TaskManager,
    consumer_work,
    domain_loop,
    producer_work,
    schedule,
    symbol,
    to_python,
    verify,
)
from warpdraft.core.document import Loop, Op, OpKind, PipelineGroupMode
from warpdraft.core.document import PipelineGroup as PipelineGroupRecord
from warpdraft.core.equality import equal_schedules
from warpdraft.core.simulate import simulate
from warpdraft.core.stepper import Stepper
from warpdraft.core.store import load
from warpdraft.core.tree import placed
from warpdraft.core.unroll import unroll

TILES = symbol("tiles")


class Tile(MemoryResource):
    @producer_work
    def fill(self, stage_info): ...

    @consumer_work
    def read(self, stage_info): ...


class Operand(MemoryResource):
    @producer_work(engine="tma")
    def load(self, stage_info): ...

    @consumer_work(view=True, returns="tile")
    def tile(self, stage_info): ...


class Accumulator(MemoryResource):
    @producer_work(engine="wgmma")
    def mma(self, stage_info, a, b): ...


def tile(name, stages, strides=1, warps=(1, 4)):
    config = PipelineConfig(
        stages, interleave_stride=strides, producer_group=warps[0], consumer_group=warps[1]
    )
    return Tile(name=name, pipeline_config=config, smem=[SmemAllocation(name, 1024)])


def attention(start=1, step=2, strides=2):
    """One warpgroup makes the score tiles S, softmax 0 and 1 take them in turn, correction takes what both make."""
    s = tile("s", 4, (1, 1, strides, strides), warps=(4, 4))
    stats = tile("stats", 2, (strides, strides, 1, 1), warps=(4, 4))

    @schedule
    def scores(s):
        with domain_loop(0, TILES):
            s.acquire()
            s.fill()
            s.commit()

    def softmax(first):
        @schedule
        def turns(s, stats):
            with domain_loop(first, TILES, step if first else 2):
                s.wait()
                stats.acquire()
                s.read()
                stats.fill()
                stats.commit()
                s.release()

        return turns

    @schedule
    def correction(stats):
        with domain_loop(0, TILES):
            stats.wait()
            stats.read()
            stats.release()

    tasks = [
        Task([], [s], 0, 4, schedule=scores(s), name="scores"),
        Task([s], [stats], 4, 4, schedule=softmax(0)(s, stats), name="softmax0"),
        Task([s], [stats], 8, 4, schedule=softmax(start)(s, stats), name="softmax1"),
        Task([stats], [], 12, 4, schedule=correction(stats), name="correction"),
    ]
    return TaskManager(tasks, {s: [], stats: [s]}, name="attention").document


def gemm(mode="Merge"):
    """Two loads, and one math warpgroup that waits for both operands and gives both back at once."""

    def operand(name):
        config = PipelineConfig(
            3, num_bytes=4096, pipeline_type="TmaAsync", consumer_signaling_threads=Signal.WARP
        )
        return Operand(name=name, pipeline_config=config, smem=[SmemAllocation(name, 4096)])

    a, b, acc, done = (
        operand("smem_a"),
        operand("smem_b"),
        Accumulator(name="acc"),
        AsyncGroup("wgmma", name="done"),
    )
    both = PipelineGroup(name="smem_ab", members=[a, b], mode=mode)

    def load(member):
        @schedule
        def copies(smem):
            with domain_loop(0, TILES):
                smem.acquire()
                smem.load()
                smem.commit()

        return copies(member)

    @schedule
    def math(a, b, both, acc, done):
        with domain_loop(0, TILES):
            if mode == "Merge":
                a.wait()
                b.wait()
            else:
                both.wait()
            acc.mma(a=a.tile(), b=b.tile())
            done.commit()
            done.wait(0)
            both.release()

    tasks = [
        Task([], [a], 0, 1, schedule=load(a), name="load_a"),
        Task([], [b], 1, 1, schedule=load(b), name="load_b"),
        Task([a, b], [acc], 4, 4, schedule=math(a, b, both, acc, done), name="math"),
    ]
    return TaskManager(tasks, {a: [], b: [], acc: [a, b]}, name="gemm").document


def without(document, task, kind, target):
    """``document`` without the ops of ``kind`` on ``target`` in ``task``."""

    def kept(body):
        found = [n for n in body if (n.kind, getattr(n, "target", "")) != (kind, target)]
        return tuple(replace(n, body=kept(n.body)) if isinstance(n, Loop) else n for n in found)

    tasks = tuple(replace(t, body=kept(t.body)) if t.name == task else t for t in document.tasks)
    return replace(document, tasks=tasks)


def with_pipeline(document, name, **fields):
    resources = tuple(
        replace(r, pipeline=replace(r.pipeline, **fields)) if r.name == name else r
        for r in document.resources
    )
    return replace(document, resources=resources)


GOOD = {"attention": attention(), "merged": gemm(), "fused": gemm("FusedMerge")}
BAD = {
    "softmax keeps its stage": (without(attention(), "softmax1", OpKind.RELEASE, "s"), "WD302"),
    "softmax hands nothing on": (without(attention(), "softmax0", OpKind.COMMIT, "stats"), "WD302"),
    "correction keeps its stage": (without(attention(), "correction", OpKind.RELEASE, "stats"), "WD302"),
    "both warpgroups counted": (with_pipeline(attention(), "s", consumer_count=8), "WD201"),
    "both warpgroups fill": (with_pipeline(attention(), "stats", producer_count=8), "WD201"),
    "no lanes": (with_pipeline(attention(), "s", interleave=(1, 1, 1, 1)), "WD201"),
    "lanes of one side": (with_pipeline(attention(), "stats", interleave=(1, 1, 1, 1)), "WD205"),
    "one lane twice": (attention(start=2), "WD214"),
    "every third tile": (attention(step=3), "WD214"),
    "stride of no lane": (with_pipeline(attention(), "s", interleave=(1, 1, 4, 4)), None),
    "operands kept": (without(gemm(), "math", OpKind.RELEASE, "smem_ab"), "WD302"),
    "one operand not waited for": (without(gemm(), "math", OpKind.WAIT, "smem_b"), "WD401"),
    "none waited for": (without(gemm("FusedMerge"), "math", OpKind.WAIT, "smem_ab"), "WD105"),
    "bytes of one operand": (with_pipeline(gemm("FusedMerge"), "smem_b", bytes=2048), "WD203"),
    "a count of one operand": (with_pipeline(gemm("FusedMerge"), "smem_a", producer_count=2), "WD201"),
    "one more stage of one": (with_pipeline(gemm(), "smem_a", stages=4), "WD216"),
}


@pytest.mark.parametrize("document", GOOD.values(), ids=GOOD)
def test_the_schedules_are_proved_for_all_trip_counts(document):
    report = verify(document)
    assert (report.verdict, report.scope.kind) == ("safe", "all"), report.findings
    assert not [f for f in report.findings if f.severity.value != "advice"]


@pytest.mark.parametrize("document, code", BAD.values(), ids=BAD)
def test_their_mutants_are_found(document, code):
    report = verify(document)
    assert report.verdict == "unsafe"
    assert code is None or code in {f.code for f in report.errors}, report.findings


@pytest.mark.parametrize("document", GOOD.values(), ids=GOOD)
def test_they_are_written_back(document):
    scope = {"__name__": "written"}
    exec(compile(to_python(document), "written.py", "exec"), scope)
    assert equal_schedules(scope["build"]().document, document)


@pytest.mark.parametrize("document", GOOD.values(), ids=GOOD)
def test_the_editor_shows_them(document):
    report = verify(document)
    page = schedule_view(document), resources_view(document), details_view(document, report, "op", ())
    json.dumps(page)
    for place in placed(document):
        kind = "op" if isinstance(place.node, Op) else "block"
        json.dumps(
            [
                form_of(document, kind, (place.node.id,)),
                selection_view(document, report, kind, (place.node.id,)),
            ]
        )
    for task in document.tasks:
        groups = {o.group for o in offers(document, task)}
        assert {g.name for g in document.pipeline_groups if set(g.members) & {*task.src, *task.dst}} <= groups
    for group in document.pipeline_groups:
        assert form_of(document, "resource", (group.name,))["what"] == "pipeline group"
    assert all("smem_ab" in lines for lines in [str(page[1])] if document.pipeline_groups)
    assert simulate(document, {"tiles": 5}).ended


@pytest.mark.parametrize("document", GOOD.values(), ids=GOOD)
def test_the_stepper_runs_them_to_the_end(document):
    stepper = Stepper(unroll(document, {"tiles": 3}, representatives=True))
    state = stepper.start
    while moves := stepper.moves(state):
        state = stepper.step(state, moves[0])
    assert stepper.ended(state)


def example():
    path = Path(assets.__file__).parent / "examples" / "gemm.warpdraft.json"
    return load(path)


def test_what_is_not_lowered_is_refused_by_name():
    gemm = example()
    grouped = replace(
        gemm, pipeline_groups=(PipelineGroupRecord("both", PipelineGroupMode.Merge, ("smem_ab",)),)
    )
    with pytest.raises(LoweringError, match="pipeline groups are not lowered yet: the document has both"):
        lower(grouped)
    laned = with_pipeline(gemm, "smem_ab", interleave=(1, 1, 3, 3))
    with pytest.raises(LoweringError, match="interleaved lanes are not lowered yet: smem_ab has the strides"):
        lower(laned)


def test_the_emulator_runs_a_group():
    gemm = example()

    def node(n):
        if not isinstance(n, Op):
            return replace(n, body=tuple(map(node, n.body)))
        return replace(n, target="both") if (n.kind, n.target) == (OpKind.RELEASE, "smem_ab") else n

    tasks = tuple(replace(t, body=tuple(map(node, t.body))) for t in gemm.tasks)
    group = PipelineGroupRecord("both", PipelineGroupMode.Merge, ("smem_ab",))
    assert emulate(replace(gemm, tasks=tasks, pipeline_groups=(group,))).verdict == "right"
